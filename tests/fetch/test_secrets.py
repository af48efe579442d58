"""Secrets go with one request to one origin, and are forgotten with it."""

from __future__ import annotations

import pytest

from orienteer.answers.answer import Request
from orienteer.answers.secrets import Secrets, origin_of
from orienteer.fetch.libcurl import LibcurlFetcher
from orienteer.pages.outcome import Outcome
from tests.access.servers import Recorder, Reply
from tests.fetch.conftest import fetched, loopback
from tests.fetch.servers import ScriptedServer, answer

HUSH = "hush-hush-1234"


def secrets(origin: str, **more) -> Secrets:
    return Secrets(origin, (("Authorization", f"Bearer {HUSH}"), ("Cookie", f"sid={HUSH}")), **more)


def test_the_next_request_knows_nothing_of_them() -> None:
    """Neither its headers nor its method, though one handle after the other is used by turns."""
    with Recorder(lambda asked: Reply("<p>hi")) as web, LibcurlFetcher(loopback(timeout_s=60)) as fetcher:
        plain = Request(f"http://{web.address}/", 0)
        told = plain._replace(secrets=secrets(f"http://{web.address}", form=b"password=" + HUSH.encode()))
        for request in (plain, told, plain, told, plain):
            assert fetched(fetcher, request)[0].outcome is Outcome.OK
    assert [one.method for one in web.asked] == ["GET", "POST", "GET", "POST", "GET"]
    assert [HUSH in f"{one.headers}{one.body!r}" for one in web.asked] == [False, True, False, True, False]


@pytest.mark.parametrize("other", ["http://127.0.0.1", "https://127.0.0.1:{port}", "http://localhost:{port}"])
def test_they_go_to_no_other_origin(other: str) -> None:
    with ScriptedServer(answer(b"<p>hi")) as server, LibcurlFetcher(loopback()) as fetcher:
        request = Request(server.url, 0, secrets=secrets(other.format(port=server.port)))
        result = fetched(fetcher, request)[0]
    assert result.outcome is Outcome.NO_ADDRESS
    assert server.requests == []
    assert HUSH not in f"{result!r}"


def test_their_headers_take_the_place_of_ours() -> None:
    with ScriptedServer(answer(b"<p>hi")) as server, LibcurlFetcher(loopback()) as fetcher:
        more = Secrets(origin_of(server.url), (("Accept", "text/plain"), ("User-Agent", "me")))
        fetched(fetcher, Request(server.url, 0, secrets=more))
    head = server.requests[0].lower()
    assert (head.count(b"\r\naccept: "), head.count(b"\r\nuser-agent: ")) == (1, 1)
    assert b"\r\naccept: text/plain\r\n" in head
    assert b"\r\nuser-agent: me\r\n" in head
