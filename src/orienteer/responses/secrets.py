"""Credentials of a request, for one origin only, and the signs of a response that they are no longer valid.

An origin is scheme, host and port: `https://example.org`, `http://localhost:8080`. The `repr` of such an object
contains only the origin, so that no log or traceback leaks a secret.
"""

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


def origin_of(url: str) -> str:
    """The origin of a canonical URL.

    >>> origin_of("https://example.org:8443/a?b")
    'https://example.org:8443'
    """
    return "/".join(url.split("/", 3)[:3])


@dataclass(frozen=True, slots=True, repr=False)
class Secrets:
    """`headers` include cookies, `form` is the body of a POST.

    `certificate` and `key` are PEM. `redacted` are values to redact if a server repeats them. `session` counts the
    logins, to distinguish responses of different sessions. `signs` recognize a response without a valid session.
    `is_login`: a step of a login, whose response is not archived.
    """

    origin: str
    headers: tuple[tuple[str, str], ...] = ()
    form: bytes | None = None
    certificate: bytes = b""
    key: bytes = b""
    key_password: str = ""
    redacted: tuple[str, ...] = ()
    session: int = 0
    signs: LoggedOutSigns | None = None
    is_login: bool = False

    @property
    def size_bytes(self) -> int:
        """The approximate size of a message with these secrets to a worker."""
        texts = sum(len(name) + len(value) for name, value in self.headers) + sum(map(len, self.redacted))
        return texts + len(self.form or b"") + len(self.certificate) + len(self.key) + 200

    def __repr__(self) -> str:
        return f"<Secrets for {self.origin}>"
