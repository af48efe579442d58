"""Responses that violate HTTP: lengths, chunks, headers, status lines, redirects, and broken connections."""

from __future__ import annotations

from collections.abc import Callable

from tests.fake_web.fake_response import FakeResponse, redirect_to
from tests.fake_web.hostile_case import HOST, HostileCase, outcomes

PAGE = b"<!DOCTYPE html><title>Wire</title><a href=/found>found</a>\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
MEGABYTE = 1_000_000

_LENGTH = b"Content-Length: %d\r\n\r\n" % len(PAGE)
_PLAIN = OK + _LENGTH + PAGE
_CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def _case(
    name: str, outcome: str, note: str, make: Callable[[], FakeResponse], never_ends: bool = False
) -> HostileCase:
    return HostileCase(name, make, outcomes(outcome), note, never_ends=never_ends)


def _raw(name: str, outcome: str, note: str, data: bytes) -> HostileCase:
    return _case(name, outcome, note, lambda: FakeResponse(raw=data))


def _with_headers(*headers: tuple[str, str], status: int = 200) -> Callable[[], FakeResponse]:
    return lambda: FakeResponse(PAGE, status, headers)


LENGTHS = [
    _raw(
        "length-too-long",
        "broken answer",
        "a page cut short must not be taken for the whole",
        OK + b"Content-Length: 5000\r\n\r\n" + PAGE,
    ),
    _case(
        "length-too-long-held",
        "timed out",
        "waiting for what never comes must end",
        lambda: FakeResponse(raw=OK + b"Content-Length: 5000\r\n\r\n" + PAGE, hold=True),
        never_ends=True,
    ),
    _raw(
        "length-too-short",
        "ok | broken answer",
        "the rest must not be taken for the next answer on the connection",
        OK + b"Content-Length: 20\r\n\r\n" + PAGE,
    ),
    _raw(
        "two-lengths",
        "broken answer | ok",
        "two lengths that differ smuggle a second answer",
        OK + b"Content-Length: 10\r\n" + _LENGTH + PAGE,
    ),
    _raw("negative-length", "broken answer", "must not be used as a size", OK + b"Content-Length: -1\r\n\r\n" + PAGE),
    _raw("length-is-no-number", "broken answer | ok", "must not raise", OK + b"Content-Length: many\r\n\r\n" + PAGE),
    _raw(
        "length-overflows",
        "broken answer | too large",
        "must not overflow to a small number",
        OK + b"Content-Length: " + b"9" * 40 + b"\r\n\r\n" + PAGE,
    ),
    _raw(
        "length-of-a-terabyte",
        "too large | broken answer",
        "nothing may be reserved because a header promises it",
        OK + b"Content-Length: 1099511627776\r\n\r\n" + PAGE,
    ),
    _raw(
        "length-and-chunks",
        "ok | broken answer",
        "a length together with chunks smuggles a second response",
        OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % len(PAGE) + PAGE + b"\r\n0\r\n\r\n",
    ),
    _raw("no-length", "ok", "the end of the connection is the end of the page", OK + b"\r\n" + PAGE),
]

