"""The figures of a running crawl, with a simulated clock."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import orienteer as ori
from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.inspect.figures import CrawlFigures, Fetching
from orienteer.live import figures as module
from orienteer.live.figures import ProgressWatch, dead_mass
from orienteer.pages.stop_reason import StopReason
from orienteer.policies import make_policy
from orienteer.policies.policy import TrustedPages


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return 1_700_000_000.0 + self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(module, "TopWriter", _NoTop)
    return clock


class Running(SimpleNamespace):
    """The attributes of a live crawl that figures read: page k links to 2k + 1 and 2k + 2, below `n_pages`."""

    def __init__(self, goal: Goal | None = None, n_pages: float = math.inf) -> None:
        trusted = TrustedPages(np.array([0], np.uint32), np.ones(1))
        crawl = Crawl(make_policy("breadth-first"), trusted, goal, hosts=[0])
        super().__init__(
            crawl=crawl,
            ledger=SimpleNamespace(
                crawl=crawl,
                reader=None,
                epoch=None,
                database=SimpleNamespace(counts=lambda: SimpleNamespace(by_outcome={"unwanted type": 0})),
                n_in_scope=lambda: (777, 9),
                figures=None,
                epoch_number=0,
                position=0,
                page_store=SimpleNamespace(counts=Counter()),
                folder=SimpleNamespace(progress_path=Path("nowhere") / "course.jsonl"),
            ),
            hosts=SimpleNamespace(health=SimpleNamespace(n_failing=2, n_abandoned=1)),
            pool=SimpleNamespace(figures=list, n_crashed=0),
            assets=SimpleNamespace(n_done=4, n_failed=1, n_waiting=2, n_in_flight=1, n_bytes=50),
            outcomes=Counter({"ok": 5, "http 404": 7}),
            n_in_flight=3,
            fetching=lambda now: (Fetching("http://a.test/", now - 998.5),),
            n_bytes=12_345,
            n_pages=n_pages,
        )

    def fetch(self, n_pages: int) -> None:
        for _ in range(n_pages):
            page = self.crawl.next()
            assert page is not None
            self.crawl.fetched(page, [target for target in (2 * page + 1, 2 * page + 2) if target < self.n_pages])


class _NoTop:
    def __init__(self, _: Any) -> None:
        pass

    def write_if_due(self, now: float, at_once: bool) -> None:
        pass


def watch(live: Any) -> ProgressWatch:
    return ProgressWatch(live, live)


def test_figures_are_due_four_times_a_second(clock: Clock) -> None:
    watcher = watch(Running())
    assert watcher.is_due()
    watcher.update()
    assert not watcher.is_due()
    clock.now += 0.2
    assert not watcher.is_due()
    clock.now += 0.05
    assert watcher.is_due()
    watcher.update()
    assert not watcher.is_due()


def test_pages_are_counted_by_state(clock: Clock) -> None:
    live = Running()
    live.fetch(3)
    for end in (live.crawl.failed, live.crawl.blocked):
        end(live.crawl.next())
    clock.now += 5.0
    figures = watch(live).update()
    assert (figures.n_fetched, figures.n_failed, figures.n_blocked, figures.n_done) == (3, 1, 1, 4)
    assert (figures.n_known, figures.n_frontier, figures.n_hosts) == (777, 2, 9)
    assert (figures.n_in_flight, figures.n_hosts_backing_off, figures.n_hosts_abandoned) == (3, 2, 1)
    assert list(figures.outcomes) == ["http 404", "ok"], "the most frequent first"
    assert figures.n_bytes == 12_345
    assert figures.fetching == (Fetching("http://a.test/", 6.5),)
    assert (figures.until, figures.budget, figures.eta_s) == (None, None, None)
    stored = live.ledger.figures
    assert stored == figures.as_dict(), "stored for other readers"
    assert stored["certificate"]["text"] == str(figures.certificate)


def test_the_rate_is_of_the_last_twenty_seconds(clock: Clock) -> None:
    live = Running()
    watcher = watch(live)
    assert watcher.update().pages_per_s == 0.0, "there is no rate yet"
    live.fetch(50)
    clock.now += 10.0
    assert watcher.update().pages_per_s == pytest.approx(5.0)
    clock.now += 10.0
    assert watcher.update().pages_per_s == pytest.approx(2.5)
    live.fetch(10)
    clock.now += 10.0
    assert watcher.update().pages_per_s == pytest.approx(0.5), "the first ten seconds do not count"
    assert watcher.update().elapsed_s == pytest.approx(30.0)
    clock.now += 100.0
    assert watcher.update().pages_per_s == 0.0


def test_the_rate_of_a_resumed_crawl_ignores_earlier_pages(clock: Clock) -> None:
    live = Running(Goal(budget=100))
    live.fetch(40)
    watcher = watch(live)
    assert watcher.update().eta_s is None
    figures = run_for(watcher, live, clock, 30)
    assert figures.pages_per_s == pytest.approx(1.0)
    assert figures.eta_s == pytest.approx(30.0)


def run_for(watcher: ProgressWatch, live: Running, clock: Clock, seconds: int) -> CrawlFigures:
    """Fetch a page a second, with an update after each; return the last figures."""
    watcher.update()
    for _ in range(seconds):
        live.fetch(1)
        clock.now += 1.0
        figures = watcher.update()
    return figures


def test_the_time_left_to_a_limit(clock: Clock) -> None:
    live = Running(Goal(budget=60))
    watcher = watch(live)
    assert run_for(watcher, live, clock, 9).eta_s is None, "there is no estimate at the beginning"
    assert run_for(watcher, live, clock, 31).eta_s == pytest.approx(20.0)
    assert run_for(watcher, live, clock, 20).eta_s == 0.0


def test_the_time_left_to_a_coverage(clock: Clock) -> None:
    live = Running(Goal(until=0.9), n_pages=200)
    after = run_for(watch(live), live, clock, 60)
    assert after.eta_s is not None
    assert after.certificate.lower < 0.9
    n_left = 0
    while live.crawl.stopped_because is None:
        live.fetch(1)
        n_left += 1
    assert n_left / 2 <= after.eta_s * after.pages_per_s <= 2 * n_left


def test_the_time_left_is_bounded_by_the_frontier(clock: Clock) -> None:
    live = Running(Goal(until=0.9))
    after = run_for(watch(live), live, clock, 60)
    assert after.eta_s is not None
    assert 0 < after.eta_s <= 2 * after.n_frontier / after.pages_per_s * (1 + 1e-9)


def test_the_time_left_is_zero_at_the_end(clock: Clock) -> None:
    live = Running(Goal(until=0.9))
    watcher = watch(live)
    live.fetch(20)
    clock.now += 10.0
    assert watcher.update(exact=True, why=StopReason.COVERAGE).eta_s == 0.0
    assert watcher.update(exact=True, why=StopReason.INTERRUPTED).eta_s is None


def test_of_two_goals_the_nearer_counts(clock: Clock) -> None:
    live = Running(Goal(until=0.9, budget=61))
    assert run_for(watch(live), live, clock, 60).eta_s == pytest.approx(1.0)


def test_a_certificate_is_not_computed_for_every_update(clock: Clock) -> None:
    live = Running()
    watcher = watch(live)
    first = watcher.update().certificate
    live.fetch(30)
    clock.now += 0.3
    assert watcher.update().certificate == first
    clock.now += 0.3
    assert watcher.update().certificate.lower > first.lower
    live.fetch(30)
    exact = watcher.update(exact=True).certificate
    assert exact.lower == pytest.approx(live.crawl.certificate().lower, abs=1e-9)


def test_expensive_certificates_are_computed_rarely(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Certificates take a fiftieth of the time at most."""
    live = Running()
    watcher = watch(live)
    made: list[float] = []
    certificate = live.crawl.certificate

    def slow_certificate(tolerance: float) -> Any:
        made.append(clock.now)
        clock.now += 2.0
        return certificate(tolerance)

    monkeypatch.setattr(live.crawl, "certificate", slow_certificate)
    for _ in range(1_000):
        watcher.update()
        clock.now += 0.25
    assert 3 <= len(made) <= 4
    assert np.diff(made).min() >= 100.0


def test_expensive_figures_are_computed_rarely(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take a hundredth of the time at most: some of them are O(pages)."""
    live = Running()
    watcher = watch(live)
    states = live.crawl.states

    def slow_states() -> Any:
        clock.now += 0.05
        return states()

    watcher.update()
    clock.now += 0.25
    assert watcher.is_due()
    monkeypatch.setattr(live.crawl, "states", slow_states)
    watcher.update()
    clock.now += 4.0
    assert not watcher.is_due()
    clock.now += 20.0
    assert watcher.is_due()


def test_dead_mass_is_on_missing_pages() -> None:
    live: Any = Running()
    live.fetch(1)
    assert dead_mass(live.crawl) == 0.0
    live.crawl.failed(live.crawl.next())
    assert dead_mass(live.crawl) == pytest.approx(ori.pagerank(live.crawl.web.freeze(), [0])[1], abs=1e-5)
    assert 0.2 < dead_mass(live.crawl) < 0.5
