"""The contract of fetchers (see orienteer/fetch/fetcher.py). There is a subclass for each fetcher."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import pytest

from orienteer.fetch.fetcher import Fetcher
from orienteer.pages.outcome import Outcome
from orienteer.responses.response import PageRequest, Request, Response
from orienteer.responses.verdict import VerdictKind, verdict_of

HOME, GONE, MOVED, PICTURE = (f"http://contract.test/{name}" for name in ("", "gone", "moved", "picture"))


class StoredResponse(NamedTuple):
    """The response to a URL."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html"),)


PAGES: dict[str, StoredResponse] = {
    HOME: StoredResponse(200, b"<title>Home</title><a href=gone>gone</a>"),
    GONE: StoredResponse(404, b"no"),
    MOVED: StoredResponse(301, b"", (("Location", "/"),)),
    PICTURE: StoredResponse(200, b"\x89PNG", (("Content-Type", "image/png"),)),
    **{f"http://contract.test/{k}": StoredResponse(200, b"page %d" % k) for k in range(200)},
}


def all_responses(fetcher: Fetcher, *requests: Request) -> list[Response]:
    """Return the responses in the order of the requests, exactly one for each."""
    for request in requests:
        fetcher.start(request)
    found: dict[int, Response] = {}
    while fetcher.n_in_flight:
        for response in fetcher.poll(10.0):
            assert response.request not in found, "two responses to one request"
            found[response.request] = response
    assert found.keys() == set(requests)
    return [found[request] for request in requests]


class FetcherContract(ABC):
    @abstractmethod
    def opened(self, pages: Mapping[str, StoredResponse], folder: Path) -> AbstractContextManager[Fetcher]:
        """A fetcher with these responses; `folder` is empty. It is closed at the end."""

    @pytest.fixture
    def fetcher(self, tmp_path: Path):
        with self.opened(PAGES, tmp_path) as fetcher:
            yield fetcher

    def test_it_is_a_fetcher(self, fetcher: Fetcher) -> None:
        assert isinstance(fetcher, Fetcher)
        assert isinstance(fetcher.uses_network, bool)

    def test_nothing_is_in_flight_at_first(self, fetcher: Fetcher) -> None:
        assert fetcher.n_in_flight == 0
        assert fetcher.poll(0.0) == []

    def test_a_response_is_returned_once_with_its_request(self, fetcher: Fetcher) -> None:
        request = PageRequest(HOME, 7)
        fetcher.start(request)
        assert fetcher.n_in_flight == 1
        responses: list[Response] = []
        while fetcher.n_in_flight:
            responses += fetcher.poll(10.0)
        (response,) = responses
        assert response.request is request
        assert (response.outcome, response.status, response.content) == (Outcome.OK, 200, PAGES[HOME].body)
        assert response.content_type == "text/html"
        assert fetcher.poll(0.0) == []

    def test_responses_can_be_parsed(self, fetcher: Fetcher) -> None:
        (response,) = all_responses(fetcher, PageRequest(HOME, 0))
        page = verdict_of(response).page
        assert page is not None
        assert (page.title, page.links) == ("Home", [GONE])

    def test_a_redirect_is_not_followed(self, fetcher: Fetcher) -> None:
        (response,) = all_responses(fetcher, PageRequest(MOVED, 0))
        assert (response.outcome, response.status, response.location) == (Outcome.REDIRECT, 301, HOME)

    def test_unwanted_types_are_skipped(self, fetcher: Fetcher) -> None:
        page, picture = all_responses(fetcher, PageRequest(GONE, 0), PageRequest(PICTURE, 1))
        assert verdict_of(page).kind is VerdictKind.FAILED
        assert verdict_of(picture).kind is VerdictKind.SKIPPED

    def test_many_at_once(self, fetcher: Fetcher) -> None:
        requests = [PageRequest(f"http://contract.test/{k}", k) for k in range(200)]
        responses = all_responses(fetcher, *requests)
        assert [response.content for response in responses] == [b"page %d" % k for k in range(200)]

    @pytest.mark.parametrize(
        "url", ["http://contract.test/unknown", "http://[bad", "mailto:a@b.example", "", "http://\x00/", "ü"]
    )
    def test_no_url_makes_it_raise(self, fetcher: Fetcher, url: str) -> None:
        (response,) = all_responses(fetcher, PageRequest(url, 0))
        assert verdict_of(response).kind in (VerdictKind.FAILED, VerdictKind.BLOCKED, VerdictKind.TRY_AGAIN)
        (after,) = all_responses(fetcher, PageRequest(HOME, 1))
        assert after.outcome is Outcome.OK

    def test_cancelled_requests_return_at_once(self, fetcher: Fetcher) -> None:
        for k in range(20):
            fetcher.start(PageRequest(f"http://contract.test/{k}", k))
        fetcher.cancel()
        responses: list[Response] = []
        while fetcher.n_in_flight:
            responses += fetcher.poll(0.0)
        assert sorted(response.request.page for response in responses) == list(range(20))
        assert {response.outcome for response in responses} <= {Outcome.CANCELLED, Outcome.OK}
        (after,) = all_responses(fetcher, PageRequest(HOME, 1))
        assert after.outcome is Outcome.OK

    def test_responses_have_start_times(self, fetcher: Fetcher) -> None:
        (response,) = all_responses(fetcher, PageRequest(HOME, 0))
        assert 0 < response.started_at <= time.time() + 1

    def test_it_can_be_closed_twice_and_with_fetches_in_flight(self, fetcher: Fetcher) -> None:
        fetcher.start(PageRequest(HOME, 0))
        fetcher.close()
        fetcher.close()
