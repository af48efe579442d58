"""A running crawl in figures, with a clock that stands still until it is told otherwise."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import orienteer as ori
from orienteer.crawl.goal import Goal
from orienteer.inspect.fetching import Fetching
from orienteer.live import figures as module
from orienteer.live.figures import Watch, dead_mass
from orienteer.live.under_way import UnderWay
from orienteer.pages.stop_reason import StopReason
from orienteer.policies import make_policy
from orienteer.policies.policy import TrustedPages

N_PAGES = 400


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
    """As much of a live crawl as is looked at: page k links to 2k + 1 and 2k + 2."""

    def __init__(self, goal: Goal | None = None) -> None:
        trusted = TrustedPages(np.array([0], np.uint32), np.ones(1))
        crawl = ori.Crawl(make_policy("breadth-first"), trusted, goal, hosts=[0])
        under_way = UnderWay()
        under_way.started(0, "http://a.test/", 998.5)
        super().__init__(
            crawl=crawl,
            ledger=SimpleNamespace(
                crawl=crawl,
                reader=None,
                epoch=None,
                database=SimpleNamespace(counts=lambda: SimpleNamespace(by_outcome={"unwanted type": 0})),
                seen=_Seen(),
                figures=None,
                number=0,
                position=0,
                library=SimpleNamespace(counts=Counter()),
                folder=SimpleNamespace(course_path=Path("nowhere") / "course.jsonl"),
            ),
            health=SimpleNamespace(n_failing=2, n_given_up=1),
            crew=SimpleNamespace(figures=list, n_died=0),
            parts=SimpleNamespace(n_done=4, n_failed=1, n_waiting=2, n_under_way=1, n_bytes=50),
            outcomes=Counter({"ok": 5, "http 404": 7}),
            n_under_way=3,
            under_way=under_way,
            n_bytes=12_345,
        )

    def fetch(self, n_pages: int) -> None:
        for _ in range(n_pages):
            page = self.crawl.next()
            assert page is not None
            self.crawl.fetched(page, [2 * page + 1, 2 * page + 2])


class _NoTop:
    def __init__(self, _: Any) -> None:
        pass

    def write_if_due(self, now: float, at_once: bool) -> None:
        pass


class _Seen:
    n_hosts = 9

    def __len__(self) -> int:
        return 777


def watch(live: Any) -> Watch:
    return Watch(live, live)


def test_figures_are_due_four_times_a_second(clock: Clock) -> None:
    seen = watch(Running())
    assert seen.is_due()
    seen.look()
    assert not seen.is_due()
    clock.now += 0.2
    assert not seen.is_due()
    clock.now += 0.05
    assert seen.is_due()
    seen.look()
    assert not seen.is_due()


def test_pages_are_counted_by_what_became_of_them(clock: Clock) -> None:
    live = Running()
    live.fetch(3)
    for end in (live.crawl.failed, live.crawl.blocked):
        end(live.crawl.next())
    clock.now += 5.0
    figures = watch(live).look()
    assert (figures.n_fetched, figures.n_failed, figures.n_blocked, figures.n_done) == (3, 1, 1, 4)
    assert (figures.n_known, figures.n_frontier, figures.n_hosts) == (777, 2, 9)
    assert (figures.n_under_way, figures.n_hosts_resting, figures.n_hosts_given_up) == (3, 2, 1)
    assert list(figures.outcomes) == ["http 404", "ok"], "the most frequent first"
    assert figures.n_bytes == 12_345
    assert figures.fetching == (Fetching("http://a.test/", 6.5),)
    assert (figures.until, figures.budget, figures.left_s) == (None, None, None)
    told = live.ledger.figures
    assert told == figures.as_dict(), "kept for those who look from outside"
    assert told["certificate"]["text"] == str(figures.certificate)


def test_the_rate_is_of_the_last_twenty_seconds(clock: Clock) -> None:
    live = Running()
    seen = watch(live)
    assert seen.look().pages_per_s == 0.0, "there is no rate yet"
    live.fetch(50)
    clock.now += 10.0
    assert seen.look().pages_per_s == pytest.approx(5.0)
    clock.now += 10.0
    assert seen.look().pages_per_s == pytest.approx(2.5)
    live.fetch(10)
    clock.now += 10.0
    assert seen.look().pages_per_s == pytest.approx(0.5), "the first ten seconds are forgotten"
    assert seen.look().elapsed_s == pytest.approx(30.0)
    clock.now += 100.0
    assert seen.look().pages_per_s == 0.0


def test_a_resumed_crawl_has_no_rate_of_what_was_there_before(clock: Clock) -> None:
    live = Running(Goal(budget=100))
    live.fetch(40)
    seen = watch(live)
    assert seen.look().left_s is None
    live.fetch(10)
    clock.now += 10.0
    figures = seen.look()
    assert figures.pages_per_s == pytest.approx(1.0)
    assert figures.left_s == pytest.approx(50.0)


def test_the_time_left_to_a_budget(clock: Clock) -> None:
    live = Running(Goal(budget=60))
    seen = watch(live)
    seen.look()
    live.fetch(20)
    clock.now += 10.0
    assert seen.look().left_s == pytest.approx(20.0)
    live.fetch(40)
    clock.now += 10.0
    assert seen.look().left_s == 0.0


def test_the_time_left_to_a_coverage(clock: Clock) -> None:
    live = Running(Goal(until=0.9))
    seen = watch(live)
    assert seen.look().left_s is None
    live.fetch(20)
    clock.now += 10.0
    after = seen.look()
    lower = after.certificate.lower
    assert after.left_s is not None
    by_proof = 10.0 * math.log((1 - lower) / 0.1) / -math.log(1 - lower)
    assert 0 < after.left_s <= by_proof * (1 + 1e-6), "sooner where all pages that are known are fetched sooner"


def test_nothing_is_left_when_it_is_over(clock: Clock) -> None:
    live = Running(Goal(until=0.9))
    seen = watch(live)
    live.fetch(20)
    clock.now += 10.0
    assert seen.look(exact=True, why=StopReason.COVERAGE).left_s == 0.0
    assert seen.look(exact=True, why=StopReason.INTERRUPTED).left_s is None


def test_of_two_goals_the_nearer_counts(clock: Clock) -> None:
    live = Running(Goal(until=0.9, budget=21))
    seen = watch(live)
    seen.look()
    live.fetch(20)
    clock.now += 10.0
    assert seen.look().left_s == pytest.approx(0.5)


def test_a_certificate_is_not_made_for_every_look(clock: Clock) -> None:
    live = Running()
    seen = watch(live)
    first = seen.look().certificate
    live.fetch(30)
    clock.now += 0.3
    assert seen.look().certificate == first
    clock.now += 0.3
    assert seen.look().certificate.lower > first.lower
    live.fetch(30)
    exact = seen.look(exact=True).certificate
    assert exact.lower == pytest.approx(live.crawl.certificate().lower, abs=1e-9)


def test_what_costs_much_is_done_rarely(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Certificates take a fiftieth of the time at most."""
    live = Running()
    seen = watch(live)
    made: list[float] = []
    certificate = live.crawl.certificate

    def slow_certificate(tolerance: float) -> Any:
        made.append(clock.now)
        clock.now += 2.0
        return certificate(tolerance)

    monkeypatch.setattr(live.crawl, "certificate", slow_certificate)
    for _ in range(1_000):
        seen.look()
        clock.now += 0.25
    assert 3 <= len(made) <= 4
    assert np.diff(made).min() >= 100.0


def test_figures_that_take_long_are_made_rarely(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take a hundredth of the time at most: some of them look at every page."""
    live = Running()
    seen = watch(live)
    states = live.crawl.states

    def slow_states() -> Any:
        clock.now += 0.05
        return states()

    seen.look()
    clock.now += 0.25
    assert seen.is_due()
    monkeypatch.setattr(live.crawl, "states", slow_states)
    seen.look()
    clock.now += 4.0
    assert not seen.is_due()
    clock.now += 20.0
    assert seen.is_due()


def test_dead_mass_is_on_pages_that_are_not_there() -> None:
    live: Any = Running()
    live.fetch(1)
    assert dead_mass(live.crawl) == 0.0
    live.crawl.failed(live.crawl.next())
    assert dead_mass(live.crawl) == pytest.approx(ori.pagerank(live.crawl.web.freeze(), [0])[1], abs=1e-5)
    assert 0.2 < dead_mass(live.crawl) < 0.5
