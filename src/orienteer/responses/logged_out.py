"""Recognize responses that show that a login session has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from orienteer.extract.forms import forms_of
from orienteer.extract.parser import decoded

if TYPE_CHECKING:
    from orienteer.responses.response import Response


@dataclass(frozen=True, slots=True)
class LoggedOutSigns:
    """A redirect to one of these `pages`, one of these `texts` in the HTML, or one of these `statuses`.

    Or the login form instead of the page: a form with these `fields`, one of them a password field.
    """

    pages: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    statuses: tuple[int, ...] = ()
    fields: tuple[str, ...] = ()

    def matches(self, response: Response) -> bool:
        if response.status in self.statuses:
            return True
        if response.location is not None:
            return self.matches_page(response.location)
        if self.texts and response.content:
            html = decoded(response.content, response.charset)
            if any(text in html for text in self.texts):
                return True
        return self._has_form(response)

    def _has_form(self, response: Response) -> bool:
        content = response.content
        if not self.fields or not all(name.encode() in content for name in self.fields):
            return False  # decides most pages without parsing forms
        forms = forms_of(content, response.request.url, response.charset)
        return any(form.names.issuperset(self.fields) and form.passwords for form in forms)

    def matches_page(self, url: str) -> bool:
        """Whether a URL is one of the `pages`; it may have more parameters, such as the page to return to."""
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
