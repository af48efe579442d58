"""The server: requests in, answers out, and every way in which an answer can be sent badly."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import socket
import threading
import time

import pytest

from orienteer.errors import InputError
from tests.fake_web.client import CLOSE, exchange, fetch, request_for
from tests.fake_web.fake_response import FakeResponse, redirect_to
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite, RequestHeaders, host_and_target
from tests.tables import over_rows

HELLO = "http://a.test/hello"


def one_page(response: FakeResponse | str) -> MadeSite:
    return MadeSite({HELLO: response})


def test_a_page_and_what_is_not_there():
    with FakeWeb(one_page("<p>hello")) as web:
        assert web.address == f"127.0.0.1:{web.port}"
        status, headers, body = fetch(web.port, HELLO)
        assert (status, headers["content-type"], headers["content-length"]) == (200, "text/html", "8")
        assert body == b"<p>hello"
        assert fetch(web.port, "http://a.test/other")[0] == 404
        assert fetch(web.port, HELLO + "?query")[0] == 404


def test_hosts_are_told_apart():
    pages = {"http://a.test/": "a", "http://b.test/": "b", "http://b.test:8080/": "b8080", "http://c.test:80/": "c"}
    with FakeWeb(MadeSite(pages)) as web:
        for url, text in pages.items():
            assert fetch(web.port, url)[2] == text.encode()
        assert fetch(web.port, "http://d.test/")[0] == 404
        assert exchange(web.port, b"GET / HTTP/1.1\r\nhOsT:B.Test\r\nConnection: close\r\n\r\n").body == b"b"
        assert exchange(web.port, b"GET / HTTP/1.0\r\n\r\n").data.startswith(b"HTTP/1.1 404")


def test_as_a_proxy_it_takes_the_host_from_the_request_line():
    with FakeWeb(one_page("hello")) as web:
        proxied = exchange(web.port, b"GET http://A.test/hello HTTP/1.1\r\nHost: b.test\r\nConnection: close\r\n\r\n")
        assert proxied.body == b"hello"
        assert web.count(HELLO) == 1


def test_head_is_get_without_the_body():
    with FakeWeb(one_page("<p>hello")) as web:
        status, headers, body = fetch(web.port, HELLO, "HEAD")
        assert (status, headers["content-length"], body) == (200, "8", b"")
        both = exchange(web.port, request_for(HELLO, "HEAD") + request_for(HELLO, more=CLOSE))
        assert both.data.count(b"HTTP/1.1 200") == 2
        assert both.data.count(b"<p>hello") == 1


def test_a_connection_is_kept_and_closed_when_asked():
    with FakeWeb(one_page("<p>hello")) as web:
        connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=300)
        for _ in range(3):
            connection.request("GET", "/hello", headers={"Host": "a.test"})
            assert connection.getresponse().read() == b"<p>hello"
        connection.close()
        assert web.max_open_per_host == {"a.test": 1}
        assert web.count(HELLO) == 3
        assert exchange(web.port, request_for(HELLO), timeout_s=0.5).end == "silence"
        assert exchange(web.port, request_for(HELLO, more=CLOSE)).end == "closed"
        assert exchange(web.port, b"GET /hello HTTP/1.0\r\nHost: a.test\r\n\r\n").end == "closed"


def test_pipelined_requests_are_answered_in_order_even_behind_a_slow_one():
    pages = {f"http://a.test/{k}": FakeResponse(f"page {k};", delay_s=0.05 * (k % 3 == 0)) for k in range(10)}
    with FakeWeb(MadeSite(pages)) as web:
        last = request_for("http://a.test/9", more=CLOSE)
        data = exchange(web.port, b"".join(request_for(url) for url in list(pages)[:9]) + last).data
        assert [data.find(f"page {k};".encode()) for k in range(10)] == sorted(
            data.find(f"page {k};".encode()) for k in range(10)
        )
        assert [target for _, _, target in web.requests] == [f"/{k}" for k in range(10)]


def test_requests_may_come_in_pieces_and_answers_wait_for_a_reader():
    large = "@" * 3_000_000
    with FakeWeb(one_page(large)) as web, socket.create_connection(("127.0.0.1", web.port), timeout=300) as connection:
        for k in request_for(HELLO) * 2 + request_for(HELLO, more=CLOSE):
            connection.sendall(bytes([k]))
        n_bytes = 0
        while part := connection.recv(1 << 16):
            n_bytes += part.count(b"@")
        assert n_bytes == 3 * len(large)


@over_rows(
    ("request_bytes", "status"),
    [
        (b"rubbish\r\n\r\n", 400),
        (b"GET /\r\n\r\n", 400),
        (b"GET relative HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
        (b"GET / HTTP/2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\nabc", 405),
        (b"CONNECT a.test:443 HTTP/1.1\r\n\r\n", 405),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 300_000, 431),
    ],
)
def test_what_is_no_proper_request_is_refused_and_the_connection_closed(request_bytes, status):
    with FakeWeb(one_page("hello")) as web:
        received = exchange(web.port, request_bytes)
        assert received.data.startswith(f"HTTP/1.1 {status} ".encode())
        assert received.end in ("closed", "reset")  # reset: it was closed with something left unread


def test_requests_are_remembered_in_order_of_arrival():
    with FakeWeb(one_page("hello")) as web:
        before = time.time()
        fetch(web.port, HELLO)
        fetch(web.port, "http://b.test/x?y")
        assert [(host, target) for _, host, target in web.requests] == [("a.test", "/hello"), ("b.test", "/x?y")]
        assert before <= web.requests[0][0] <= web.requests[1][0] <= time.time()
        assert (web.count(HELLO), web.count("http://b.test/x?y#z"), web.count("http://b.test/")) == (1, 1, 0)
        fetch(web.port, HELLO)
        assert web.count(HELLO) == 2


def test_open_connections_and_requests_under_way_are_counted_by_host():
    held = FakeResponse(raw=b"x", hold=True)
    with FakeWeb(MadeSite({"http://a.test/": held, "http://b.test/": held, "http://c.test/": "c"})) as web:
        with contextlib.ExitStack() as stack:
            for url in ("http://a.test/", "http://a.test/", "http://b.test/", "http://c.test/", "http://c.test/"):
                connection = stack.enter_context(socket.create_connection(("127.0.0.1", web.port), timeout=300))
                connection.sendall(request_for(url))
                assert connection.recv(1) in (b"x", b"H")
            assert +web.n_open == {"a.test": 2, "b.test": 1, "c.test": 2}
            assert +web.n_in_flight == {"a.test": 2, "b.test": 1}
        assert fetch(web.port, "http://c.test/")[0] == 200
    assert web.max_open_per_host == {"a.test": 2, "b.test": 1, "c.test": 2}
    assert web.max_in_flight_per_host == {"a.test": 2, "b.test": 1, "c.test": 1}
    assert not +web.n_open
    assert not +web.n_in_flight


def test_connections_one_after_the_other_count_as_one():
    with FakeWeb(one_page("hello")) as web:
        for _ in range(50):
            fetch(web.port, HELLO)
        assert web.max_open_per_host == {"a.test": 1}


def test_a_connection_counts_for_the_host_of_its_latest_request():
    with FakeWeb(MadeSite({})) as web:
        exchange(web.port, b"".join(request_for(f"http://{host}.test/") for host in "abab"), timeout_s=0.5)
        assert web.max_open_per_host == {"a.test": 1, "b.test": 1}


def test_a_delay_comes_before_the_answer():
    with FakeWeb(one_page(FakeResponse("hello", delay_s=0.5))) as web:
        assert exchange(web.port, request_for(HELLO), first_timeout_s=0.01).data == b""
        assert fetch(web.port, HELLO)[2] == b"hello"


def test_an_answer_can_be_held_until_it_is_released():
    released = threading.Event()
    with FakeWeb(one_page(FakeResponse("hello", held_until=released))) as web:
        assert exchange(web.port, request_for(HELLO), first_timeout_s=0.1).end == "silence"
        released.set()
        assert fetch(web.port, HELLO)[2] == b"hello"


def test_a_slow_body_drips_behind_its_headers():
    with FakeWeb(one_page(FakeResponse("hello" * 100, bytes_per_s=0.01))) as web:
        received = exchange(web.port, request_for(HELLO), timeout_s=0.5)
        assert received.data.endswith(b"\r\n\r\nh")
        assert received.end == "silence"
    with FakeWeb(one_page(FakeResponse("hello" * 10, bytes_per_s=1000))) as web:
        assert fetch(web.port, HELLO)[2] == b"hello" * 10


def test_slow_headers_drip_too():
    with FakeWeb(one_page(FakeResponse("hello", bytes_per_s=0.01, drips_head=True))) as web:
        assert exchange(web.port, request_for(HELLO), timeout_s=0.5).data == b"H"


def test_a_body_can_be_cut():
    with FakeWeb(one_page(FakeResponse("hello", cut_after=3))) as web:
        received = exchange(web.port, request_for(HELLO))
        assert received.data.endswith(b"Content-Length: 5\r\n\r\nhel")
        assert received.end == "closed"
        with pytest.raises(http.client.IncompleteRead):
            fetch(web.port, HELLO)


def test_a_connection_can_be_reset_at_once_or_in_the_middle():
    with FakeWeb(one_page(FakeResponse(reset=True))) as web:
        received = exchange(web.port, request_for(HELLO))
        assert (received.data, received.end) == (b"", "reset")
    with FakeWeb(one_page(FakeResponse("hello", cut_after=3, reset=True))) as web:
        received = exchange(web.port, request_for(HELLO))
        assert received.data.endswith(b"\r\n\r\nhel")
        assert received.end == "reset"


def test_raw_bytes_are_sent_as_they_are():
    with FakeWeb(one_page(FakeResponse("ignored", raw=b"\0rubbish\n", status=500))) as web:
        received = exchange(web.port, request_for(HELLO))
        assert (received.data, received.end) == (b"\0rubbish\n", "closed")


def test_silence_leaves_the_connection_open():
    with FakeWeb(one_page(FakeResponse(raw=b"HTTP/1.1 200 OK\r\n", hold=True))) as web:
        received = exchange(web.port, request_for(HELLO), timeout_s=0.5)
        assert (received.data, received.end) == (b"HTTP/1.1 200 OK\r\n", "silence")


def test_an_endless_body_goes_on_until_the_client_leaves():
    with FakeWeb(one_page(FakeResponse("start", endless=b"again"))) as web:
        received = exchange(web.port, request_for(HELLO), max_bytes=5_000_000)
        assert received.end == "enough"
        assert received.body.startswith(b"startagainagain")
        assert b"Content-Length" not in received.data
        assert fetch(web.port, "http://a.test/")[0] == 404  # the server is well


def test_an_endless_body_has_a_limit():
    with FakeWeb(one_page(FakeResponse("start", endless=b"again", endless_limit=1_000_003))) as web:
        received = exchange(web.port, request_for(HELLO), max_bytes=5_000_000)
        assert received.end == "closed"
        assert received.body == b"start" + b"again" * 200_000
    with FakeWeb(one_page(FakeResponse(b"", endless=b"again", endless_limit=10, bytes_per_s=500))) as web:
        assert exchange(web.port, request_for(HELLO)).body == b"again" * 2


def test_chunks():
    text = "0123456789" * 1000
    with FakeWeb(one_page(FakeResponse(text, chunked=True))) as web:
        _, headers, body = fetch(web.port, HELLO)
        assert body == text.encode()
        assert headers["transfer-encoding"] == "chunked"
        assert "content-length" not in headers
        again = exchange(web.port, request_for(HELLO) + request_for(HELLO, more=CLOSE))
        assert again.data.count(b"\r\n0\r\n\r\n") == 2
    with FakeWeb(one_page(FakeResponse("x", chunked=True, endless=b"again"))) as web:
        received = exchange(web.port, request_for(HELLO), max_bytes=100_000)
        assert received.body.startswith(b"1\r\nx\r\n5\r\nagain\r\n5\r\nagain\r\n")


def test_gzip():
    text = "0123456789" * 1000
    with FakeWeb(one_page(FakeResponse(text, gzip=True))) as web:
        _, headers, body = fetch(web.port, HELLO)
        assert headers["content-encoding"] == "gzip"
        assert gzip.decompress(body) == text.encode()
        assert fetch(web.port, HELLO)[2] == body


def test_an_announced_end_of_the_connection():
    with FakeWeb(one_page(FakeResponse("hello", close=True))) as web:
        received = exchange(web.port, request_for(HELLO) * 2)
        assert b"Connection: close" in received.data
        assert received.data.count(b"hello") == 1
        assert received.end in ("closed", "reset")


@pytest.mark.parametrize("status", [204, 304])
def test_answers_without_a_body(status):
    with FakeWeb(one_page(FakeResponse("ignored", status))) as web:
        received = exchange(web.port, request_for(HELLO) + request_for(HELLO, more=CLOSE))
        assert received.data.count(f"HTTP/1.1 {status} ".encode()) == 2
        assert b"ignored" not in received.data
        assert b"Content-Length" not in received.data


def test_status_headers_and_type():
    pages = {
        HELLO: redirect_to("/ä", 308),
        "http://a.test/t": FakeResponse("x", 999, (("X-A", "1"), ("X-A", "2")), None),
    }
    with FakeWeb(MadeSite(pages)) as web:
        data = exchange(web.port, request_for(HELLO, more=CLOSE)).data
        assert data.startswith(b"HTTP/1.1 308 Permanent Redirect\r\n")
        assert "\r\nLocation: /ä\r\n".encode() in data
        data = exchange(web.port, request_for("http://a.test/t", more=CLOSE)).data
        assert data == b"HTTP/1.1 999 Strange\r\nContent-Length: 1\r\nX-A: 1\r\nX-A: 2\r\n\r\nx"


def test_functions_see_the_request_and_robots_are_texts():
    def echo(host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        return FakeResponse(f"{host} {target} {headers.get('X-Question')} {headers.get('x-none', '-')}")

    site = MadeSite({HELLO: echo}, robots={"a.test": "User-agent: *\n", "*": b"# all others\n"})
    with FakeWeb(site) as web:
        received = exchange(web.port, request_for(HELLO, more="x-question:  why?\r\n" + CLOSE))
        assert received.body == b"a.test /hello why? -"
        status, headers, body = fetch(web.port, "http://a.test/robots.txt")
        assert (status, headers["content-type"], body) == (200, "text/plain", b"User-agent: *\n")
        assert fetch(web.port, "http://b.test/robots.txt")[2] == b"# all others\n"
    with FakeWeb(MadeSite({}, robots={"b.test": "x"})) as web:
        assert fetch(web.port, "http://a.test/robots.txt")[0] == 404


def test_an_error_in_the_site_answers_500_and_is_raised_at_the_end():
    def fails(*_: object) -> FakeResponse:
        raise ValueError("a bug in the test's own site")

    with pytest.raises(ValueError, match="a bug in the test's own site"), FakeWeb(MadeSite({HELLO: fails})) as web:
        assert fetch(web.port, HELLO)[0] == 500
        assert fetch(web.port, "http://a.test/")[0] == 404


def test_the_end_closes_open_connections():
    web = FakeWeb(MadeSite({HELLO: "hello", "http://a.test/hold": FakeResponse(raw=b"x", hold=True)}))
    with web:
        idle = socket.create_connection(("127.0.0.1", web.port), timeout=300)
        slow = socket.create_connection(("127.0.0.1", web.port), timeout=300)
        slow.sendall(request_for(HELLO))
        held = socket.create_connection(("127.0.0.1", web.port), timeout=300)
        held.sendall(request_for("http://a.test/hold"))
        assert slow.recv(1 << 16).endswith(b"hello")
        assert held.recv(1 << 16) == b"x"
    for connection in (idle, slow, held):
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b""
        connection.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", web.port), timeout=300)


def test_a_port_that_is_taken_or_none():
    with FakeWeb(MadeSite({})) as web, pytest.raises(InputError, match=f"cannot listen on port {web.port}"):
        FakeWeb(MadeSite({}), web.port).__enter__()
    with pytest.raises(InputError, match="cannot listen on port 70000"):
        FakeWeb(MadeSite({}), 70000).__enter__()


@pytest.mark.parametrize(
    "wrong",
    [{"delay_s": -1}, {"bytes_per_s": 0}, {"cut_after": -1}, {"endless_limit": 1 << 40}],
)
def test_answers_that_make_no_sense(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        FakeResponse("x", **wrong)


def test_places_of_urls():
    assert host_and_target("HTTP://A.Test:80/b/../c?d#e") == ("a.test", "/c?d")
    with pytest.raises(InputError, match="not a URL that can be fetched"):
        host_and_target("mailto:a@b.test")
