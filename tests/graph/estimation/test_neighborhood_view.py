"""Top referrers of a domain, and the pages whose local and global ranks differ most."""

from __future__ import annotations

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph.estimation.estimation import estimate_global_rank
from orienteer.graph.estimation.neighborhood_view import NeighborhoodView, rank_by_local_links, top_referrers
from orienteer.graph.link_graph import LinkGraph
from tests.conftest import random_web
from tests.graph.estimation.reference import dense_rank
from tests.graph.reference import dense_links


def test_impact_is_worth_times_the_share_of_links_into_the_domain(rng: np.random.Generator) -> None:
    web = random_web(rng, 150, 5.0)
    local = rng.permutation(150)[:30]
    found = estimate_global_rank(web, local, 60, 6)
    worth = found.estimation.worth()
    links = dense_links(web)
    crawled = found.estimation.neighborhood.pages.astype(int)
    expected = {
        int(page): worth[k] * links[page, local].sum() / links[page].sum()
        for k, page in enumerate(crawled)
        if k >= 30 and links[page, local].any()
    }
    pages = top_referrers(found.estimation, 1000)
    assert {page.page for page in pages} == set(expected)
    for page in pages:
        assert page.impact == pytest.approx(expected[page.page])
        assert page.links.tolist() == sorted(set(local) & set(web.links(page.page).tolist()))
        assert page.n_links == len(web.links(page.page))
    impacts = [page.impact for page in pages]
    assert impacts == sorted(impacts, reverse=True)
    assert [page.page for page in top_referrers(found.estimation, 3)] == [page.page for page in pages[:3]]


def test_pages_with_the_largest_differences() -> None:
    # Inside, all link to 0. The world, which 0 leads to, links to 3 alone.
    web = LinkGraph.from_links(7, [1, 2, 3, 0, 4, 5, 6, 4], [0, 0, 0, 4, 5, 6, 3, 3])
    found = estimate_global_rank(web, [3, 2, 1, 0])
    view = NeighborhoodView.of(found.estimation)
    more, less = view.largest_differences()
    assert more[0].page == 3
    assert (more[0].position_inside, more[0].position_outside) == (4, 2)
    assert more[0].ratio > 1
    assert 0 in [entry.page for entry in less] or found.rank[3] > more[0].outside
    assert [entry.position_outside for entry in view.page_ranks] == [1, 2, 3, 4]
    assert sum(entry.inside for entry in view.page_ranks) == pytest.approx(1)


def test_the_local_rank_uses_local_links_only(rng: np.random.Generator) -> None:
    web = random_web(rng, 100, 4.0)
    local = rng.permutation(100)[:40]
    found = estimate_global_rank(web, local, 30, 3)
    expected = dense_rank(dense_links(web)[np.ix_(local, local)])
    assert abs(rank_by_local_links(found.estimation) - expected).sum() < 1e-8


def test_without_referrers() -> None:
    found = estimate_global_rank(LinkGraph.from_links(4, [0, 1, 1], [1, 0, 2]), [0, 1])
    assert top_referrers(found.estimation) == []
    assert NeighborhoodView.of(found.estimation).largest_differences(0) == ([], [])
    with pytest.raises(ori.InputError, match="n is -1"):
        top_referrers(found.estimation, -1)
