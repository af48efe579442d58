"""A live crawl that waits for responses does not poll busily."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orienteer.fetch.libcurl import LibcurlFetcher
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import crawled

PAGES = {
    "http://slow.test/": FakeResponse("at last", delay_s=1.5),
    "http://fast.test/": "<a href=/1><a href=/2>",
    "http://fast.test/1": "",
    "http://fast.test/2": "",
}


@pytest.fixture
def polls(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The timeouts of all polls for responses."""
    polls: list[float] = []
    poll = LibcurlFetcher.poll

    def counted(self: LibcurlFetcher, timeout_s: float) -> Any:
        polls.append(timeout_s)
        return poll(self, timeout_s)

    monkeypatch.setattr(LibcurlFetcher, "poll", counted)
    return polls


@pytest.mark.parametrize("goal", [{"budget": 3}, {"until": 0.6, "policy": "breadth-first"}, {}])
def test_waiting_for_the_last_page_takes_few_polls(goal: dict[str, Any], tmp_path: Path, polls: list[float]) -> None:
    """Also while hosts are free, but no more pages are needed."""
    with FakeWeb(MadeSite(PAGES)) as web:
        report = crawled(
            web, ["http://slow.test/", "http://fast.test/"], tmp_path, **goal,
            settings={"politeness": {"delay_s": 0.05, "connections": 1}},
        )  # fmt: skip
    assert not report.stopped_because.is_pause
    assert len(polls) < 100
