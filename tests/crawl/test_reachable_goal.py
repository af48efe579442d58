"""Crawls whose goal is made impossible by pages that cannot be fetched: when they stop, and what they say."""

from __future__ import annotations

import numpy as np
import pytest

from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.graph.coverage import certificate
from orienteer.graph.proved import Certificate
from orienteer.pages.stop_reason import StopReason
from orienteer.pages.unknown import UNKNOWN_COUNT
from orienteer.policies import make_policy
from orienteer.policies.policy import TrustedPages
from tests.conftest import random_web

POLICIES = ["certified", "rankmass", "windowed-rankmass", "breadth-first", "fractional"]


class Web:
    """A web some of whose pages cannot be fetched, and some of whose links are not known."""

    def __init__(self, rng: np.random.Generator, open_share: float = 0.85) -> None:
        n = int(rng.integers(20, 120))
        self.graph = random_web(rng, n, 4.0)
        self.seed = int(np.argmax(self.graph.out_degrees()))
        self.is_open = rng.random(n) < open_share
        self.is_open[self.seed] = True
        self.n_unknown = np.zeros(n, np.int32)
        self.n_unknown[rng.random(n) < 0.03] = 2
        self.n_unknown[rng.random(n) < 0.01] = UNKNOWN_COUNT

    def new_crawl(self, policy: str, goal: Goal) -> Crawl:
        return Crawl(make_policy(policy), TrustedPages(np.array([self.seed], np.uint32), np.ones(1)), goal)

    def apply(self, crawl: Crawl, page: int) -> None:
        if self.is_open[page]:
            crawl.fetched(page, self.graph.links(page), n_unknown=int(self.n_unknown[page]))
        else:
            crawl.blocked(page)

    def crawled(self, policy: str, goal: Goal) -> tuple[Crawl, list[int]]:
        """A crawl to its end, and all pages it has chosen."""
        crawl, chosen = self.new_crawl(policy, goal), []
        while (page := crawl.next()) is not None:
            chosen.append(page)
            self.apply(crawl, page)
        return crawl, chosen

    def proved(self, chosen: list[int]) -> Certificate:
        """Of the pages chosen so far, by another way than the crawl's."""
        pages = np.array(chosen, np.int64)
        return certificate(
            self.graph, pages[self.is_open[pages]], [self.seed], blocked=pages[~self.is_open[pages]],
            n_unknown=self.n_unknown, tolerance=1e-12,
        )  # fmt: skip


def why_to_stop(proved: Certificate, goal: Goal) -> StopReason | None:
    assert goal.until is not None
    if (proved.of_reachable if goal.of_reachable else proved.lower) >= goal.until:
        return StopReason.COVERAGE
    is_impossible = proved.blocked + proved.unknown > 1 - goal.until
    return StopReason.REACHABLE if is_impossible and proved.of_reachable >= goal.until else None


