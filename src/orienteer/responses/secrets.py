"""Credentials of a request, for one origin only; the signs that they are no longer valid; and their redaction.

An origin is scheme, host and port: `https://example.org`, `http://localhost:8080`. The `repr` of such an object
contains only the origin, so that no log or traceback leaks a secret.

Cookies that a server sets are secrets as well: their header lines are removed. If a server repeats a secret, in a page
or in a header, each of its characters is replaced by an x. A compressed page is then stored uncompressed, and its
headers are renamed, for example to `X-Crawler-Content-Encoding`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from orienteer.extract.forms import forms_of
from orienteer.extract.parser import decoded
from orienteer.responses.rendered import archived_document, rendered_document_of
from orienteer.responses.response import Headers, Response

if TYPE_CHECKING:
    from orienteer.responses.response import Response

_COOKIE_LINE = re.compile(rb"(?im)^set-cookie2?[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n)*")
_OF_CODING = re.compile(rb"(?im)^(content-(?:encoding|length))(?=[ \t]*:)")
_COOKIES = ("set-cookie", "set-cookie2")


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


def without_secrets(response: Response, secrets: Secrets) -> tuple[Response, tuple[str, ...]]:
    """Return the redacted response, and the cookies that the server set."""
    cookies = tuple(response.headers.get_all("set-cookie"))
    if "set-cookie" in response.headers or "set-cookie2" in response.headers:
        left = [(name, value) for name, value in response.headers.items() if name.lower() not in _COOKIES]
        raw_headers = _COOKIE_LINE.sub(b"", response.raw_headers)
        response = replace(response, headers=Headers(left), raw_headers=raw_headers)
    if secrets.is_login:
        return response, cookies
    new = (cookie.partition(";")[0].partition("=")[2].strip() for cookie in cookies)
    return _redact(response, [*secrets.redacted, *filter(looks_secret, new)]), cookies


def rendered_secrets(response: Response, redacted: Response) -> bool:
    """Whether the rendered page contained secrets."""
    return response.rendered != redacted.rendered


def looks_secret(value: str) -> bool:
    """Whether the value of a cookie or a header looks like a secret, and not like a word of the page.

    >>> looks_secret("9f8e7d6c"), looks_secret("dark-mode"), looks_secret("only-between-the-two-of-us")
    (True, False, True)
    """
    has_both = any(map(str.isalpha, value)) and any(map(str.isdigit, value))
    return len(value) >= 16 or (len(value) >= 8 and has_both)


def is_redactable(secret: str) -> bool:
    """Whether a known secret is long enough to be redacted: a page must not lose every `test`.

    >>> is_redactable("hunter2"), is_redactable("test")
    (True, False)
    """
    has_both = any(map(str.isalpha, secret)) and any(map(str.isdigit, secret))
    return len(secret) >= 8 or (len(secret) >= 6 and has_both)


def _redact(response: Response, texts: Sequence[str]) -> Response:
    values = [value.encode("utf-8", "replace") for value in texts if value]
    if response.rendered is not None:
        rendered = rendered_document_of(_mask(archived_document(response.rendered), values), response.request.url)
        response = replace(response, rendered=rendered)
    raw_headers = _mask(response.raw_headers, values)
    if raw_headers is not response.raw_headers:
        pairs = [(name, _text(value, values)) for name, value in response.headers.items()]
        response = replace(response, raw_headers=raw_headers, headers=Headers(pairs))
    content = _mask(response.content, values)
    if content is response.content:
        body = _mask(response.body, values)  # of a response that could not be decoded
        return response if body is response.body else replace(response, body=body)
    if response.headers.get("content-encoding") is None:
        return replace(response, body=content, content=content)
    pairs = [(name, value) for name, value in response.headers.items() if not _OF_CODING.match(f"{name}:".encode())]
    raw_headers = _OF_CODING.sub(rb"X-Crawler-\1", response.raw_headers)
    return replace(response, headers=Headers(pairs), raw_headers=raw_headers, body=content, content=content)


def _mask(data: bytes, values: Iterable[bytes]) -> bytes:
    for secret in values:
        if secret in data:
            data = data.replace(secret, b"x" * len(secret))
    return data


def _text(value: str, values: Iterable[bytes]) -> str:
    return _mask(value.encode("latin-1", "replace"), values).decode("latin-1")
