"""The crawled part of the web, in rows without gaps."""

from __future__ import annotations

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph.estimation.known_web import BLOCKED, CRAWLED, NO_PAGE, OPEN, REQUESTED, KnownWeb, rank_within
from orienteer.graph.growing_graph import GrowingGraph
from tests.conftest import random_web
from tests.graph.estimation.reference import dense_rank, frontier_of
from tests.graph.reference import dense_links
from tests.tables import over_rows


def small() -> KnownWeb:
    web = GrowingGraph()
    web.add_batch([2, 0], [0, 3, 5], [0, 5, 4, 3, 5])
    return KnownWeb(web, [2, 0])


def test_rows_of_crawled_pages() -> None:
    neighborhood = small().neighborhood()
    assert neighborhood.pages.tolist() == [2, 0]
    assert neighborhood.frontier.tolist() == [3, 4, 5]
    assert neighborhood.inside_offsets.tolist() == [0, 1, 1]
    assert neighborhood.inside.tolist() == [1]
    assert neighborhood.outward_offsets.tolist() == [0, 2, 4]
    assert neighborhood.outward.tolist() == [1, 2, 0, 2]
    assert neighborhood.degrees().tolist() == [3, 2]
    assert neighborhood.leaving(np.array([0.25, 0.75])) == pytest.approx(0.25 * 2 / 3 + 0.75)


def test_states_of_pages() -> None:
    known = small()
    known.mark([3], NO_PAGE)
    known.mark([4], BLOCKED)
    known.mark([5], REQUESTED)
    neighborhood = known.neighborhood()
    assert neighborhood.frontier.tolist() == [4, 5]
    assert neighborhood.open.tolist() == [False, False]
    assert neighborhood.degrees().tolist() == [3, 1]
    assert known.crawl([5, 5], [0, 1, 1], [9]).tolist() == [5]
    assert [known.state(page) for page in (2, 3, 5, 9, 77)] == [CRAWLED, NO_PAGE, CRAWLED, OPEN, OPEN]
    assert known.crawl([5], [0, 1], [8]).tolist() == []
    known.mark([5], NO_PAGE)
    assert known.state(5) == CRAWLED


def test_pages_fetched_before_are_crawled_and_local_pages_too() -> None:
    web = GrowingGraph()
    web.add(1, [0])
    web.add(0, [4])
    neighborhood = KnownWeb(web, np.array([False, False, False, True, True])).neighborhood()
    assert neighborhood.pages.tolist() == [3, 4, 0, 1]
    assert neighborhood.n_local == 2
    assert neighborhood.inside.tolist() == [1, 2]
    assert neighborhood.frontier.tolist() == []


def test_random_webs(rng: np.random.Generator) -> None:
    for _ in range(30):
        web = random_web(rng, 80, 3.0)
        growing = GrowingGraph()
        growing.grow_to(80)
        pages = rng.permutation(80)
        local, others = pages[:12], pages[12:30]
        for page in local:
            growing.add(int(page), web.links(page))
        known = KnownWeb(growing, local)
        rank = rank_within(known.neighborhood())
        for page in others:
            known.crawl([page], [0, len(web.links(page))], web.links(page))
        neighborhood = known.neighborhood()
        links = dense_links(web)
        crawled = neighborhood.pages.astype(int)
        assert crawled.tolist() == [*local, *others]
        assert neighborhood.frontier.tolist() == frontier_of(links, crawled).tolist()
        assert neighborhood.degrees().tolist() == links[crawled].sum(axis=1).tolist()
        expected = dense_rank(links[np.ix_(crawled, crawled)])
        for start in (None, rank):
            assert abs(rank_within(neighborhood, start, 1e-9) - expected).sum() < 1e-9


@over_rows(
    ("local", "message"),
    [
        ([], "no pages; a domain has at least one"),
        ([0, 6], "page 6 is not in the graph"),
        ([1, 1], "page 1 is named more than once"),
        ([True, False], "a mask of 2 values for 6 pages"),
        ([False] * 6, "no pages"),
        ([0.5], "page ids are whole numbers"),
    ],
)
def test_domains_that_are_none(local: list, message: str) -> None:
    web = GrowingGraph()
    web.grow_to(6)
    with pytest.raises(ori.InputError, match=message):
        KnownWeb(web, np.array(local))
