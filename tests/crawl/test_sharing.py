"""A crawl does the same whether its frontier goes by the policy's priorities, or keeps a copy of them."""

from __future__ import annotations

import numpy as np
import pytest

import orienteer as ori
from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.crawl.politeness import ANY_TIME, Politeness
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.survey.crawl_survey import SurveyStart
from orienteer.ledger.event_replay import checkpoint, restore
from orienteer.policies.policy import POLICIES, Policy, Priorities, TrustedPages
from tests.conftest import random_web
from tests.tables import over_rows

SHARING = ["certified", "fractional", "in-links", "opic", "rankmass"]


class Keeping(Policy):
    """A policy that keeps its priorities for itself."""

    def __init__(self, inner: Policy) -> None:
        self.inner, self.proves, self.damping = inner, inner.proves, inner.damping
        self.name = inner.name

    @property
    def guarantee(self) -> float:
        return self.inner.guarantee

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        return self.inner.begin(web, trusted)

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        return self.inner.fetched(page, web)

    def lost(self, page: int, web: GrowingGraph) -> Priorities:
        return self.inner.lost(page, web)

    def conclude(self, web: GrowingGraph, until: float) -> None:
        self.inner.conclude(web, until)


def new_policy(name: str, shares: bool) -> Policy:
    policy = POLICIES.make(name, {})
    return policy if shares else Keeping(policy)


def new_crawl(
    name: str, shares: bool, web: ori.LinkGraph, politeness: Politeness = ANY_TIME, has_survey: bool = False,
    until: float | None = None,
) -> Crawl:  # fmt: skip
    trusted = TrustedPages(np.arange(3, dtype=np.uint32), np.full(3, 1 / 3))
    start = SurveyStart(0.9, 0.999, "seed") if has_survey else None
    return Crawl(new_policy(name, shares), trusted, Goal(until=until), politeness, web.hosts[:3], survey=start)


def same(crawls: list[Crawl]) -> None:
    (pages, values), (other_pages, other_values) = (crawl.waiting() for crawl in crawls)
    one, other = np.argsort(pages), np.argsort(other_pages)
    assert pages[one].tolist() == other_pages[other].tolist()
    assert values[one].tolist() == other_values[other].tolist()


def go_on(crawls: list[Crawl], web: ori.LinkGraph, rng: np.random.Generator, n_steps: int) -> None:
    """Whatever may happen to pages, several of them in flight at a time."""
    in_flight: list[int] = []
    for step in range(n_steps):
        if len(in_flight) < 4 and rng.random() < 0.6:
            taken = {crawl.next(float(step)) for crawl in crawls}
            assert len(taken) == 1
            in_flight += [page for page in taken if page is not None]
        elif in_flight:
            page, what = in_flight.pop(int(rng.integers(len(in_flight)))), rng.random()
            links, n_unknown = web.links(page), int(rng.choice([0, 0, 2, -1]))
            for crawl in crawls:
                if what < 0.55:
                    crawl.fetched(page, links, float(step), web.hosts[links], n_unknown=n_unknown)
                elif what < 0.65:
                    crawl.failed(page, float(step))
                elif what < 0.7:
                    crawl.blocked(page, float(step))
                elif what < 0.8 and len(links):
                    crawl.redirected(page, int(links[0]), float(step), int(web.hosts[links[0]]))
                elif what < 0.9:
                    crawl.retry(page, float(step))
                else:
                    crawl.defer_retry(page, float(step))
                    crawl.retry(page, float(step))
        if rng.random() < 0.1:  # a sitemap
            found = rng.integers(0, web.n_pages, 3)
            for crawl in crawls:
                crawl.discover(found, web.hosts[found])
        waiting = crawls[0].frontier.all()[0]
        if len(waiting) and rng.random() < 0.05:
            page, value = int(rng.choice(waiting)), float(rng.choice([-np.inf, 0.01, 5.0]))
            for crawl in crawls:
                crawl.frontier.put([page], [value])
        same(crawls)
    for page in in_flight:
        for crawl in crawls:
            crawl.retry(page, float(n_steps))
    same(crawls)


@over_rows("has_survey", [False, True], ids=["", "survey"])
@over_rows("politeness", [ANY_TIME, Politeness(delay_s=0.0)], ids=["any time", "hosts"])
@over_rows("name", SHARING)
def test_the_same_pages_in_the_same_order(name: str, politeness: Politeness, has_survey: bool) -> None:
    for seed in range(2):
        print(f"seed {seed}")
        rng = np.random.default_rng(seed)
        web = random_web(rng, 80, with_hosts=True)
        crawls = [new_crawl(name, shares, web, politeness, has_survey, until=0.999) for shares in (True, False)]
        assert [crawl.policy.priorities(80) is not None for crawl in crawls] == [True, False]
        go_on(crawls, web, rng, 120)
        assert crawls[0].order == crawls[1].order
        assert crawls[0].certificate() == crawls[1].certificate()


@pytest.mark.parametrize("name", SHARING)
def test_a_checkpoint_keeps_what_is_shared_and_what_is_not(name: str, rng: np.random.Generator) -> None:
    web = random_web(rng, 80, with_hosts=True)
    crawl = new_crawl(name, True, web)
    go_on([crawl, crawl_twin := new_crawl(name, False, web)], web, rng, 60)
    again = new_crawl(name, True, web)
    again.web.grow_to(crawl.web.n_pages)
    again.web.set_hosts(np.arange(crawl.web.n_pages), web.hosts[: crawl.web.n_pages])
    for page in np.flatnonzero(crawl.web.fetched).tolist():
        again.web.add(page, crawl.web.links(page))
    restore(again, checkpoint(crawl))
    same([again, crawl_twin])
    go_on([again, crawl_twin], web, rng, 100)
