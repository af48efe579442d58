"""Secrets are sent with one request to one origin, and not with the next request."""

from __future__ import annotations

import pytest

from orienteer.fetch.libcurl import LibcurlFetcher
from orienteer.pages.outcome import Outcome
from orienteer.responses.response import PageRequest
from orienteer.responses.secrets import Secrets, origin_of
from tests.credentials.servers import Recorder, Reply
from tests.fetch.conftest import fetched, loopback
from tests.fetch.servers import ScriptedServer, response

SECRET = "hush-hush-1234"


def secrets(origin: str, **more) -> Secrets:
    return Secrets(origin, (("Authorization", f"Bearer {SECRET}"), ("Cookie", f"sid={SECRET}")), **more)


def test_secrets_are_not_sent_with_the_next_request() -> None:
    """Neither headers nor method are reused, though handles are."""
    with Recorder(lambda asked: Reply("<p>hi")) as web, LibcurlFetcher(loopback(timeout_s=60)) as fetcher:
        with_form = secrets(f"http://{web.address}", form=b"password=" + SECRET.encode())
        plain, with_secrets = (PageRequest(f"http://{web.address}/", 0, secrets=one) for one in (None, with_form))
        for request in (plain, with_secrets, plain, with_secrets, plain):
            assert fetched(fetcher, request)[0].outcome is Outcome.OK
    assert [one.method for one in web.asked] == ["GET", "POST", "GET", "POST", "GET"]
    assert [SECRET in f"{one.headers}{one.body!r}" for one in web.asked] == [False, True, False, True, False]


@pytest.mark.parametrize("other", ["http://127.0.0.1", "https://127.0.0.1:{port}", "http://localhost:{port}"])
def test_secrets_are_not_sent_to_other_origins(other: str) -> None:
    with ScriptedServer(response(b"<p>hi")) as server, LibcurlFetcher(loopback()) as fetcher:
        request = PageRequest(server.url, 0, secrets=secrets(other.format(port=server.port)))
        result = fetched(fetcher, request)[0]
    assert result.outcome is Outcome.NO_ADDRESS
    assert server.requests == []
    assert SECRET not in f"{result!r}"


def test_headers_of_secrets_replace_the_defaults() -> None:
    with ScriptedServer(response(b"<p>hi")) as server, LibcurlFetcher(loopback()) as fetcher:
        more = Secrets(origin_of(server.url), (("Accept", "text/plain"), ("User-Agent", "me")))
        fetched(fetcher, PageRequest(server.url, 0, secrets=more))
    head = server.requests[0].lower()
    assert (head.count(b"\r\naccept: "), head.count(b"\r\nuser-agent: ")) == (1, 1)
    assert b"\r\naccept: text/plain\r\n" in head
    assert b"\r\nuser-agent: me\r\n" in head