CHUNKS = [
    _raw("chunk-size-is-no-number", "broken answer", "must not raise", _CHUNKED + b"xyz\r\n" + PAGE + b"\r\n0\r\n\r\n"),
    _raw("chunk-size-negative", "broken answer", "must not be used as a size", _CHUNKED + b"-5\r\n" + PAGE),
    _raw("chunk-size-overflows", "broken answer", "must not overflow", _CHUNKED + b"f" * 40 + b"\r\n" + PAGE),
    _raw(
        "chunk-too-short",
        "broken answer",
        "a line end is missing where it must be",
        _CHUNKED + b"5\r\n" + PAGE + b"\r\n0\r\n",
    ),
    _raw("chunks-cut-off", "broken answer", "half a page is not a page", _CHUNKED + b"ffff\r\n" + PAGE),
    _case(
        "chunk-never-ends",
        "timed out",
        "waiting for the next chunk must end",
        lambda: FakeResponse(raw=_CHUNKED + b"5\r\n<p>ab\r\n", hold=True),
        never_ends=True,
    ),
    _case(
        "chunks-of-one-byte",
        "ok | too large | broken answer",
        "100,000 chunks of a byte must not take quadratic time",
        lambda: FakeResponse(raw=_CHUNKED + b"1\r\nx\r\n" * 100_000 + b"0\r\n\r\n"),
    ),
    _case(
        "chunk-extension-endless",
        "too large | broken answer | timed out",
        "what is not body counts too",
        lambda: FakeResponse(raw=_CHUNKED + b"5;", endless=b"extension=" * 100),
    ),
    _case(
        "trailers-endless",
        "too large | broken answer | timed out | ok",
        "headers after the body are bounded too",
        lambda: FakeResponse(raw=_CHUNKED + b"5\r\n<p>ab\r\n0\r\n", endless=b"X-Trailer: again\r\n" * 50),
    ),
    _case(
        "body-endless",
        "too large",
        "a page without end must not fill memory or disk",
        lambda: FakeResponse(b"<!DOCTYPE html>", endless=b"<p>and so on</p>\n" * 100),
    ),
    _case(
        "chunks-endless",
        "too large",
        "a page without end must not fill memory or disk",
        lambda: FakeResponse(b"<!DOCTYPE html>", chunked=True, endless=b"<a href=/found>again</a>\n" * 100),
    ),
    _case(
        "multipart-endless",
        "unwanted type | too large",
        "a stream of pictures has no end",
        lambda: FakeResponse(
            content_type="multipart/x-mixed-replace; boundary=next",
            endless=b"--next\r\nContent-Type: image/jpeg\r\n\r\n" + bytes(1000),
        ),
    ),
    _case(
        "event-stream-held",
        "unwanted type | timed out",
        "a stream of events says nothing for hours",
        lambda: FakeResponse(raw=b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n:\n\n", hold=True),
        never_ends=True,
    ),
    _raw(
        "transfer-coding-unknown",
        "broken answer | ok",
        "must not be stored as if it were plain",
        OK + b"Transfer-Encoding: rot13, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    ),
]

HEADERS = [
    _case(
        "headers-endless",
        "too large | broken answer",
        "headers without end must not fill memory",
        lambda: FakeResponse(raw=b"HTTP/1.1 200 OK\r\n", endless=b"X-Again: and again\r\n" * 50),
    ),
    _case(
        "header-of-a-megabyte",
        "too large | broken answer",
        "one line of 1 MB must not be stored",
        lambda: FakeResponse(PAGE, headers=(("X-Long", "x" * MEGABYTE),)),
    ),
    _case(
        "header-line-endless",
        "too large | broken answer",
        "a line without end must not fill memory",
        lambda: FakeResponse(raw=b"HTTP/1.1 200 OK\r\nX-Long: ", endless=b"x" * 1000),
    ),
    _case(
        "ten-thousand-headers",
        "too large | broken answer | ok",
        "many small headers are many bytes too",
        lambda: FakeResponse(PAGE, headers=tuple((f"X-{k}", "y" * 10) for k in range(10_000))),
    ),
    _case(
        "cookie-of-a-megabyte",
        "too large | broken answer",
        "no cookie is stored, and none of 1 MB",
        lambda: FakeResponse(PAGE, headers=(("Set-Cookie", "a=" + "b" * MEGABYTE + "; Domain=.test"),)),
    ),
    _case(
        "many-cookies",
        "ok | too large",
        "no cookie is sent back unless configured",
        lambda: FakeResponse(PAGE, headers=tuple(("Set-Cookie", f"c{k}=1; Domain=test; Path=/") for k in range(500))),
    ),
    _raw(
        "header-nul-and-8-bit",
        "ok | broken answer",
        "must not raise",
        OK + b"X-\0Odd\xff: a\0b\xfe\r\n" + _LENGTH + PAGE,
    ),
    _raw("header-without-colon", "ok | broken answer", "must not raise", OK + b"no colon here\r\n" + _LENGTH + PAGE),
    _raw("header-without-name", "ok | broken answer", "must not raise", OK + b": value\r\n" + _LENGTH + PAGE),
    _raw("header-folded", "ok | broken answer", "must not raise", OK + b"X-Fold: a\r\n b\r\n\tc\r\n" + _LENGTH + PAGE),
    _raw("bare-line-ends", "ok | broken answer", "many old servers do so", _PLAIN.replace(b"\r\n", b"\n")),
    _raw("carriage-returns-only", "broken answer | timed out", "must not raise", _PLAIN.replace(b"\r\n", b"\r")),
    _case(
        "type-rubbish",
        "ok | unwanted type",
        "a type is not trusted, and must not raise",
        lambda: FakeResponse(PAGE, content_type='tex\u00e4t/;;;html, "charset=,=;\t boundary'),
    ),
    _case("type-missing", "ok | unwanted type", "must not raise", lambda: FakeResponse(PAGE, content_type=None)),
    _case(
        "type-long",
        "ok | unwanted type",
        "must be cut",
        lambda: FakeResponse(PAGE, content_type="text/html;" + "x" * 50_000),
    ),
    _raw(
        "two-types",
        "ok | unwanted type",
        "one must win and none raise",
        OK + b"Content-Type: application/x-msdownload\r\n" + _LENGTH + PAGE,
    ),
    _case(
        "octet-stream",
        "unwanted type",
        "what is no page is not fetched to its end",
        lambda: FakeResponse(content_type="application/octet-stream", endless=bytes(1000)),
    ),
    _case(
        "refresh-header", "ok", "must not be followed for ever", _with_headers(("Refresh", "0; url=/refresh-header"))
    ),
    _case(
        "robots-header-rubbish",
        "ok",
        "must not raise",
        _with_headers(("X-Robots-Tag", "unavailable_after: 99-99-99, :,:,otherbot: noindex\x1b")),
    ),
    _case(
        "retry-after-absurd",
        "slow down",
        "a host must not rest for ever, or the crawl overflow",
        _with_headers(("Retry-After", "9" * 40), status=429),
    ),
    _case(
        "retry-after-rubbish",
        "slow down | server error",
        "must not raise",
        _with_headers(("Retry-After", "Feb 31, -5"), status=503),
    ),
    _case(
        "validators-long",
        "ok | too large",
        "an ETag that comes back with the next request is bounded",
        _with_headers(("ETag", '"' + "e" * 30_000 + '"'), ("Last-Modified", "yesterday")),
    ),
]

STATUSES = [
    _raw("http-0.9", "broken answer | ok", "a body alone is no answer any more", PAGE),
    _raw("status-garbage", "broken answer", "must not raise", b"HTTP/1.1 OK 200\r\n\r\n" + PAGE),
    _raw("status-without-number", "broken answer", "must not raise", b"HTTP/1.1\r\n\r\n" + PAGE),
    _raw("status-negative", "broken answer", "must not raise", b"HTTP/1.1 -200 OK\r\n\r\n" + PAGE),
    _raw("status-of-four-digits", "broken answer | ok", "must not raise", b"HTTP/1.1 2000 OK\r\n\r\n" + PAGE),
    _case(
        "status-999", "client error | server error | broken answer", "is none of ours", lambda: FakeResponse(PAGE, 999)
    ),
    _case(
        "status-600", "client error | server error | broken answer", "is none of ours", lambda: FakeResponse(PAGE, 600)
    ),
    _raw("version-unknown", "broken answer | ok", "must not raise", b"HTTP/9.9 200 OK\r\n" + _LENGTH + PAGE),
    _raw("version-rubbish", "broken answer", "must not raise", b"ICY/x 200 OK\r\n" + _LENGTH + PAGE),
    _raw(
        "reason-with-rubbish",
        "ok | broken answer",
        "must not raise",
        b"HTTP/1.1 200 \x1b[31m\xff\xfe\r\nContent-Type: text/html\r\n" + _LENGTH + PAGE,
    ),
    _raw(
        "switching-protocols",
        "broken answer | timed out | client error",
        "no other protocol was requested",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x05hello",
    ),
    _case(
        "continue-endless",
        "too large | broken answer | timed out",
        "answers that only announce the next one must end",
        lambda: FakeResponse(raw=b"", endless=b"HTTP/1.1 100 Continue\r\n\r\n" * 20),
    ),
    _raw(
        "early-hints",
        "ok",
        "an announcement, then the answer",
        b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" + _PLAIN,
    ),
    _raw(
        "no-content-with-body",
        "ok | broken answer",
        "there is no body",
        b"HTTP/1.1 204 No Content\r\n" + _LENGTH + PAGE,
    ),
    _raw(
        "not-modified-unasked",
        "not modified | broken answer",
        "nothing is known that could be unchanged",
        b"HTTP/1.1 304 Not Modified\r\n\r\n",
    ),
    _raw(
        "partial-unasked",
        "ok | broken answer",
        "a part is not the page",
        b"HTTP/1.1 206 Partial Content\r\nContent-Type: text/html\r\nContent-Range: bytes 0-9/999\r\n" + _LENGTH + PAGE,
    ),
    _case(
        "unauthorized", "client error", "no password is sent", _with_headers(("WWW-Authenticate", "Basic"), status=401)
    ),
    _case("not-found-in-200", "ok", "a soft 404 is a page", lambda: FakeResponse("<title>404 Not Found</title>")),
    _case("redirect-without-location", "redirect leads nowhere", "must not raise", lambda: FakeResponse(PAGE, 302)),
    _case("multiple-choices", "redirect leads nowhere", "300 needs no Location", lambda: FakeResponse(PAGE, 300)),
]

REDIRECTS = [
    _case("redirect-to-itself", "redirect", "must end", lambda: redirect_to("/redirect-to-itself", 302)),
    _case(
        "redirect-to-javascript",
        "redirect leads nowhere",
        "must not be followed",
        lambda: redirect_to("javascript:alert(1)"),
    ),
    _case(
        "redirect-to-file", "redirect leads nowhere", "no file may be read", lambda: redirect_to("file:///etc/passwd")
    ),
    _case(
        "redirect-to-private",
        "redirect",
        "the next fetch must be refused: it is the cloud's metadata service",
        lambda: redirect_to("http://169.254.169.254/latest/meta-data/"),
    ),
    _case(
        "redirect-to-loopback", "redirect", "must be refused next", lambda: redirect_to("http://[::ffff:127.0.0.1]:22/")
    ),
    _case(
        "redirect-to-giant-url",
        "too large | broken answer",
        "no URL of 1 MB in the frontier",
        lambda: redirect_to("/" + "x" * MEGABYTE),
    ),
    _case(
        "redirect-to-long-url",
        "redirect leads nowhere",
        "longer than a URL may be",
        lambda: redirect_to("/" + "x" * 5000),
    ),
    _case("redirect-to-rubbish", "redirect leads nowhere", "is no URL", lambda: redirect_to("http://[")),
    _case(
        "redirect-to-nothing",
        "redirect leads nowhere | redirect",
        "an empty Location is itself",
        lambda: redirect_to(""),
    ),
    _case(
        "redirect-with-8-bit",
        "redirect | redirect leads nowhere | broken answer",
        "must not raise",
        lambda: redirect_to("/f\u00f6und?\U0001f9ed"),
    ),
    _raw(
        "redirect-with-line-break",
        "redirect | redirect leads nowhere | broken answer",
        "no line break may reach the next request",
        b"HTTP/1.1 302 Found\r\nLocation: /found\rX-Evil: 1\r\nContent-Length: 0\r\n\r\n",
    ),
    _case(
        "redirect-to-two-places",
        "redirect | redirect leads nowhere | broken answer",
        "one must win and none raise",
        lambda: FakeResponse(b"", 302, (("Location", "/found"), ("Location", "http://other.test/"))),
    ),
    _case(
        "redirect-loop-a", "redirect", "two that point at each other must end", lambda: redirect_to("/redirect-loop-b")
    ),
    _case(
        "redirect-loop-b", "redirect", "two that point at each other must end", lambda: redirect_to("/redirect-loop-a")
    ),
    _case("redirect-chain", "redirect", "50 hops are too many", lambda: redirect_to("/redirect-chain/50")),
    _case(
        "redirect-growing",
        "redirect",
        "each hop is longer than the one before; must end",
        lambda: redirect_to("/redirect-growing/x/"),
    ),
    _case(
        "redirect-with-endless-body",
        "redirect | too large",
        "the body of a redirect is not needed",
        lambda: FakeResponse(b"", 302, (("Location", f"http://{HOST}/found"),), endless=b"x" * 1000),
    ),
]

CONNECTIONS = [
    _case(
        "slow-headers",
        "timed out",
        "a header a minute must not hold a connection for hours",
        lambda: FakeResponse(PAGE * 100, bytes_per_s=5, drips_head=True),
        never_ends=True,
    ),
    _case(
        "slow-body",
        "timed out",
        "a byte a second must not hold a connection for hours",
        lambda: FakeResponse(PAGE * 100, bytes_per_s=5),
        never_ends=True,
    ),
    _case("silence", "timed out", "waiting must end", lambda: FakeResponse(raw=b"", hold=True), never_ends=True),
    _case("closed-at-once", "broken answer | no connection", "must not raise", lambda: FakeResponse(raw=b"")),
    _case(
        "closed-in-headers", "broken answer", "half an answer is none", lambda: FakeResponse(raw=_PLAIN, cut_after=30)
    ),
    _case("closed-in-body", "broken answer", "half a page is not a page", lambda: FakeResponse(PAGE, cut_after=10)),
    _case("reset-at-once", "broken answer | no connection", "must not raise", lambda: FakeResponse(reset=True)),
    _case(
        "reset-in-body", "broken answer", "must not raise", lambda: FakeResponse(PAGE * 100, cut_after=100, reset=True)
    ),
    _raw(
        "tls-on-http",
        "broken answer",
        "a TLS alert is no answer",
        b"\x15\x03\x01\x00\x02\x02\x46\x16\x03\x03\x00\x40" + bytes(64),
    ),
    _raw("ssh-banner", "broken answer", "another service is no web server", b"SSH-2.0-OpenSSH_9.6\r\n"),
    _raw(
        "http-2-preface",
        "broken answer",
        "HTTP/2 was not requested",
        b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0d\0\x04\0\0\xff\xff",
    ),
    _raw(
        "two-answers",
        "ok",
        "the second must not be taken for the answer to another request",
        _PLAIN + b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 8\r\n\r\npoisoned",
    ),
]

WIRE = [*LENGTHS, *CHUNKS, *HEADERS, *STATUSES, *REDIRECTS, *CONNECTIONS]
