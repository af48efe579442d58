"""The frontier against plain search, through any sequence of operations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from orienteer.crawl.frontier import LAST
from orienteer.crawl.politeness import ANY_TIME, Politeness
from tests.crawl.plain_frontier import HostedFrontier, PlainFrontier

hosts = st.integers(0, 5)
page_and_host = st.tuples(st.integers(0, 40), hosts)
priorities = st.sampled_from([-1.0, 0.0, 0.25, 0.25, 1.0, float("inf"), LAST]) | st.floats(-1e9, 1e9)
delays = st.sampled_from([0.0, 0.5, 1.0, 3.0])
politeness = st.builds(Politeness, delay_s=delays, connections=st.integers(1, 3)) | st.just(ANY_TIME)


class AnySequence(RuleBasedStateMachine):
    @initialize(politeness=politeness)
    def begin(self, politeness: Politeness) -> None:
        self.frontier, self.plain = HostedFrontier(politeness), PlainFrontier(politeness)
        self.now = 0.0

    @rule(batch=st.lists(st.tuples(page_and_host, priorities), max_size=25), as_arrays=st.booleans())
    def put(self, batch: list[tuple[tuple[int, int], float]], as_arrays: bool) -> None:
        pages, hosts = [page for (page, _), _ in batch], [host for (_, host), _ in batch]
        values = [priority for _, priority in batch]
        self.plain.put(pages, values, hosts)
        if as_arrays:
            self.frontier.put(np.array(pages, np.uint32), np.array(values), np.array(hosts, np.int32))
        else:
            self.frontier.put(pages, values, hosts)

    @rule(batch=st.lists(page_and_host, max_size=25))
    def add(self, batch: list[tuple[int, int]]) -> None:
        pages, hosts = [page for page, _ in batch], [host for _, host in batch]
        self.plain.add(pages, hosts)
        self.frontier.add(pages, hosts)

    @rule(page=st.integers(0, 40))
    def remove(self, page: int) -> None:
        if self.plain.pages.pop(page, None) is not None:
            self.plain.taken.pop(page, None)
        self.frontier.remove(page)

    @rule(n=st.integers(1, 6), only_quick=st.booleans())
    def take(self, n: int, only_quick: bool) -> None:
        for _ in range(n):
            assert self.frontier.take(self.now, only_quick) == self.plain.take(self.now, only_quick)

    @rule(page=page_and_host, delay_s=st.none() | delays)
    def release_page(self, page: tuple[int, int], delay_s: float | None) -> None:
        self.plain.release(page[1], self.now, delay_s, page[0])
        self.frontier.release(page[1], self.now, delay_s, page[0])

    @rule(host=hosts, is_quick=st.booleans())
    def set_quick(self, host: int, is_quick: bool) -> None:
        self.plain.set_quick(host, is_quick)
        self.frontier.set_quick(host, is_quick)

    @rule(shared=st.lists(hosts, max_size=4), with_host=st.none() | hosts, pages=st.sets(st.integers(0, 40)))
    def share_slot(self, shared: list[int], with_host: int | None, pages: set[int]) -> None:
        self.plain.share_slot(shared, with_host)
        theirs = {page for page, (_, host) in self.plain.pages.items() if host in shared}
        self.frontier.share_slot(shared, sorted(pages | theirs), with_host)

    @rule(host=hosts, delay_s=st.none() | delays)
    def release(self, host: int, delay_s: float | None) -> None:
        self.plain.release(host, self.now, delay_s)
        self.frontier.release(host, self.now, delay_s)

    @rule(host=hosts, delay_s=delays)
    def set_delay(self, host: int, delay_s: float) -> None:
        self.plain.set_delay(host, delay_s)
        self.frontier.set_delay(host, delay_s)

    @rule(host=hosts, wait=delays)
    def snooze(self, host: int, wait: float) -> None:
        self.plain.snooze(host, self.now + wait)
        self.frontier.snooze(host, self.now + wait)

    @rule(seconds=st.sampled_from([0.25, 1.0, 5.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def wait_for_the_next_time(self) -> None:
        self.now = max(self.now, self.frontier.next_time() or 0.0)

    @invariant()
    def they_are_the_same(self) -> None:
        assert self.frontier.next_time() == self.plain.next_time()
        assert len(self.frontier) == len(self.plain.pages)
        assert self.frontier.n_quick_waiting == self.plain.n_quick_waiting()
        assert self.frontier.best_first(1000) == self.plain.best_first()


AnySequence.TestCase.settings = settings(stateful_step_count=40)
TestAnySequence = AnySequence.TestCase


@pytest.mark.parametrize("politeness", [ANY_TIME, Politeness(delay_s=0.2, connections=2)])
def test_large_heaps_with_many_ties(politeness: Politeness, rng: np.random.Generator) -> None:
    """Hundreds of pages per host, so that heaps become deep and wide, and pages move up and down in them."""
    frontier, plain = HostedFrontier(politeness), PlainFrontier(politeness)
    host_of = rng.integers(0, 6, 3000)
    in_flight: list[int] = []
    now = 0.0
    for _ in range(120):
        now += 0.1
        pages = rng.integers(0, 3000, rng.integers(0, 200))
        values = np.where(rng.random(len(pages)) < 0.5, rng.integers(0, 9, len(pages)) / 8, rng.random(len(pages)))
        frontier.put(pages, values, host_of[pages])
        plain.put(pages.tolist(), values.tolist(), host_of[pages].tolist())
        for page in rng.integers(0, 3000, 30).tolist():
            plain.pages.pop(page, None)
            frontier.remove(page)
        for _ in range(10):
            taken = frontier.take(now)
            assert taken == plain.take(now)
            in_flight += [] if taken is None else [taken[0]]
        while len(in_flight) > 3:
            host = int(host_of[in_flight.pop(0)])
            frontier.release(host, now)
            plain.release(host, now, None)
    assert frontier.best_first(5000) == plain.best_first()
    assert frontier.best_first(7) == plain.best_first()[:7]
    assert [frontier.position(page) for page, _ in plain.best_first()[:50]] == list(range(50))
