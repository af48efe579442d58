"""Fixtures for tests of fetching."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import trustme

from orienteer.fetch.libcurl import LibcurlFetcher
from orienteer.fetch.settings import FetchSettings
from orienteer.responses.response import PageRequest, Request, Response
from tests.fetch.servers import Script, ScriptedServer


def loopback(**settings) -> FetchSettings:
    """Settings for servers on loopback, by default with long timeouts."""
    return FetchSettings(**{"allow_private": True, "timeout_s": 300, "connect_timeout_s": 300, **settings})


def fetched(fetcher: LibcurlFetcher, *requests: Request | str) -> list[Response]:
    """Return the responses in the order of the requests; a str is a URL."""
    asked = [request if isinstance(request, Request) else PageRequest(request, 0) for request in requests]
    for request in asked:
        fetcher.start(request)
    found: dict[Request, Response] = {}
    while fetcher.n_in_flight:
        for result in fetcher.poll(10):
            assert result.request not in found
            found[result.request] = result
    assert found.keys() == set(asked)
    return [found[request] for request in asked]


@pytest.fixture
def fetch() -> Callable[..., Response]:
    """Fetch the response that a script sends."""

    def one(script: Script, request: Request | None = None, **settings) -> Response:
        with ScriptedServer(script) as server, LibcurlFetcher(loopback(**settings)) as fetcher:
            request = request or PageRequest("/", 0)
            request.url = server.url.rstrip("/") + request.url
            return fetched(fetcher, request)[0]

    return one


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    """A test certificate authority."""
    return trustme.CA()


@pytest.fixture(scope="session")
def ca_file(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("authority") / "ca.pem"
    authority.cert_pem.write_to_path(path)
    return str(path)
