"""Responses of real servers on loopback, byte by byte."""

from __future__ import annotations

import gzip
import socket
import struct
import time

import pytest

from orienteer.fetch.libcurl import LibcurlFetcher
from orienteer.fetch.transfer import MAX_HEADERS
from orienteer.pages.outcome import Outcome
from orienteer.responses.response import HostRequest, HostRequestKind, PageRequest
from tests.fetch.conftest import fetched, loopback
from tests.fetch.servers import KeepAliveServer, ScriptedServer, drip, response, silence

PAGE = b"<html><p>a page</p>"
SHORT = {"timeout_s": 0.4}


def hang_up_hard(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def then_drip(head: bytes, body: bytes):
    def script(connection: socket.socket) -> None:
        connection.sendall(head)
        drip(body)(connection)

    return script


def test_a_response_has_all_fields(fetch):
    before = time.time()
    result = fetch(response(PAGE, "200 Fine", "X-Name: a", kind="text/HTML; charset=utf-8"))
    assert result.outcome is Outcome.OK
    assert (result.status, result.status_line) == (200, "HTTP/1.1 200 Fine")
    assert result.body == result.content == PAGE
    assert (result.content_type, result.charset, result.location) == ("text/html", "utf-8", None)
    assert result.headers.get("x-name") == "a"
    assert result.raw_headers.startswith(b"HTTP/1.1 200 Fine\r\nContent-Length: 19\r\n")
    assert result.raw_headers.endswith(b"\r\n\r\n")
    assert (result.address, result.protocol, result.detail) == ("127.0.0.1", "http/1.1", "")
    assert before <= result.started_at <= time.time()
    assert result.duration_s > 0


@pytest.mark.parametrize(
    ("script", "outcome", "status"),
    [
        (response(PAGE), Outcome.OK, 200),
        (response(PAGE, kind=None), Outcome.OK, 200),
        (response(b"", "204 No Content", kind=None), Outcome.OK, 204),
        (b"HTTP/1.0 200 OK\r\n\r\n" + PAGE, Outcome.OK, 200),
        (b"HTTP/1.1 200 OK\nContent-Length: 19\n\n" + PAGE, Outcome.OK, 200),
        (b"HTTP/1.1 200\r\nContent-Length: 19\r\n\r\n" + PAGE, Outcome.OK, 200),
        (response(PAGE, "301 Moved", "Location: /x"), Outcome.REDIRECT, 301),
        (response(PAGE, "301 Moved", "Location: /x", kind="image/png"), Outcome.REDIRECT, 301),
        (response(PAGE, "301 Moved"), Outcome.LEADS_NOWHERE, 301),
        (response(PAGE, "302 Moved", "Location: ftp://example.org/"), Outcome.LEADS_NOWHERE, 302),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", Outcome.NOT_MODIFIED, 304),
        (response(PAGE, "404 Not Found"), Outcome.CLIENT_ERROR, 404),
        (response(PAGE, "404 Not Found", kind="image/png"), Outcome.CLIENT_ERROR, 404),
        (response(PAGE, "401 Who", 'WWW-Authenticate: Basic realm="x"'), Outcome.CLIENT_ERROR, 401),
        (response(PAGE, "429 Slowly"), Outcome.SLOW_DOWN, 429),
        (response(PAGE, "500 Oh"), Outcome.SERVER_ERROR, 500),
        (response(PAGE, "503 Later", "Retry-After: 9"), Outcome.SLOW_DOWN, 503),
        (response(PAGE, "999 Go away"), Outcome.SERVER_ERROR, 999),
        (response(PAGE, kind="image/png"), Outcome.UNWANTED_TYPE, 200),
        (b"", Outcome.BROKEN, 0),
        (hang_up_hard, Outcome.BROKEN, 0),
        (PAGE, Outcome.BROKEN, 0),
        (b"\x16\x03\x01\x00\x00", Outcome.BROKEN, 0),
        (b"HTTP/1.1 abc Fine\r\n\r\n", Outcome.BROKEN, 0),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nxxxx", Outcome.BROKEN, 101),
        (b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n", Outcome.BROKEN, 0),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + PAGE, Outcome.BROKEN, 200),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\n" + PAGE, Outcome.BROKEN, 0),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 9\r\n\r\n" + PAGE, Outcome.BROKEN, 0),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", Outcome.BROKEN, 200),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnothing\r\nhello\r\n", Outcome.BROKEN, 200),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", Outcome.BROKEN, 0),
        (response(PAGE, "200 OK", "Content-Encoding: gzip"), Outcome.BROKEN, 200),
        (response(PAGE, "200 OK", "Content-Encoding: rot13"), Outcome.BROKEN, 200),
    ],
)
def test_each_answer_has_its_outcome(fetch, script, outcome, status):
    result = fetch(script)
    assert (result.outcome, result.status) == (outcome, status), result.detail
    assert result.location == (result.request.url + "x" if outcome is Outcome.REDIRECT else None)
    assert bool(result.detail) == (outcome in (Outcome.BROKEN, Outcome.UNWANTED_TYPE))


