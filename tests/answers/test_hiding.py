"""What is not kept of an answer to a request with secrets."""

from __future__ import annotations

import gzip

from orienteer.answers.answer import Fetched, Request
from orienteer.answers.headers import Headers
from orienteer.answers.hiding import without_secrets
from orienteer.answers.secrets import Secrets
from orienteer.pages.outcome import Outcome

HUSH = "hush-hush-1234"
SECRETS = Secrets("http://a.test", hidden=(HUSH,))


def answer(content: bytes, *lines: str, body: bytes | None = None) -> Fetched:
    raw = "\r\n".join(["HTTP/1.1 200 OK", *lines, "", ""]).encode()
    headers = Headers.from_lines(line.encode() for line in lines)
    request = Request("http://a.test/", 0, secrets=SECRETS)
    return Fetched(
        request,
        Outcome.OK,
        200,
        headers=headers,
        raw_headers=raw,
        body=content if body is None else body,
        content=content,
    )


def test_cookies_are_taken_out() -> None:
    found = answer(
        b"<p>hi", "Server: x", "Set-Cookie: sid=1; Path=/", " folded", "SET-COOKIE2:a=b", "Set-Cookie: c=2", "X: y"
    )
    kept, cookies = without_secrets(found, SECRETS)
    assert cookies == ("sid=1; Path=/ folded", "c=2")
    assert kept.raw_headers == b"HTTP/1.1 200 OK\r\nServer: x\r\nX: y\r\n\r\n"
    assert kept.headers.items() == (("Server", "x"), ("X", "y"))
    assert kept.content is found.content


def test_what_is_repeated_is_blackened() -> None:
    found = answer(
        f"<p>{HUSH}, new9value, word".encode(), f"X-You-Sent: {HUSH}", "Set-Cookie: a=new9value", "Set-Cookie: b=word"
    )
    kept, _ = without_secrets(found, SECRETS)
    assert kept.content == kept.body == b"<p>xxxxxxxxxxxxxx, xxxxxxxxx, word"
    assert kept.headers.items() == (("X-You-Sent", "x" * len(HUSH)),)
    assert HUSH.encode() not in kept.raw_headers


def test_also_where_it_was_packed() -> None:
    content = f"<p>{HUSH}".encode()
    found = answer(content, "Content-Encoding: gzip", "Content-Length: 50", "X: y", body=gzip.compress(content))
    kept, _ = without_secrets(found, SECRETS)
    assert kept.content == kept.body == b"<p>xxxxxxxxxxxxxx"
    assert kept.headers.items() == (("X", "y"),)
    assert b"X-Crawler-Content-Encoding: gzip\r\nX-Crawler-Content-Length: 50\r\n" in kept.raw_headers


def test_what_repeats_nothing_stays_as_it_came() -> None:
    content = b"<p>hello"
    found = answer(content, "Content-Encoding: gzip", body=gzip.compress(content))
    assert without_secrets(found, SECRETS) == (found, ())


def test_a_step_of_a_login_needs_its_page_as_it_is() -> None:
    """A token in the form may be that of a cookie; nothing of such an answer is kept."""
    found = answer(f"<input name=token value={HUSH}>".encode(), f"Set-Cookie: token={HUSH}")
    kept, cookies = without_secrets(found, Secrets("http://a.test", hidden=(HUSH,), is_login=True))
    assert (kept.content, cookies) == (found.content, (f"token={HUSH}",))
