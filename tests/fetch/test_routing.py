"""Routing of connections: names, forbidden addresses, proxies, and `connect_to`."""

from __future__ import annotations

import contextlib
import socket
import threading

import pycurl
import pytest

from orienteer.fetch import transfer
from orienteer.fetch.libcurl import LibcurlFetcher
from orienteer.fetch.settings import FetchSettings
from orienteer.pages.outcome import Outcome
from tests.fetch.conftest import fetched, loopback
from tests.fetch.servers import ScriptedServer, response
from tests.tables import over_rows

PAGE = response(b"secret", "200 OK", "Connection: close")


@over_rows(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "2130706433",
        "017700000001",
        "%31%32%37.0.0.1",
        "127.0.0.1.",
        "0.0.0.0",
        "localhost",
        "LOCALHOST",
        "a.localhost",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[0:0:0:0:0:ffff:7f00:1]",
    ],
)
def test_all_names_of_loopback_are_forbidden(host):
    family = socket.AF_INET6 if host in ("[::1]", "[::]") else socket.AF_INET
    with ScriptedServer(PAGE, family=family) as server, LibcurlFetcher(FetchSettings(timeout_s=300)) as fetcher:
        result = fetched(fetcher, f"http://{host}:{server.port}/")[0]
    assert (result.outcome, result.status, result.address) == (Outcome.FORBIDDEN_ADDRESS, 0, "")
    assert result.detail.endswith((" is loopback", " is unspecified"))
    assert server.requests == []


@over_rows("host", ["10.0.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "[fe80::1]", "[fd00::1]"])
def test_private_networks_are_forbidden(host):
    with LibcurlFetcher(FetchSettings(timeout_s=300)) as fetcher:
        result = fetched(fetcher, f"https://{host}/")[0]
    assert result.outcome is Outcome.FORBIDDEN_ADDRESS
    assert host.strip("[]") in result.detail


def test_allowed_private_addresses_are_not_checked():
    with ScriptedServer(PAGE) as server, LibcurlFetcher(loopback()) as fetcher:
        results = fetched(fetcher, f"http://127.0.0.1:{server.port}/", f"http://localhost:{server.port}/")
    assert [result.outcome for result in results] == [Outcome.OK, Outcome.OK]


def forbid_only(address: str):
    return lambda asked: "forbidden by the test" if asked == address else None


def resolve(fetcher: LibcurlFetcher, *rules: str) -> None:
    """Set what names resolve to for the next handle."""
    fetcher._idle[-1].curl.setopt(pycurl.RESOLVE, list(rules))


def test_each_resolved_address_is_checked(monkeypatch):
    monkeypatch.setattr(transfer, "forbidden_reason", forbid_only("127.0.0.2"))
    with ScriptedServer(PAGE) as server, LibcurlFetcher(FetchSettings(timeout_s=300)) as fetcher:
        name = f"rebound.example:{server.port}"
        resolve(fetcher, f"{name}:127.0.0.1")
        first = fetched(fetcher, f"http://{name}/")[0]
        resolve(fetcher, f"-{name}", f"{name}:127.0.0.2")
        second = fetched(fetcher, f"http://{name}/")[0]
    assert (first.outcome, first.address) == (Outcome.OK, "127.0.0.1")
    assert (second.outcome, second.detail) == (Outcome.FORBIDDEN_ADDRESS, "127.0.0.2 is forbidden by the test")


def test_allowed_addresses_of_a_name_are_tried(monkeypatch):
    monkeypatch.setattr(transfer, "forbidden_reason", forbid_only("127.0.0.2"))
    with ScriptedServer(PAGE) as server, LibcurlFetcher(FetchSettings(timeout_s=300)) as fetcher:
        name = f"both.example:{server.port}"
        resolve(fetcher, f"{name}:127.0.0.2,127.0.0.1")
        result = fetched(fetcher, f"http://{name}/")[0]
    assert (result.outcome, result.address) == (Outcome.OK, "127.0.0.1")


def test_an_unreachable_allowed_address_counts_more_than_a_forbidden_one(monkeypatch):
    monkeypatch.setattr(transfer, "forbidden_reason", forbid_only("127.0.0.2"))
    with socket.socket() as unused, LibcurlFetcher(FetchSettings(timeout_s=300)) as fetcher:
        unused.bind(("127.0.0.1", 0))
        name = f"both.example:{unused.getsockname()[1]}"
        resolve(fetcher, f"{name}:127.0.0.2,127.0.0.1")
        result = fetched(fetcher, f"http://{name}/")[0]
    assert result.outcome is Outcome.NO_CONNECTION


def test_no_sockets_left_is_no_connection(monkeypatch):
    def no_socket(*_):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(transfer, "forbidden_reason", lambda address: None)
    monkeypatch.setattr(transfer, "_DuplicatedSocket", no_socket)
    with LibcurlFetcher(FetchSettings(timeout_s=300)) as fetcher:
        assert fetched(fetcher, "http://127.0.0.1:9/")[0].outcome is Outcome.NO_CONNECTION


@over_rows(
    "url",
    [
        "http://no-such-name.invalid/",
        "http://a$b.example/",
        "http://it's.example/",
        "http://a..b/",
        "http://a b/",
        f"http://{'a' * 300}.example/",
        "http://ü.example/",
        "http://\udc80/",
        "http://a\0b/",
        "http://",
        "http://[::1/",
        "http://x:99999/",
        "no url",
        "",
    ],
)
def test_a_url_without_an_address_is_an_outcome(url):
    with LibcurlFetcher(loopback()) as fetcher:
        result = fetched(fetcher, url)[0]
        assert (result.outcome, result.status, result.request.url) == (Outcome.NO_ADDRESS, 0, url)
        assert result.detail


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "file:///etc/hostname", "gopher://127.0.0.1/", "ws://127.0.0.1/"])
def test_only_the_web_is_fetched(url):
    with LibcurlFetcher(loopback()) as fetcher:
        result = fetched(fetcher, url)[0]
    assert (result.outcome, result.body) == (Outcome.BROKEN, b"")
    assert "disabled" in result.detail or "not supported" in result.detail


