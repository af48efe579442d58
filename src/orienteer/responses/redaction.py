"""Redact secrets from the response to a request with credentials, before it is archived or parsed.

Cookies that a server sets are secrets as well: their header lines are removed. If a server repeats a secret, in a page
or in a header, each of its characters is replaced by an x. A compressed page is then stored uncompressed, and its
headers are renamed, for example to `X-Crawler-Content-Encoding`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from orienteer.responses.headers import Headers
from orienteer.responses.rendered import archived_document, rendered_document_of
from orienteer.responses.response import Response
from orienteer.responses.secrets import Secrets

_COOKIE_LINE = re.compile(rb"(?im)^set-cookie2?[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n)*")
_OF_CODING = re.compile(rb"(?im)^(content-(?:encoding|length))(?=[ \t]*:)")
_COOKIES = ("set-cookie", "set-cookie2")


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
    if (page := response.rendered) is not None:
        document = archived_document(page)
        masked = _mask(document, values)
        if masked is not document:  # then the screenshot may show a secret, and is dropped
            rendered = rendered_document_of(masked, response.request.url)
            response = replace(response, rendered=rendered._replace(n_requests=page.n_requests, cpu_s=page.cpu_s))
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
