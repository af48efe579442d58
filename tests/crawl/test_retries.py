"""Failed requests in virtual time: hosts that limit requests, and pages that are always refused."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.crawl.politeness import Failure, HostHealth, Politeness, RetrySettings
from orienteer.crawl.retries import Retries
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.policies import make_policy
from orienteer.policies.policy import TrustedPages
from tests.tables import over_rows

LATENCY_S = 0.1
DELAY_S = 1.0
HOME = 0
Server = Callable[[int, float], Outcome]  # what comes of a request for a page at some time


@dataclass
class Host:
    """One host in virtual time: a home page that links to `n_pages` others, crawled breadth-first."""

    n_pages: int
    server: Server
    workers: int = 1
    retry_after_s: float | None = None
    is_shared: bool = False
    asked: list[tuple[float, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        trusted = TrustedPages(np.array([HOME], np.uint32), np.ones(1))
        politeness = Politeness(delay_s=DELAY_S, connections=self.workers)
        self.crawl = Crawl(make_policy("breadth-first"), trusted, Goal(), politeness, [0])
        self.health = HostHealth(RetrySettings())
        self.retries = Retries(self.crawl, self.health, lambda _: self.is_shared)

    def run(self) -> float:
        """Crawl to the end; how long it took."""
        now = 0.0
        in_flight: list[tuple[float, int]] = []
        while self.crawl.stopped_because is None:
            self.retries.requeue(now)
            self._ask(now, in_flight)
            times = [self.retries.next_time(), self.crawl.frontier.next_time(), in_flight[0][0] if in_flight else None]
            due = [time for time in times if time is not None]
            if self.crawl.stopped_because is None:
                now = max(now, min(due))
            while in_flight and in_flight[0][0] <= now:
                self._take_in(heapq.heappop(in_flight)[1], now)
        return now

    def _ask(self, now: float, in_flight: list[tuple[float, int]]) -> None:
        while len(in_flight) < self.workers and (page := self.crawl.next(now)) is not None:
            if self.health.is_abandoned(0):
                self.crawl.blocked(page, now, was_requested=False)
                continue
            if self.is_shared and (rest_s := self.health.back_off_left_s(0, now)) > 0:
                self.retries.wait(page, now, rest_s)
                continue
            self.asked.append((now, page))
            heapq.heappush(in_flight, (now + LATENCY_S, page))

    def _take_in(self, page: int, now: float) -> None:
        outcome = self.server(page, now)
        if outcome is Outcome.OK:
            self.health.record_success(0)
            self.retries.forget(page, 0)
            links = range(1, self.n_pages + 1) if page == HOME else ()
            return self.crawl.fetched(page, list(links), now, [0] * len(links))
        got_response = outcome in (Outcome.SLOW_DOWN, Outcome.SERVER_ERROR)
        failure = Failure(outcome, "", self.retry_after_s, got_response)
        rest_s = self.retries.record_failure(0, page, failure, now) or 0.0
        if self.retries.was_last_attempt(page, 0, outcome):
            self.crawl.blocked(page, now)
            return self.retries.back_off(0, now, rest_s)
        self.retries.requeue_later(page, 0, outcome, now, rest_s, self.retry_after_s)
        return None

    @property
    def order(self) -> list[int]:
        return [page for _, page in self.asked]

    def n_in_state(self, state: PageState) -> int:
        return int(np.count_nonzero(self.crawl.states() == state))


def refusing(*pages: int) -> Server:
    return lambda page, now: Outcome.SLOW_DOWN if page in pages else Outcome.OK


def broken_between(start_s: float, end_s: float, outcome: Outcome) -> Server:
    return lambda page, now: outcome if start_s <= now < end_s else Outcome.OK


@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("workers", [1, 4])
def test_a_page_that_is_always_refused_costs_four_requests(workers: int, is_shared: bool) -> None:
    """The other pages come in between, in the usual order, and within seconds of when they would have come."""
    n_pages = 45
    plain, host = Host(n_pages, refusing(), workers), Host(n_pages, refusing(1), workers, is_shared=is_shared)
    plain.run()
    took_s = host.run()
    assert Counter(host.order)[1] == 4
    others = [page for page in host.order if page != 1]
    assert (sorted(others) if is_shared or workers > 1 else others) == [page for page in plain.order if page != 1]
    assert (host.n_in_state(PageState.FETCHED), host.n_in_state(PageState.BLOCKED)) == (n_pages, 1)
    assert host.health.n_abandoned == 0
    rests_s = 4 * RetrySettings().back_off_s
    assert max(now for now, page in host.asked if page != 1) <= plain.asked[-1][0] + rests_s + workers * DELAY_S
    assert took_s <= plain.asked[-1][0] + 60.0


@given(st.sets(st.integers(1, 30), max_size=12), st.integers(1, 4), st.booleans())
def test_pages_that_are_refused_never_cost_the_others_their_host(bad: set[int], workers: int, is_shared: bool) -> None:
    host = Host(60, refusing(*bad), workers, is_shared=is_shared)
    host.run()
    assert host.health.n_abandoned == 0 or len(bad) >= RetrySettings().give_up_after
    if not host.health.n_abandoned:
        assert host.n_in_state(PageState.FETCHED) == 61 - len(bad)
    assert max(Counter(host.order).values()) <= RetrySettings().give_up_after + 1


def test_after_a_refusal_another_page_is_tried_first() -> None:
    """Also where the host answers nothing: no page is tried twice before each was tried once."""
    host = Host(6, lambda page, now: Outcome.OK if page == HOME else Outcome.SLOW_DOWN)
    host.run()
    assert host.order[:7] == [HOME, 1, 2, 3, 4, 5, 6]
    assert host.health.n_abandoned == 0, "it has too few pages to judge it by"
    assert host.n_in_state(PageState.BLOCKED) == 6


@pytest.mark.parametrize("workers", [1, 4])
def test_a_host_that_refuses_everything_is_abandoned_after_eight_pages(workers: int) -> None:
    host = Host(500, lambda page, now: Outcome.OK if page == HOME else Outcome.SLOW_DOWN, workers)
    took_s = host.run()
    assert host.health.is_abandoned(0)
    assert 250.0 <= took_s <= 600.0 or workers > 1
    assert len(set(host.order)) - 1 <= 8 + workers
    assert host.n_in_state(PageState.BLOCKED) == 500


def test_a_host_with_one_page_is_asked_for_as_long_as_before() -> None:
    """Eight times, over four minutes: without another page it is unknown whether the host or the page is meant."""
    host = Host(0, refusing(HOME))
    took_s = host.run()
    assert (len(host.asked), host.n_in_state(PageState.BLOCKED)) == (8, 1)
    assert 240.0 <= took_s <= 300.0


@over_rows("outcome", [Outcome.SLOW_DOWN, Outcome.NO_CONNECTION, Outcome.SERVER_ERROR])
@over_rows("is_shared", [False, True])
def test_no_page_is_lost_to_an_outage_of_two_minutes(outcome: Outcome, is_shared: bool) -> None:
    host = Host(40, broken_between(10.0, 130.0 if outcome is not Outcome.SERVER_ERROR else 14.0, outcome),
                is_shared=is_shared)  # fmt: skip
    host.run()
    assert host.n_in_state(PageState.FETCHED) == 41


def test_retry_after_holds_for_the_host_until_another_page_answers() -> None:
    """Then for the page alone: it does not hold up the others again."""
    host = Host(20, refusing(1), retry_after_s=600.0)
    host.run()
    times = {page: [now for now, other in host.asked if other == page] for page in range(21)}
    refused = times[1]
    assert times[2][0] - refused[0] >= 600.0
    assert [later - now >= 600.0 for now, later in itertools.pairwise(refused)] == [True] * 3
    assert max(times[page][-1] for page in range(2, 21)) <= times[2][0] + 20 * (DELAY_S + LATENCY_S) + 4.0


def test_a_retry_after_of_a_year_is_cut() -> None:
    host = Host(2, refusing(1), retry_after_s=3e7)
    assert host.run() <= 5 * RetrySettings().max_retry_after_s