def test_credentials_in_a_url_are_not_sent():
    with ScriptedServer(PAGE) as server, LibcurlFetcher(loopback()) as fetcher:
        result = fetched(fetcher, f"http://me:secret@127.0.0.1:{server.port}/")[0]
    assert result.outcome is Outcome.BROKEN
    assert server.requests == []


def test_connect_to_serves_all_hosts_on_one_port():
    with (
        ScriptedServer(PAGE) as server,
        LibcurlFetcher(FetchSettings(connect_to=f"127.0.0.1:{server.port}")) as fetcher,
    ):
        results = fetched(fetcher, "http://one.example/a", "http://two.example:8080/", "http://10.0.0.1/")
    assert [result.outcome for result in results] == [Outcome.OK] * 3
    hosts = {request.split(b"\r\n")[1] for request in server.requests}
    assert hosts == {b"Host: one.example", b"Host: two.example:8080", b"Host: 10.0.0.1"}


def test_a_proxy_is_asked_for_the_whole_url():
    with (
        ScriptedServer(PAGE) as proxy,
        LibcurlFetcher(FetchSettings(proxy=f"http://127.0.0.1:{proxy.port}")) as fetcher,
    ):
        result = fetched(fetcher, "http://one.example/a")[0]
    assert (result.outcome, result.address) == (Outcome.OK, "127.0.0.1")
    assert proxy.requests[0].startswith(b"GET http://one.example/a HTTP/1.1\r\nHost: one.example\r\n")


def test_a_proxy_is_not_asked_for_literal_addresses():
    with (
        ScriptedServer(PAGE) as proxy,
        LibcurlFetcher(FetchSettings(proxy=f"http://127.0.0.1:{proxy.port}")) as fetcher,
    ):
        urls = ["http://127.0.0.1/", "http://localhost/", "http://0x7f.1/", "https://[::1]/", "http://192.168.0.1/"]
        results = fetched(fetcher, *urls)
    assert [result.outcome for result in results] == [Outcome.FORBIDDEN_ADDRESS] * 5
    assert proxy.requests == []


def test_an_unreachable_proxy_is_no_connection():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        for proxy in (f"http://127.0.0.1:{unused.getsockname()[1]}", "http://no-such-name.invalid:1"):
            with LibcurlFetcher(FetchSettings(proxy=proxy)) as fetcher:
                assert fetched(fetcher, "http://one.example/")[0].outcome is Outcome.NO_CONNECTION


def test_headers_of_the_connect_response_are_dropped():
    def tunnel(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 Connected\r\nX-Proxy: 1\r\n\r\n")
        connection.recv(1 << 16)
        connection.sendall(b"no tls here")

    with (
        ScriptedServer(tunnel) as proxy,
        LibcurlFetcher(FetchSettings(proxy=f"http://127.0.0.1:{proxy.port}")) as fetcher,
    ):
        result = fetched(fetcher, "https://one.example/")[0]
    assert proxy.requests[0].startswith(b"CONNECT one.example:443 HTTP/1.1\r\n")
    assert (result.outcome, result.status, len(result.headers)) == (Outcome.TLS_FAILED, 0, 0)


def test_proxies_in_the_environment_are_ignored(monkeypatch):
    with ScriptedServer(PAGE) as server, ScriptedServer(PAGE) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:1")
        with LibcurlFetcher(loopback()) as fetcher:
            assert fetched(fetcher, server.url)[0].outcome is Outcome.OK
        monkeypatch.setenv("no_proxy", "*")
        with LibcurlFetcher(FetchSettings(proxy=f"http://127.0.0.1:{proxy.port}")) as fetcher:
            assert fetched(fetcher, "http://one.example/")[0].outcome is Outcome.OK
    assert len(proxy.requests) == 1


def test_a_socks_proxy():
    def socks(connection: socket.socket) -> None:
        assert connection.recv(100)[:1] == b"\5"
        connection.sendall(b"\5\0")
        asked.append(connection.recv(100))
        connection.sendall(b"\5\0\0\1\0\0\0\0\0\0")
        connection.recv(1 << 16)
        connection.sendall(PAGE)

    def serve() -> None:
        connection = listener.accept()[0]
        with connection, contextlib.suppress(OSError):
            socks(connection)

    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        with LibcurlFetcher(FetchSettings(proxy=f"socks5h://127.0.0.1:{listener.getsockname()[1]}")) as fetcher:
            result = fetched(fetcher, "http://one.example/")[0]
        thread.join(10)
    assert (result.outcome, result.content) == (Outcome.OK, b"secret")
    assert b"one.example" in asked[0]
