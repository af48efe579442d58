from __future__ import annotations

import itertools

import numpy as np
import pytest

import orienteer as ori
from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.crawl.politeness import Politeness
from orienteer.graph import shapes
from orienteer.pages.states import TRANSITIONS, PageState
from orienteer.policies import make_policy
from orienteer.policies.policy import TrustedPages
from tests.conftest import random_web
from tests.graph.reference import dense_pagerank
from tests.tables import over_rows


def new_crawl(policy: str = "fractional", pages: tuple[int, ...] = (0,), **settings: object) -> Crawl:
    trusted = TrustedPages(np.array(pages, np.uint32), np.full(len(pages), 1 / len(pages)))
    return Crawl(make_policy(policy), trusted, **settings)


def test_the_life_of_a_page() -> None:
    crawl = new_crawl()
    assert crawl.state(0) is PageState.KNOWN
    assert crawl.next() == 0
    assert crawl.state(0) is PageState.IN_FLIGHT
    assert crawl.next() is None
    crawl.fetched(0, [3, 1])
    assert crawl.state(0) is PageState.FETCHED
    assert crawl.next() == 1
    crawl.failed(1)
    assert crawl.state(1) is PageState.FAILED
    assert crawl.next() == 3
    crawl.blocked(3)
    assert crawl.state(3) is PageState.BLOCKED
    assert crawl.stopped_because == "frontier empty"
    assert list(crawl.order) == [0, 1]


ACTIONS = {
    PageState.FETCHED: lambda crawl, page: crawl.fetched(page, []),
    PageState.FAILED: lambda crawl, page: crawl.failed(page),
    PageState.SKIPPED: lambda crawl, page: crawl.skipped(page),
    PageState.BLOCKED: lambda crawl, page: crawl.blocked(page),
    PageState.KNOWN: lambda crawl, page: crawl.retry(page),
}


@over_rows(("before", "after"), list(itertools.product(PageState, ACTIONS)))
def test_only_the_transitions_of_the_table_are_possible(before: PageState, after: PageState) -> None:
    crawl = new_crawl(pages=(0, 1))
    page = 1
    if before is not PageState.KNOWN:
        crawl.next()
        assert crawl.next() == page
        if before is not PageState.IN_FLIGHT:
            ACTIONS[before](crawl, page)
    if after in TRANSITIONS[before]:
        ACTIONS[after](crawl, page)
        assert crawl.state(page) is after
    else:
        with pytest.raises(ValueError, match=f"cannot become {after.name}: it is {before.name}"):
            ACTIONS[after](crawl, page)
        assert crawl.state(page) is before


def test_a_page_to_be_tried_again_comes_again() -> None:
    crawl = new_crawl()
    assert crawl.next() == 0
    crawl.retry(0)
    assert crawl.stopped_because is None
    assert crawl.next() == 0
    crawl.fetched(0, [])
    assert list(crawl.order) == [0]


def test_a_page_to_be_tried_again_keeps_its_priority() -> None:
    """Also what it gained while it was in flight."""
    crawl = new_crawl(pages=(0, 1, 2))
    first, second = crawl.next(), crawl.next()
    assert (first, second) == (0, 1)
    crawl.fetched(1, [0])
    crawl.retry(0)
    assert crawl.frontier.priority(0) == pytest.approx(0.15 / 3 * 1.85)
    assert crawl.next() == 0


def test_a_redirect_forwards_everything_to_its_target() -> None:
    crawl = new_crawl()
    crawl.redirected(crawl.next(), 1)
    crawl.fetched(crawl.next(), [0, 2])
    crawl.fetched(crawl.next(), [])
    certificate = crawl.certificate()
    assert certificate.lower == pytest.approx(1, abs=1e-8)


def merged_truth(web: ori.LinkGraph, alias: dict[int, int], trust: np.ndarray) -> np.ndarray:
    """The rank in the web where links to an alias go to its target."""
    links = np.zeros((web.n_pages, web.n_pages))
    links[web.sources(), web.targets] = 1
    trust = trust.copy()
    for page in alias:  # follow chains of redirects to the end
        end = page
        while end in alias:
            end = alias[end]
        links[:, end] += links[:, page]
        links[:, page] = 0
        trust[end] += trust[page]
        trust[page] = 0
    links[list(alias)] = 0
    degrees = links.sum(axis=1)
    step = np.where(degrees[:, None] > 0, links / np.maximum(degrees, 1)[:, None], trust[None, :]).T
    return np.linalg.solve(np.eye(web.n_pages) - 0.85 * step, 0.15 * trust)


