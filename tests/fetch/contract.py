"""What every fetcher promises (see orienteer/fetch/fetcher.py). A test class derives from this one for each of them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import pytest

from orienteer.answers.answer import Fetched, Request
from orienteer.answers.meaning import Verdict, meaning_of
from orienteer.fetch.fetcher import Fetcher
from orienteer.pages.outcome import Outcome

HOME, GONE, MOVED, PICTURE = (f"http://contract.test/{name}" for name in ("", "gone", "moved", "picture"))


class Kept(NamedTuple):
    """An answer that the web, or whatever stands for it, has for a URL."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html"),)


PAGES: dict[str, Kept] = {
    HOME: Kept(200, b"<title>Home</title><a href=gone>gone</a>"),
    GONE: Kept(404, b"no"),
    MOVED: Kept(301, b"", (("Location", "/"),)),
    PICTURE: Kept(200, b"\x89PNG", (("Content-Type", "image/png"),)),
    **{f"http://contract.test/{k}": Kept(200, b"page %d" % k) for k in range(200)},
}


def all_answers(fetcher: Fetcher, *requests: Request) -> list[Fetched]:
    """What came of the requests, in their order; each comes exactly once."""
    for request in requests:
        fetcher.start(request)
    found: dict[int, Fetched] = {}
    while fetcher.n_under_way:
        for answer in fetcher.poll(10.0):
            assert answer.request.page not in found, "an answer came twice"
            found[answer.request.page] = answer
    assert sorted(found) == sorted(request.page for request in requests)
    return [found[request.page] for request in requests]


class FetcherContract(ABC):
    @abstractmethod
    def opened(self, pages: Mapping[str, Kept], folder: Path) -> AbstractContextManager[Fetcher]:
        """A fetcher that has these answers; `folder` is empty. Closed in the end."""

    @pytest.fixture
    def fetcher(self, tmp_path: Path):
        with self.opened(PAGES, tmp_path) as fetcher:
            yield fetcher

    def test_it_is_a_fetcher(self, fetcher: Fetcher) -> None:
        assert isinstance(fetcher, Fetcher)
        assert isinstance(fetcher.asks_web, bool)

    def test_nothing_is_under_way_at_first(self, fetcher: Fetcher) -> None:
        assert fetcher.n_under_way == 0
        assert fetcher.poll(0.0) == []

    def test_an_answer_comes_once_with_its_request(self, fetcher: Fetcher) -> None:
        request = Request(HOME, 7)
        fetcher.start(request)
        assert fetcher.n_under_way == 1
        answers: list[Fetched] = []
        while fetcher.n_under_way:
            answers += fetcher.poll(10.0)
        (answer,) = answers
        assert answer.request == request
        assert (answer.outcome, answer.status, answer.content) == (Outcome.OK, 200, PAGES[HOME].body)
        assert answer.content_type == "text/html"
        assert fetcher.poll(0.0) == []

    def test_what_comes_can_be_read(self, fetcher: Fetcher) -> None:
        (answer,) = all_answers(fetcher, Request(HOME, 0))
        page = meaning_of(answer).page
        assert page is not None
        assert (page.title, page.links) == ("Home", [GONE])

    def test_a_redirect_is_not_followed(self, fetcher: Fetcher) -> None:
        (answer,) = all_answers(fetcher, Request(MOVED, 0))
        assert (answer.outcome, answer.status, answer.location) == (Outcome.REDIRECT, 301, HOME)

    def test_what_is_not_wanted_is_skipped(self, fetcher: Fetcher) -> None:
        page, picture = all_answers(fetcher, Request(GONE, 0), Request(PICTURE, 1))
        assert meaning_of(page).verdict is Verdict.FAILED
        assert meaning_of(picture).verdict is Verdict.SKIPPED

    def test_many_at_once(self, fetcher: Fetcher) -> None:
        requests = [Request(f"http://contract.test/{k}", k) for k in range(200)]
        answers = all_answers(fetcher, *requests)
        assert [answer.content for answer in answers] == [b"page %d" % k for k in range(200)]

    @pytest.mark.parametrize(
        "url", ["http://contract.test/never-heard-of", "http://[bad", "mailto:a@b.example", "", "http://\x00/", "ü"]
    )
    def test_no_url_makes_it_raise(self, fetcher: Fetcher, url: str) -> None:
        (answer,) = all_answers(fetcher, Request(url, 0))
        assert meaning_of(answer).verdict in (Verdict.FAILED, Verdict.BLOCKED, Verdict.TRY_AGAIN)
        (after,) = all_answers(fetcher, Request(HOME, 1))
        assert after.outcome is Outcome.OK

    def test_what_is_cancelled_comes_back_at_once(self, fetcher: Fetcher) -> None:
        for k in range(20):
            fetcher.start(Request(f"http://contract.test/{k}", k))
        fetcher.cancel()
        answers: list[Fetched] = []
        while fetcher.n_under_way:
            answers += fetcher.poll(0.0)
        assert sorted(answer.request.page for answer in answers) == list(range(20))
        assert {answer.outcome for answer in answers} <= {Outcome.CANCELLED, Outcome.OK}
        (after,) = all_answers(fetcher, Request(HOME, 1))
        assert after.outcome is Outcome.OK

    def test_times_are_told(self, fetcher: Fetcher) -> None:
        (answer,) = all_answers(fetcher, Request(HOME, 0))
        assert 0 < answer.started_at <= time.time() + 1

    def test_it_may_be_closed_twice_and_with_fetches_under_way(self, fetcher: Fetcher) -> None:
        fetcher.start(Request(HOME, 0))
        fetcher.close()
        fetcher.close()