def test_interim_responses_are_dropped(fetch):
    early = b"HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n"
    result = fetch(early + response(PAGE))
    assert (result.status, result.content) == (200, PAGE)
    assert result.raw_headers.startswith(b"HTTP/1.1 200 OK\r\nContent-Length: 19\r\n")
    assert "x-early" not in result.headers


def test_trailers_are_ignored_even_if_they_look_like_a_response(fetch):
    trailers = b"X-Late: 1\r\nHTTP/1.1 500: no\r\n\r\n"
    result = fetch(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n" + trailers)
    assert (result.outcome, result.status, result.content) == (Outcome.OK, 200, b"hello")
    assert result.headers.items() == (("Transfer-Encoding", "chunked"),)


def test_malformed_headers_are_accepted(fetch):
    result = fetch(
        b"HTTP/1.1 200 \xe4\xff\r\nX: \xff\xfe\r\nFolded: a\r\n  b\r\n\tc\r\n: none\r\nContent-Length: 0\r\n\r\n"
    )
    assert result.outcome is Outcome.OK
    assert result.status_line.encode("latin-1") == b"HTTP/1.1 200 \xe4\xff"
    assert result.headers.get("x").encode("latin-1") == b"\xff\xfe"
    assert result.headers.get("folded").split() == ["a", "b", "c"]


def test_a_location_may_be_in_utf_8(fetch):
    result = fetch(response(b"", "302 Found", "Location: //example.org/ä"))
    assert result.location == "http://example.org/%C3%A4"


def test_a_body_is_kept_as_received_and_unpacked(fetch):
    packed = gzip.compress(PAGE)
    result = fetch(response(packed, "200 OK", "Content-Encoding: gzip"))
    assert (result.outcome, result.body, result.content) == (Outcome.OK, packed, PAGE)


def test_chunks_are_put_together(fetch):
    result = fetch(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n")
    assert result.body == b"hello world"


@pytest.mark.parametrize(
    "script",
    [
        silence,
        drip(response(PAGE)),
        then_drip(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 1000),
        then_drip(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 1000),
        lambda connection: [
            drip(b"HTTP/1.1 100 Wait\r\n\r\n", 0.0)(connection) or time.sleep(0.02) for _ in range(100)
        ],
    ],
    ids=["silence", "slow headers", "slow body", "slow chunks", "endless 1xx"],
)
def test_the_timeout_applies_to_all_phases(fetch, script):
    result = fetch(script, **SHORT)
    assert (result.outcome, result.body, result.content) == (Outcome.TIMED_OUT, b"", b"")
    assert result.duration_s >= 0.4


def test_an_error_is_known_by_its_status_even_if_its_body_never_ends(fetch):
    slow = fetch(then_drip(b"HTTP/1.1 404 No\r\n\r\n", b"x" * 1000), timeout_s=2.0)
    assert (slow.outcome, slow.status) == (Outcome.CLIENT_ERROR, 404)
    assert set(slow.body) == set(b"x")
    short = fetch(b"HTTP/1.1 302 There\r\nLocation: /x\r\nContent-Length: 99\r\n\r\nshort")
    assert (short.outcome, short.body) == (Outcome.REDIRECT, b"short")


def test_a_refused_connection_is_no_connection():
    with socket.socket() as unused, LibcurlFetcher(loopback()) as fetcher:
        unused.bind(("127.0.0.1", 0))
        result = fetched(fetcher, f"http://127.0.0.1:{unused.getsockname()[1]}/")[0]
    assert (result.outcome, result.status, result.address) == (Outcome.NO_CONNECTION, 0, "")
    assert "Could not connect" in result.detail


def test_connecting_times_out():
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for waiting in (first, second):  # as many as fit, and one more
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        with LibcurlFetcher(loopback(connect_timeout_s=0.3)) as fetcher:
            result = fetched(fetcher, f"http://127.0.0.1:{full.getsockname()[1]}/")[0]
    assert result.outcome is Outcome.TIMED_OUT
    assert "Connection timed out" in result.detail or "connect" in result.detail.lower()


def test_large_bodies_are_refused_before_they_are_read(fetch):
    stated = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"
    result = fetch(then_drip(stated, b"x" * 1000), max_body_bytes=1000)
    assert (result.outcome, result.status, result.body) == (Outcome.TOO_LARGE, 200, b"")
    assert "5000" in result.detail
    absurd = fetch(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999999\r\n\r\n")
    assert absurd.outcome is Outcome.TOO_LARGE


def test_large_bodies_are_refused_where_the_limit_is_passed(fetch):
    head = b"HTTP/1.1 200 OK\r\n\r\n"
    assert fetch(head + b"x" * 1000, max_body_bytes=1000).outcome is Outcome.OK
    result = fetch(head + b"x" * 1001, max_body_bytes=1000)
    assert (result.outcome, result.body) == (Outcome.TOO_LARGE, b"")
    assert "1,000" in result.detail


def test_a_request_may_have_its_own_limit(fetch):
    script = response(b"x" * 500)
    assert fetch(script, PageRequest("/", 0, max_body_bytes=100)).outcome is Outcome.TOO_LARGE
    assert fetch(script, PageRequest("/", 0, max_body_bytes=1000), max_body_bytes=100).outcome is Outcome.OK


@pytest.mark.parametrize("head", [b"HTTP/1.1 404 No\r\n\r\n", b"HTTP/1.1 404 No\r\nContent-Length: 5000\r\n\r\n"])
def test_large_bodies_of_errors_are_truncated(fetch, head):
    result = fetch(head + b"x" * 5000, max_body_bytes=1000)
    assert (result.outcome, result.body, result.detail) == (Outcome.CLIENT_ERROR, b"x" * 1000, "the body is truncated")


def test_a_bomb_is_too_large(fetch):
    bomb = gzip.compress(bytes(1 << 20))
    result = fetch(response(bomb, "200 OK", "Content-Encoding: gzip"), max_decoded_bytes=1000)
    assert (result.outcome, result.content) == (Outcome.TOO_LARGE, b"")
    assert "when unpacked" in result.detail


def test_an_error_page_that_cannot_be_unpacked_is_still_that_error(fetch):
    result = fetch(response(b"not gzip", "404 No", "Content-Encoding: gzip"))
    assert (result.outcome, result.body, result.content) == (Outcome.CLIENT_ERROR, b"not gzip", b"")


@pytest.mark.parametrize(
    "headers",
    [
        b"X: " + b"a" * 70_000 + b"\r\n\r\n",
        b"X: " + b"a" * 1_000_000,
        (b"X: " + b"a" * 1000 + b"\r\n") * 70 + b"\r\n",
        b"X: a\r\n" * (MAX_HEADERS + 1) + b"\r\n",
    ],
    ids=["long line", "line without end", "many bytes", "many lines"],
)
def test_large_headers_are_refused(fetch, headers):
    result = fetch(b"HTTP/1.1 200 OK\r\n" + headers)
    assert (result.outcome, result.status, result.body) == (Outcome.TOO_LARGE, 0, b"")
    assert result.detail


def test_trailers_count_as_headers(fetch):
    chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"
    result = fetch(chunks + (b"X: " + b"a" * 1000 + b"\r\n") * 70 + b"\r\n")
    assert result.outcome is Outcome.TOO_LARGE


def test_an_unwanted_type_is_not_read(fetch):
    result = fetch(then_drip(b"HTTP/1.1 200 OK\r\nContent-Type: Image/PNG; x=y\r\n\r\n", b"x" * 1000))
    assert (result.outcome, result.status, result.body) == (Outcome.UNWANTED_TYPE, 200, b"")
    assert (result.content_type, result.detail) == ("image/png", "image/png")


@pytest.mark.parametrize(
    ("body", "outcome"),
    [(b"%PDF-1.7" + b"x" * 100, Outcome.OK), (b"%PDF-1.7", Outcome.OK), (b"MZ" + b"x" * 100, Outcome.UNWANTED_TYPE),
     (b"PK", Outcome.UNWANTED_TYPE), (b"", Outcome.UNWANTED_TYPE)],
)  # fmt: skip
def test_the_content_decides_whether_binary_data_is_a_document(fetch, body, outcome):
    result = fetch(response(body, kind="application/octet-stream"))
    assert (result.outcome, result.content) == (outcome, body if outcome is Outcome.OK else b"")
    assert (
        fetch(response(body, kind="application/octet-stream"), content_types=("text/html",)).outcome is not Outcome.OK
    )


def test_documents_may_be_larger_than_pages(fetch):
    limits = {"max_body_bytes": 50, "max_document_bytes": 200}
    document = response(b"%PDF-" + b"x" * 145, kind="application/pdf")
    assert fetch(document, **limits).outcome is Outcome.OK
    assert fetch(response(b"x" * 150, kind="text/html"), **limits).outcome is Outcome.TOO_LARGE
    assert fetch(response(b"%PDF-" + b"x" * 200, kind="application/pdf"), **limits).outcome is Outcome.TOO_LARGE


def test_types_do_not_matter_to_a_request_for_any(fetch):
    script = response(b"User-agent: *", kind="text/css")
    assert fetch(script).outcome is Outcome.UNWANTED_TYPE
    assert fetch(script, HostRequest("/", HostRequestKind.ROBOTS)).content == b"User-agent: *"


@pytest.mark.parametrize("says_length", [True, False])
def test_a_robots_txt_that_is_too_large_is_truncated(fetch, says_length):
    rules = b"User-agent: *\n" * 1000
    script = response(rules) if says_length else b"HTTP/1.1 200 OK\r\n\r\n" + rules
    result = fetch(script, HostRequest("/", HostRequestKind.ROBOTS, max_body_bytes=100))
    assert (result.outcome, result.content) == (Outcome.OK, rules[:100])

    assert fetch(script, content_types=("text/*",)).outcome is Outcome.OK


def test_request_headers():
    with (
        ScriptedServer(response(PAGE)) as server,
        LibcurlFetcher(loopback(user_agent="Tester/1 (me@example.org)")) as fetcher,
    ):
        fetched(fetcher, server.url + "a|b%20c?d='e'&f=%C3%A4")
    request = server.requests[0].decode()
    assert request.startswith("GET /a|b%20c?d='e'&f=%C3%A4 HTTP/1.1\r\n")
    lines = request.split("\r\n")[1:-2]
    assert dict(line.split(": ", 1) for line in lines) == {
        "Host": f"127.0.0.1:{server.port}",
        "User-Agent": "Tester/1 (me@example.org)",
        "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "Accept-Encoding": "gzip, deflate, br, zstd",
        "Accept-Language": "en, *;q=0.5",
    }


def test_headers_of_a_request_are_not_reused():
    tag = b'"\xe4\xff"'.decode("latin-1")
    with ScriptedServer(response(PAGE, "200 OK", "Connection: close")) as server, LibcurlFetcher(loopback()) as fetcher:
        fetched(fetcher, PageRequest(server.url, 0, headers=(("If-None-Match", tag), ("X", "a\r\nEvil: b\0"))))
        fetched(fetcher, server.url)
        fetched(fetcher, PageRequest(server.url, 0, headers=(("X", "→"),)))
    assert b'\r\nIf-None-Match: "\xe4\xff"\r\nX: a Evil: b' in server.requests[0]
    assert b"\r\nEvil" not in server.requests[0]
    assert b"If-None-Match" not in server.requests[1]
    assert b"\r\nX:" not in server.requests[1]
    assert "\r\nX: →\r\n".encode() in server.requests[2]
    assert all(request.count(b"\r\nAccept: ") == 1 for request in server.requests)


def test_cookies_are_stored_only_with_the_setting():
    for wanted in (False, True):
        scripts = [response(PAGE, "200 OK", "Set-Cookie: a=1", "Connection: close"), response(PAGE)]
        with ScriptedServer(*scripts) as server, LibcurlFetcher(loopback(cookies=wanted)) as fetcher:
            fetched(fetcher, server.url)
            fetched(fetcher, server.url, server.url)  # by two handles
        assert [b"Cookie: a=1" in request for request in server.requests] == [False, wanted, wanted]


def test_connections_are_reused():
    with KeepAliveServer(lambda host, path: response(path.encode())) as server, LibcurlFetcher(loopback()) as fetcher:
        for n in range(20):
            assert fetched(fetcher, f"http://127.0.0.1:{server.port}/{n}")[0].content == b"/%d" % n
        assert (server.n_connections, server.n_requests) == (1, 20)


def test_a_closed_idle_connection_is_no_failure():
    with ScriptedServer(response(PAGE)) as server, LibcurlFetcher(loopback()) as fetcher:
        results = [fetched(fetcher, server.url)[0] for _ in range(5)]
    assert [result.outcome for result in results] == [Outcome.OK] * 5
    assert len(server.requests) == 5


def test_a_reused_handle_has_no_state_of_the_last_fetch():
    scripts = [response(PAGE, "200 OK", "X-First: 1"), response(b"no", "404 No"), b"", silence, response(PAGE)]
    with ScriptedServer(*scripts) as server, LibcurlFetcher(loopback(timeout_s=2.0)) as fetcher:
        results = [fetched(fetcher, server.url)[0] for _ in range(5)]
        nowhere = fetched(fetcher, "http://a$b.example/")[0]
    assert [result.body for result in results] == [PAGE, b"no", b"", b"", PAGE]
    assert [result.status for result in results] == [200, 404, 0, 0, 200]
    assert all("x-first" not in result.headers for result in results[1:])
    assert [result.protocol for result in results] == ["http/1.1", "http/1.1", "", "", "http/1.1"]
    assert (nowhere.address, nowhere.protocol, nowhere.status_line) == ("", "", "")


def test_cancelled_fetches_are_reported_and_the_fetcher_is_usable():
    with ScriptedServer(silence, silence, response(PAGE)) as server, LibcurlFetcher(loopback()) as fetcher:
        for page in range(2):
            fetcher.start(PageRequest(server.url, page))
        assert fetcher.poll(0.05) == []
        assert fetcher.n_in_flight == 2
        fetcher.cancel()
        cancelled = fetcher.poll(300)
        assert sorted(result.request.page for result in cancelled) == [0, 1]
        assert {result.outcome for result in cancelled} == {Outcome.CANCELLED}
        assert fetcher.n_in_flight == 0
        assert fetched(fetcher, server.url)[0].outcome is Outcome.OK


def test_polling_with_nothing_in_flight_waits_for_the_timeout():
    with LibcurlFetcher(loopback()) as fetcher:
        before = time.monotonic()
        assert fetcher.poll(0.05) == []
        assert time.monotonic() - before >= 0.05
        assert fetcher.poll(0) == []


def test_closing_aborts_fetches_in_flight():
    with ScriptedServer(silence) as server:
        fetcher = LibcurlFetcher(loopback())
        fetcher.start(PageRequest(server.url, 0))
        fetcher.poll(0.05)
        fetcher.close()
        fetcher.close()
