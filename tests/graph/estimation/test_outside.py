"""Who out there matters to the domain, and which of its pages the world sees otherwise."""

from __future__ import annotations

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph.estimation.outside import View, outside_influence, rank_at_home
from orienteer.graph.link_graph import LinkGraph
from tests.conftest import random_web
from tests.graph.estimation.reference import dense_rank
from tests.graph.reference import dense_links


def test_impact_is_worth_times_the_share_of_links_into_the_domain(rng: np.random.Generator) -> None:
    web = random_web(rng, 150, 5.0)
    local = rng.permutation(150)[:30]
    found = ori.estimate_global_rank(web, local, 60, 6)
    worth = found.estimation.worth()
    links = dense_links(web)
    crawled = found.estimation.around.pages.astype(int)
    expected = {
        int(page): worth[k] * links[page, local].sum() / links[page].sum()
        for k, page in enumerate(crawled)
        if k >= 30 and links[page, local].any()
    }
    pages = outside_influence(found.estimation, 1000)
    assert {page.page for page in pages} == set(expected)
    for page in pages:
        assert page.impact == pytest.approx(expected[page.page])
        assert page.links.tolist() == sorted(set(local) & set(web.links(page.page).tolist()))
        assert page.n_links == len(web.links(page.page))
    impacts = [page.impact for page in pages]
    assert impacts == sorted(impacts, reverse=True)
    assert [page.page for page in outside_influence(found.estimation, 3)] == [page.page for page in pages[:3]]


def test_what_the_world_values_otherwise() -> None:
    # Inside, all link to 0. The world, which 0 leads to, links to 3 alone.
    web = LinkGraph.from_links(7, [1, 2, 3, 0, 4, 5, 6, 4], [0, 0, 0, 4, 5, 6, 3, 3])
    found = ori.estimate_global_rank(web, [3, 2, 1, 0])
    view = View.of(found.estimation)
    more, less = view.valued_otherwise()
    assert more[0].page == 3
    assert (more[0].position_inside, more[0].position_outside) == (4, 2)
    assert more[0].ratio > 1
    assert 0 in [standing.page for standing in less] or found.rank[3] > more[0].outside
    assert [standing.position_outside for standing in view.standings] == [1, 2, 3, 4]
    assert sum(standing.inside for standing in view.standings) == pytest.approx(1)


def test_the_rank_at_home_knows_local_links_alone(rng: np.random.Generator) -> None:
    web = random_web(rng, 100, 4.0)
    local = rng.permutation(100)[:40]
    found = ori.estimate_global_rank(web, local, 30, 3)
    expected = dense_rank(dense_links(web)[np.ix_(local, local)])
    assert abs(rank_at_home(found.estimation) - expected).sum() < 1e-8


def test_where_nobody_looks_in() -> None:
    found = ori.estimate_global_rank(LinkGraph.from_links(4, [0, 1, 1], [1, 0, 2]), [0, 1])
    assert outside_influence(found.estimation) == []
    assert View.of(found.estimation).valued_otherwise(0) == ([], [])
    with pytest.raises(ori.InputError, match="n is -1"):
        outside_influence(found.estimation, -1)