@pytest.mark.parametrize("name", ["rankmass", "windowed-rankmass", "l-neighbor", "certified", "fractional"])
@pytest.mark.parametrize("until", [0.5, 0.9])
def test_a_crawl_with_redirects_says_covered_only_when_it_is(name: str, until: float, rng: np.random.Generator) -> None:
    """A policy's own proof would take a redirect for a page that keeps a share of its mass."""
    for _ in range(30):
        web = random_web(rng, 60, 2.5)
        alias = {page: (page + 1) % 60 for page in range(0, 59, 4)}
        trust = np.zeros(60)
        trust[[0, 3, 8]] = 1 / 3
        crawl = new_crawl(name, pages=(0, 3, 8), goal=Goal(until=until))
        while (page := crawl.next()) is not None:
            crawl.redirected(page, alias[page]) if page in alias else crawl.fetched(page, web.links(page))
        assert crawl.stopped_because == "coverage"
        truth = merged_truth(web, alias, trust)[crawl.order].sum()
        assert truth >= until - 1e-9
        assert crawl.guarantee <= truth + 1e-9


@pytest.mark.parametrize("name", ["rankmass", "windowed-rankmass", "l-neighbor", "certified"])
def test_a_redirect_alone_covers_nothing(name: str) -> None:
    crawl = new_crawl(name, goal=Goal(until=0.1))
    crawl.redirected(crawl.next(), 1)
    assert crawl.stopped_because is None
    assert crawl.guarantee == pytest.approx(0, abs=1e-12)
    crawl.fetched(crawl.next(), [0])
    assert crawl.stopped_because == "coverage"


@pytest.mark.parametrize("name", ["rankmass", "l-neighbor", "certified"])
def test_trust_that_is_not_all_known_is_not_believed_to_be(name: str) -> None:
    crawl = new_crawl(name, goal=Goal(until=0.95), known_trust=0.9)
    web = shapes.cycle(5)
    while (page := crawl.next()) is not None:
        crawl.fetched(page, web.links(page))
    assert crawl.stopped_because == "frontier empty"
    assert crawl.guarantee <= 0.9 + 1e-9


def test_blocked_mass_is_reported_and_bounds_what_can_be_proved() -> None:
    crawl = new_crawl()
    crawl.fetched(crawl.next(), [1, 2])
    crawl.blocked(2)
    crawl.fetched(crawl.next(), [0])
    assert crawl.stopped_because == "frontier empty"
    certificate = crawl.certificate()
    assert certificate.blocked > 0.3
    assert certificate.lower + certificate.blocked == pytest.approx(1, abs=1e-8)


def test_the_budget_counts_what_is_in_flight() -> None:
    crawl = new_crawl(pages=(0, 1, 2, 3), goal=Goal(budget=2))
    first, second = crawl.next(), crawl.next()
    assert crawl.next() is None
    crawl.blocked(first)  # was not fetched, so there is room for another
    third = crawl.next()
    assert third is not None
    crawl.fetched(second, [])
    crawl.fetched(third, [])
    assert crawl.stopped_because == "budget"


def test_a_limit_of_as_many_pages_as_there_are_has_cut_nothing_off() -> None:
    crawl = new_crawl(pages=(0, 1), goal=Goal(budget=2))
    crawl.fetched(crawl.next(), [])
    crawl.fetched(crawl.next(), [0])
    assert crawl.stopped_because == "frontier empty"


def test_a_failed_page_counts_as_fetched_without_links(rng: np.random.Generator) -> None:
    """The certificate of a crawl with dead pages is that of the web in which they have no links."""
    web = random_web(rng, 60, 3.0)
    dead = np.arange(0, 60, 7)
    keep = ~np.isin(web.sources(), dead)
    rest = ori.LinkGraph.from_links(60, web.sources()[keep], web.targets[keep])
    crawl = new_crawl("certified", pages=(1, 2), goal=Goal(until=0.9))
    while (page := crawl.next()) is not None:
        crawl.failed(page) if page in dead else crawl.fetched(page, web.links(page))
    trust = np.zeros(60)
    trust[[1, 2]] = 0.5
    truth = dense_pagerank(rest, trust, trust, 0.85)[crawl.order].sum()
    certificate = crawl.certificate()
    assert crawl.stopped_because == "coverage"
    assert 0.9 <= certificate.lower <= truth + 1e-12
    assert truth <= certificate.upper + 1e-12


