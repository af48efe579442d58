"""Which requests are served, and the security headers of every response."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from orienteer.web.security import MAX_TARGET_BYTES, MAX_WRONG
from tests.web.live_server import client_of, served

TOKEN = "open sesame/ü"


def raw_status(address: str, request: bytes) -> int:
    """Return the status of the response to these bytes."""
    host, _, port = address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=300) as connection:
        connection.sendall(request)
        with http.client.HTTPResponse(connection) as response:
            response.begin()
            return response.status


def get(target: str, host: str = "localhost", **headers: str) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"GET {target} HTTP/1.1\r\nHost: {host}\r\n{lines}Connection: close\r\n\r\n".encode()


@pytest.mark.parametrize(
    "target", ["/", "/?q=sea", "/nothing", "/api/search?q=sea", "/api/nothing", "/static/style.css"]
)
def test_every_answer_has_the_headers(client: httpx.Client, target: str) -> None:
    headers = client.get(target).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == ("no-cache" if target.startswith("/static") else "no-store")
    assert "server" not in headers


def test_pages_hold_no_script_and_no_style_of_their_own(client: httpx.Client) -> None:
    for target in ("/", "/?q=sea", "/page?url=http://www.harbour.test/"):
        text = client.get(target).text
        assert "<style" not in text
        assert " style=" not in text
        assert text.count("<script") == text.count('<script src="/static/')
        assert " onclick" not in text
        assert "//cdn" not in text


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8765", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:80", "LOCALHOST"]
)
def test_names_of_this_machine_are_answered(address: str, host: str) -> None:
    assert raw_status(address, get("/", host)) == 200


@pytest.mark.parametrize(
    "host", ["evil.test", "evil.test:8765", "localhost.evil.test", "127.0.0.1.evil.test", "", "192.168.1.5", "[::2]"]
)
def test_other_names_are_not(address: str, host: str) -> None:
    assert raw_status(address, get("/api/search?q=sea", host)) == 421


@pytest.mark.parametrize(
    "target",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static/....//app.py",
        "/static/%2e%2e%5capp.py",
        "/static//etc/passwd",
        "/static/%00",
        "/static/vendor/../../../security.py",
        "/static/",
        "/../../etc/passwd",
        "//evil.test/",
        "/%ff",
    ],
)
def test_no_path_leads_out(address: str, target: str) -> None:
    assert raw_status(address, get(target)) == 404


def test_long_addresses_and_bodies_are_refused(address: str, client: httpx.Client) -> None:
    assert raw_status(address, get("/?q=" + "x" * MAX_TARGET_BYTES)) == 414
    assert raw_status(address, get("/" + "x" * MAX_TARGET_BYTES)) == 414
    assert client.post("/", content=b"x" * 100_000).status_code == 413
    assert 400 <= raw_status(address, get("/", X="y" * 200_000)) < 500
    assert raw_status(address, b"NONSENSE\r\n\r\n") == 400


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 405),  # not a browser
        ({"Origin": "ADDRESS"}, 405),
        ({"Sec-Fetch-Site": "same-origin"}, 405),
        ({"Origin": "http://evil.test"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
    ],
)
def test_only_these_pages_can_change_something(
    client: httpx.Client, address: str, headers: dict[str, str], status: int
) -> None:
    sent = {name: value.replace("ADDRESS", address) for name, value in headers.items()}
    assert client.post("/", headers=sent).status_code == status
    assert client.post("/api/search", headers=sent).status_code == status
    assert client.get("/", headers=sent).status_code == 200


@pytest.fixture(scope="module")
def guarded(small_crawl: Path) -> Iterator[httpx.Client]:
    """Pages that others can reach, behind a token."""
    with (
        served(small_crawl, token=TOKEN, only_this_machine=False) as address,
        client_of(address) as client,
    ):
        yield client


@pytest.fixture(autouse=True)
def no_cookies(request: pytest.FixtureRequest) -> None:
    if "guarded" in request.fixturenames:
        request.getfixturevalue("guarded").cookies.clear()


@pytest.mark.parametrize("token", ["", "x", "open sesame", TOKEN + "x", "\x00"])
def test_without_the_token_nothing_is_served(guarded: httpx.Client, token: str) -> None:
    for target in ("/", "/page", "/api/search", "/api/openapi.json", "/nothing"):
        response = guarded.get(target, params={"q": "sea", "url": "http://www.harbour.test/", "token": token})
        assert response.status_code == 401
        assert "harbour.test" not in response.text
        assert "content-security-policy" in response.headers
    assert guarded.get("/api/search?q=sea", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert 'name="token"' in guarded.get("/").text
    assert guarded.get("/static/style.css").status_code == 200


def test_the_token_is_replaced_by_a_cookie(guarded: httpx.Client) -> None:
    response = guarded.get("/", params={"token": TOKEN, "q": "sea & more"})
    assert response.status_code == 303
    assert response.headers["location"] == "/?q=sea+%26+more"
    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "sesame" not in cookie
    assert guarded.get("/?q=sea").status_code == 200
    assert guarded.get("/api/search?q=sea").status_code == 200


def test_a_way_in_leads_nowhere_else(guarded: httpx.Client) -> None:
    response = guarded.get(httpx.URL(str(guarded.base_url) + "//evil.test/", params={"token": TOKEN}))
    assert response.headers["location"] == "/evil.test/"


def test_programs_show_the_token_in_a_header(guarded: httpx.Client) -> None:
    assert guarded.get("/api/search?q=sea", headers={"Authorization": b"Bearer " + TOKEN.encode()}).status_code == 200


def test_behind_a_token_the_machine_may_have_any_name(guarded: httpx.Client) -> None:
    assert guarded.get("/", headers={"Host": "machine.example"}).status_code == 401


@pytest.mark.parametrize("target", ["/", "/crawl", "/?q=sea", "/map"])
def test_pages_answer_head_without_a_page(client: httpx.Client, target: str) -> None:
    response = client.head(target)
    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-type"] == client.get(target).headers["content-type"]
    response = client.head("/api/crawl/events")
    assert (response.status_code, response.headers["allow"]) == (405, "GET"), "it would never end"


def test_guessing_tokens_is_limited_and_locks_out_no_one(small_crawl: Path) -> None:
    """Not even clients with the same address, such as all that are behind one proxy."""
    with served(small_crawl, token=TOKEN, only_this_machine=False) as address, client_of(address) as client:
        client.get("/", params={"token": TOKEN})  # one who was here before, and has the cookie
        with client_of(address) as client2:
            for _ in range(2 * MAX_WRONG):
                assert client2.get("/", params={"token": "the same old link"}).status_code == 401
            for guess in range(MAX_WRONG - 1):
                assert client2.get("/", params={"token": f"guess {guess}"}).status_code == 401
            for wrong in ({"params": {"token": "one more"}}, {"headers": {"Authorization": "Bearer one more"}}):
                response = client2.get("/", **wrong)
                assert response.status_code == 429
                assert 0 < int(response.headers["retry-after"]) <= 60
            assert client2.get("/").status_code == 401, "no token is no guess"
            for _ in range(3):
                assert client2.get("/", headers={"Authorization": b"Bearer " + TOKEN.encode()}).status_code == 200
            with client_of(address) as other:
                assert other.get("/", params={"token": TOKEN}).status_code == 303
                assert other.get("/").status_code == 200
        assert client.get("/").status_code == 200


def test_a_body_of_unknown_length_is_not_read_for_ever(address: str) -> None:
    """The server responds and closes the connection long before an endless body is sent."""
    host, _, port = address.removeprefix("http://").partition(":")
    for method, path in (("POST", "/api/crawl/stop"), ("POST", "/"), ("GET", "/")):
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            connection.sendall(head.encode())
            n_sent = 0
            try:
                while n_sent < 64 << 20:
                    connection.sendall(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
                    n_sent += 65_536
            except OSError:
                pass
            assert n_sent < 64 << 20
        small = f"{head}5\r\nhello\r\n0\r\n\r\n".replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)
        assert raw_status(address, small.encode()) != 413


def test_a_chunked_body_that_is_too_large_is_refused(address: str) -> None:
    head = b"POST /api/crawl/stop HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert raw_status(address, head + b"10001\r\n" + b"x" * 65_537 + b"\r\n0\r\n\r\n") == 413