@pytest.mark.parametrize("of_reachable", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
def test_it_stops_at_the_very_page(rng: np.random.Generator, policy: str, of_reachable: bool) -> None:
    reasons = set()
    for until in (0.5, 0.9, 0.98) * 6:
        web = Web(rng, float(rng.choice([0.8, 0.97, 1.0])))
        goal = Goal(until, by_certificate=True, of_reachable=of_reachable)
        crawl, chosen = web.crawled(policy, goal)
        assert crawl.stopped_because == why_to_stop(web.proved(chosen), goal)
        assert why_to_stop(web.proved(chosen[:-1]), goal) is None
        assert goal.ending(crawl.stopped_because).goal_reached == (crawl.stopped_because == StopReason.COVERAGE)
        if not of_reachable:
            assert crawl.goal_is_impossible == (crawl.stopped_because == StopReason.REACHABLE)
        reasons.add(crawl.stopped_because)
    assert reasons == ({StopReason.COVERAGE} if of_reachable else {StopReason.COVERAGE, StopReason.REACHABLE})


@pytest.mark.parametrize("policy", ["rankmass", "windowed-rankmass"])
def test_a_policy_that_is_believed_stops_there_too(rng: np.random.Generator, policy: str) -> None:
    """Its own proof decides whether the goal is reached; the certificate, that it cannot be."""
    reasons = set()
    for _ in range(20):
        web = Web(rng, 0.9)
        web.n_unknown[:] = 0
        crawl, chosen = web.crawled(policy, Goal(0.8))
        proved, reason = web.proved(chosen), crawl.stopped_because
        if reason == StopReason.REACHABLE:
            assert proved.of_reachable >= 0.8
            assert proved.blocked > 0.2
        else:
            assert reason == StopReason.COVERAGE
            assert proved.lower >= crawl.guarantee - 1e-9 >= 0.8 - 2e-9
        reasons.add(reason)
    assert len(reasons) == 2, "both were to be seen"


@pytest.mark.parametrize("policy", POLICIES)
def test_it_says_so_as_soon_as_what_was_pushed_shows_it(rng: np.random.Generator, policy: str) -> None:
    """Never while the goal is possible, always once everything is pushed, and never taken back."""
    n_early = 0
    for _ in range(10):
        web = Web(rng, 0.8)
        crawl, chosen, was = web.new_crawl(policy, Goal(0.95)), [], False
        while (page := crawl.next()) is not None:
            chosen.append(page)
            web.apply(crawl, page)
            proved = web.proved(chosen)
            is_impossible = proved.blocked + proved.unknown > 0.05
            assert is_impossible or not crawl.goal_is_impossible
            assert crawl.goal_is_impossible or not was
            if rng.random() < 0.3:
                crawl.certificate(1e-12)
                assert crawl.goal_is_impossible == is_impossible
            was = crawl.goal_is_impossible
            n_early += was and crawl.stopped_because is None
    assert n_early > 0


def test_without_a_coverage_to_prove_nothing_is_impossible(rng: np.random.Generator) -> None:
    web = Web(rng, 0.5)
    for goal in (Goal(), Goal(budget=10), Goal(1.0), Goal(0.98, of_reachable=True)):
        crawl, _ = web.crawled("certified", goal)
        assert not crawl.goal_is_impossible
        assert crawl.stopped_because != StopReason.REACHABLE


@pytest.mark.parametrize("policy", POLICIES)
def test_resumed_it_stops_at_the_same_page(rng: np.random.Generator, policy: str) -> None:
    """A crawl replayed up to any event makes the same decisions."""
    for _ in range(5):
        web = Web(rng, 0.8)
        whole, chosen = web.crawled(policy, Goal(0.9))
        for cut in rng.integers(1, len(chosen) + 1, 3):
            again = web.new_crawl(policy, Goal(0.9))
            for page in chosen[:cut]:
                again.take(page)
                web.apply(again, page)
            again.recheck_goal()
            rest = []
            while (page := again.next()) is not None:
                rest.append(page)
                web.apply(again, page)
            assert chosen[:cut] + rest == chosen
            assert again.stopped_because == whole.stopped_because
            assert again.goal_is_impossible == whole.goal_is_impossible


def test_one_that_is_finished_goes_on_when_asked_for_more(rng: np.random.Generator) -> None:
    web = next(web for web in (Web(rng, 0.8) for _ in range(50)) if web.crawled("certified", Goal(0.8))[0].
               stopped_because == StopReason.REACHABLE)  # fmt: skip
    crawl, chosen = web.crawled("certified", Goal(0.8))
    for goal, reason in (
        (Goal(0.8), StopReason.REACHABLE),
        (Goal(0.8, of_reachable=True), StopReason.COVERAGE),
        (Goal(0.01), StopReason.COVERAGE),
        (Goal(0.99), None),
        (Goal(), None),
    ):
        crawl.goal = goal
        crawl.recheck_goal()
        assert crawl.stopped_because == reason
    while (page := crawl.next()) is not None:
        chosen.append(page)
        web.apply(crawl, page)
    assert crawl.stopped_because == StopReason.FRONTIER_EMPTY
    assert web.proved(chosen).frontier == pytest.approx(0, abs=1e-12)


def test_unknown_links_do_not_make_it_possible_again(rng: np.random.Generator) -> None:
    """After the scope has become wider, more is unreachable, and the statement about the goal still holds."""
    n_seen = 0
    for _ in range(30):
        web = Web(rng, 0.8)
        crawl, _ = web.crawled("certified", Goal(0.9))
        before, was_impossible = crawl.certificate(1e-12), crawl.goal_is_impossible
        pages = rng.choice(np.array(crawl.order), min(3, len(crawl.order)), replace=False).astype(np.uint32)
        crawl.add_unknown_links(pages, rng.integers(1, 4, len(pages)).astype(np.int32))
        assert crawl.goal_is_impossible or not was_impossible
        n_seen += was_impossible
        after = crawl.certificate(1e-12)
        assert after.blocked + after.unknown >= before.blocked + before.unknown - 1e-9
        wanted = why_to_stop(after, crawl.goal)
        assert crawl.stopped_because == wanted or (wanted is None and crawl.stopped_because in (None, "frontier empty"))
    assert n_seen > 0


def test_a_goal_without_or_reachable_continues_to_the_end(rng: np.random.Generator) -> None:
    reasons = set()
    for _ in range(20):
        web = Web(rng, float(rng.choice([0.8, 1.0])))
        crawl, _ = web.crawled("certified", Goal(0.9, or_reachable=False))
        assert not crawl.goal_is_impossible
        reasons.add(crawl.stopped_because)
        if crawl.stopped_because == StopReason.FRONTIER_EMPTY:
            assert crawl.certificate().frontier == pytest.approx(0, abs=1e-9)
    assert reasons == {StopReason.COVERAGE, StopReason.FRONTIER_EMPTY}


def test_what_an_archive_misses_is_not_out_of_reach() -> None:
    crawl = Crawl(make_policy("breadth-first"), TrustedPages(np.array([0], np.uint32), np.ones(1)), Goal(0.9))
    for page, links in ((0, [1, 2]), (2, [])):
        crawl.take(page)
        crawl.fetched(page, links)
    crawl.blocked(1, is_missing=True)
    assert crawl.stopped_because == StopReason.FRONTIER_EMPTY
    assert not crawl.goal_is_impossible
    assert crawl.certificate().blocked == 0
    assert list(crawl.blocked_pages) == [1]
