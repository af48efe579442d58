"""How an answer shows that a session has ended: it is none for somebody who is logged in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from orienteer.extract.charset import decoded
from orienteer.extract.forms import forms_of

if TYPE_CHECKING:
    from orienteer.answers.answer import Fetched


@dataclass(frozen=True, slots=True)
class LoggedOutSigns:
    """A redirect to one of these `pages`, one of these `texts` in the HTML, or one of these `statuses`.

    Or a form with these `fields`, one of them for a password: the login form instead of the page.
    """

    pages: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    statuses: tuple[int, ...] = ()
    fields: tuple[str, ...] = ()

    def shown_by(self, answer: Fetched) -> bool:
        if answer.status in self.statuses:
            return True
        if answer.location is not None:
            return self.name(answer.location)
        if self.texts and answer.content:
            html = decoded(answer.content, answer.charset)
            if any(text in html for text in self.texts):
                return True
        return self._has_form(answer)

    def _has_form(self, answer: Fetched) -> bool:
        content = answer.content
        if not self.fields or not all(name.encode() in content for name in self.fields):
            return False  # most pages are known by this
        forms = forms_of(content, answer.request.url, answer.charset)
        return any(form.names.issuperset(self.fields) and form.passwords for form in forms)

    def name(self, url: str) -> bool:
        """Whether a URL is one of the `pages`; it may have further parameters, such as where to go next."""
        return any(_is_same_page(page, url) for page in self.pages)


def _is_same_page(page: str, url: str) -> bool:
    """
    >>> _is_same_page("http://a.test/doku.php?do=login", "http://a.test/doku.php?id=x&do=login")
    True
    >>> _is_same_page("http://a.test/doku.php?do=login", "http://a.test/doku.php?id=x")
    False
    """
    path, _, query = page.partition("?")
    other_path, _, other_query = url.partition("?")
    return path == other_path and set(parse_qsl(query, True)) <= set(parse_qsl(other_query, True))