def test_a_slow_host_never_stalls_the_others() -> None:
    crawl = new_crawl(pages=(0, 1, 2, 3), politeness=Politeness(delay_s=10.0), hosts=[0, 0, 0, 1])
    assert crawl.next(0.0) == 0
    assert crawl.next(0.0) == 3
    crawl.fetched(3, [], now=1.0)
    assert crawl.next(5.0) is None
    crawl.fetched(0, [], now=6.0)
    assert crawl.next(15.0) is None
    assert crawl.next(16.0) == 1


def test_optimal_works_in_simulations_only() -> None:
    with pytest.raises(ori.InputError, match="simulations only"):
        new_crawl("optimal")


def test_pages_known_without_mass_are_fetched_in_the_end() -> None:
    """Pages found through a page without mass still have a place in the frontier."""
    crawl = new_crawl("windowed-rankmass")
    web = shapes.chain(30)
    while (page := crawl.next()) is not None:
        crawl.fetched(page, web.links(page))
    assert list(crawl.order) == list(range(30))


@pytest.mark.parametrize("name", ["certified", "rankmass", "fractional", "pagerank"])
def test_redirects_in_a_circle_lead_nowhere(name: str) -> None:
    """Mass would go round for ever, undamped."""
    crawl = new_crawl(name, goal=Goal(until=0.9))
    crawl.fetched(crawl.next(), [1, 2])
    crawl.redirected(1, 2) if crawl.next() == 1 else None
    assert crawl.next() == 2
    crawl.redirected(2, 1)
    assert crawl.state(2) is PageState.BLOCKED
    proved = crawl.certificate()
    assert (proved.lower, proved.unknown) == (pytest.approx(0.15, abs=1e-8), pytest.approx(0.85, abs=1e-8))


def test_a_redirect_to_itself_leads_nowhere() -> None:
    crawl = new_crawl()
    crawl.redirected(crawl.next(), 0)
    assert crawl.state(0) is PageState.BLOCKED
    assert crawl.stopped_because == "frontier empty"
    assert crawl.certificate().unknown == pytest.approx(1)


def test_other_names_are_counted_among_pages_that_nothing_links_to() -> None:
    crawl = new_crawl()
    crawl.redirected(crawl.next(), 1)
    crawl.redirected(crawl.next(), 1)  # to itself: blocked
    crawl.discover([5_000])
    assert crawl.n_aliases() == 1


def test_redirects_are_counted() -> None:
    crawl = new_crawl()
    for page in range(4):
        assert crawl.next() == page
        crawl.redirected(page, page + 1)
    assert crawl.n_redirects_from(0, until=99) == 4
    assert crawl.n_redirects_from(3, until=99) == 1
    assert crawl.n_redirects_from(0, until=3) is None


@over_rows("name", ["breadth-first", "l-neighbor", "certified", "windowed-rankmass", "pagerank", "random"])
def test_pages_of_a_sitemap_come_after_all_that_are_linked_to(name: str) -> None:
    crawl = new_crawl(name)
    crawl.discover([5, 0, 6])
    crawl.fetched(crawl.next(), [1, 2, 6])
    rest = []
    while (page := crawl.next()) is not None:
        rest.append(page)
        crawl.fetched(page, [7] if page == 5 else [])
    assert sorted(rest[:3]) == [1, 2, 6]
    assert rest[3:] == [5, 7]
    assert crawl.stopped_because == "frontier empty"


def test_a_sitemap_can_wake_a_crawl_that_had_nothing_left() -> None:
    crawl = new_crawl()
    crawl.fetched(crawl.next(), [])
    assert crawl.stopped_because == "frontier empty"
    crawl.discover([3])
    assert crawl.stopped_because is None
    assert crawl.next() == 3


def test_a_page_can_be_taken_out_of_turn() -> None:
    crawl = new_crawl(pages=(0, 1, 2))
    crawl.take(2)
    crawl.fetched(2, [0])
    with pytest.raises(ValueError, match="page 2 cannot become IN_FLIGHT"):
        crawl.take(2)
    assert list(crawl.order) == [2]


def test_a_higher_goal_is_not_reached_yet() -> None:
    crawl = new_crawl("certified", goal=Goal(until=0.3))
    web = shapes.star(20)
    while (page := crawl.next()) is not None:
        crawl.fetched(page, web.links(page))
    assert crawl.stopped_because == "coverage"
    crawl.goal = Goal(until=0.9)
    crawl.recheck_goal()
    assert crawl.stopped_because is None
    crawl.goal = Goal(until=0.2)
    crawl.recheck_goal()
    assert crawl.stopped_because == "coverage"
