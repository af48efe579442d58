"""What must not be kept of an answer to a request with secrets.

Cookies that a server sets are secrets themselves: their lines are taken out of the headers before anybody sees them.
Where a server repeats what was sent to it, in a page or in a header, each letter becomes an x. A page that was
compressed is kept without compression then, and its header says so: `X-Crawler-Content-Encoding`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from orienteer.answers.answer import Fetched
from orienteer.answers.headers import Headers
from orienteer.answers.secrets import Secrets
from orienteer.answers.shown import archived_document, shown_of

_COOKIE_LINE = re.compile(rb"(?im)^set-cookie2?[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n)*")
_OF_CODING = re.compile(rb"(?im)^(content-(?:encoding|length))(?=[ \t]*:)")
_COOKIES = ("set-cookie", "set-cookie2")


def without_secrets(answer: Fetched, secrets: Secrets) -> tuple[Fetched, tuple[str, ...]]:
    """The answer as it may be kept, and the cookies that came with it."""
    cookies = tuple(answer.headers.get_all("set-cookie"))
    if "set-cookie" in answer.headers or "set-cookie2" in answer.headers:
        left = [(name, value) for name, value in answer.headers.items() if name.lower() not in _COOKIES]
        raw_headers = _COOKIE_LINE.sub(b"", answer.raw_headers)
        answer = replace(answer, headers=Headers(left), raw_headers=raw_headers)
    if secrets.is_login:
        return answer, cookies
    new = (cookie.partition(";")[0].partition("=")[2].strip() for cookie in cookies)
    return _hidden(answer, [*secrets.hidden, *filter(looks_secret, new)]), cookies


def shows_secrets(answer: Fetched, kept: Fetched) -> bool:
    """Whether a browser has shown secrets, by the answer as it came and as it may be kept."""
    return answer.shown != kept.shown


def looks_secret(value: str) -> bool:
    """Whether a value of a cookie or a header is no word that a page may hold for another reason.

    >>> looks_secret("9f8e7d6c"), looks_secret("dark-mode"), looks_secret("kept-between-us-alone")
    (True, False, True)
    """
    has_both = any(map(str.isalpha, value)) and any(map(str.isdigit, value))
    return len(value) >= 16 or (len(value) >= 8 and has_both)


def can_be_hidden(secret: str) -> bool:
    """Whether something that is secret for sure is long enough to be looked for: no page is to lose its `test`.

    >>> can_be_hidden("hunter2"), can_be_hidden("test")
    (True, False)
    """
    has_both = any(map(str.isalpha, secret)) and any(map(str.isdigit, secret))
    return len(secret) >= 8 or (len(secret) >= 6 and has_both)


def _hidden(answer: Fetched, values: Sequence[str]) -> Fetched:
    words = [value.encode("utf-8", "replace") for value in values if value]
    if answer.shown is not None:
        shown = shown_of(_blackened(archived_document(answer.shown), words), answer.request.url)
        answer = replace(answer, shown=shown)
    raw_headers = _blackened(answer.raw_headers, words)
    if raw_headers is not answer.raw_headers:
        pairs = [(name, _text(value, words)) for name, value in answer.headers.items()]
        answer = replace(answer, raw_headers=raw_headers, headers=Headers(pairs))
    content = _blackened(answer.content, words)
    if content is answer.content:
        body = _blackened(answer.body, words)  # of an answer that could not be unpacked
        return answer if body is answer.body else replace(answer, body=body)
    if answer.headers.get("content-encoding") is None:
        return replace(answer, body=content, content=content)
    pairs = [(name, value) for name, value in answer.headers.items() if not _OF_CODING.match(f"{name}:".encode())]
    raw_headers = _OF_CODING.sub(rb"X-Crawler-\1", answer.raw_headers)
    return replace(answer, headers=Headers(pairs), raw_headers=raw_headers, body=content, content=content)


def _blackened(data: bytes, words: Iterable[bytes]) -> bytes:
    for word in words:
        if word in data:
            data = data.replace(word, b"x" * len(word))
    return data


def _text(value: str, words: Iterable[bytes]) -> str:
    return _blackened(value.encode("latin-1", "replace"), words).decode("latin-1")
