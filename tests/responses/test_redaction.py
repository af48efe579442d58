"""Secrets are removed from responses to requests with credentials."""

from __future__ import annotations

import gzip
from dataclasses import replace

from orienteer.pages.outcome import Outcome
from orienteer.responses.headers import Headers
from orienteer.responses.redaction import without_secrets
from orienteer.responses.rendered import RenderedPage
from orienteer.responses.response import PageRequest, Response
from orienteer.responses.secrets import Secrets

SECRET = "hush-hush-1234"
SECRETS = Secrets("http://a.test", redacted=(SECRET,))


def response(content: bytes, *lines: str, body: bytes | None = None) -> Response:
    raw = "\r\n".join(["HTTP/1.1 200 OK", *lines, "", ""]).encode()
    headers = Headers.from_lines(line.encode() for line in lines)
    request = PageRequest("http://a.test/", 0, secrets=SECRETS)
    return Response(
        request,
        Outcome.OK,
        200,
        headers=headers,
        raw_headers=raw,
        body=content if body is None else body,
        content=content,
    )


def test_cookies_are_removed() -> None:
    found = response(
        b"<p>hi", "Server: x", "Set-Cookie: sid=1; Path=/", " folded", "SET-COOKIE2:a=b", "Set-Cookie: c=2", "X: y"
    )
    redacted, cookies = without_secrets(found, SECRETS)
    assert cookies == ("sid=1; Path=/ folded", "c=2")
    assert redacted.raw_headers == b"HTTP/1.1 200 OK\r\nServer: x\r\nX: y\r\n\r\n"
    assert redacted.headers.items() == (("Server", "x"), ("X", "y"))
    assert redacted.content is found.content


def test_repeated_secrets_are_masked() -> None:
    found = response(
        f"<p>{SECRET}, new9value, word".encode(),
        f"X-You-Sent: {SECRET}",
        "Set-Cookie: a=new9value",
        "Set-Cookie: b=word",
    )
    redacted, _ = without_secrets(found, SECRETS)
    assert redacted.content == redacted.body == b"<p>xxxxxxxxxxxxxx, xxxxxxxxx, word"
    assert redacted.headers.items() == (("X-You-Sent", "x" * len(SECRET)),)
    assert SECRET.encode() not in redacted.raw_headers


def test_compressed_bodies_are_masked() -> None:
    content = f"<p>{SECRET}".encode()
    found = response(content, "Content-Encoding: gzip", "Content-Length: 50", "X: y", body=gzip.compress(content))
    redacted, _ = without_secrets(found, SECRETS)
    assert redacted.content == redacted.body == b"<p>xxxxxxxxxxxxxx"
    assert redacted.headers.items() == (("X", "y"),)
    assert b"X-Crawler-Content-Encoding: gzip\r\nX-Crawler-Content-Length: 50\r\n" in redacted.raw_headers


def test_a_screenshot_of_a_page_with_a_secret_is_dropped() -> None:
    page = RenderedPage("http://a.test/", b"<p>token 9f8e7d6c5b4a", links=("http://a.test/x",), screenshot=b"image")
    shown = replace(response(b""), rendered=page)
    found, _ = without_secrets(shown, Secrets("http://a.test", redacted=("9f8e7d6c5b4a",)))
    assert found.rendered is not None
    assert (found.rendered.screenshot, found.rendered.links) == (b"", page.links)
    assert b"9f8e" not in found.rendered.document
    found, _ = without_secrets(shown, Secrets("http://a.test", redacted=("another-secret-1",)))
    assert found.rendered == page


def test_responses_without_secrets_are_unchanged() -> None:
    content = b"<p>hello"
    found = response(content, "Content-Encoding: gzip", body=gzip.compress(content))
    assert without_secrets(found, SECRETS) == (found, ())


def test_responses_to_login_steps_are_not_redacted() -> None:
    """A token in the form may equal a cookie and must be sent back; such responses are not archived."""
    found = response(f"<input name=token value={SECRET}>".encode(), f"Set-Cookie: token={SECRET}")
    redacted, cookies = without_secrets(found, Secrets("http://a.test", redacted=(SECRET,), is_login=True))
    assert (redacted.content, cookies) == (found.content, (f"token={SECRET}",))
