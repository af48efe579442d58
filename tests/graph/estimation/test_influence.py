"""The scores of the selections, against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.graph.estimation import make_selection
from orienteer.graph.estimation.known_web import KnownWeb, Neighborhood, rank_within
from orienteer.graph.estimation.selection import Influence, StochasticComplement, best_open
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from tests.conftest import random_web
from tests.graph.estimation.reference import dense_change, dense_scores, exact_influence
from tests.graph.reference import dense_links


def neighborhood_of(web: LinkGraph, local: np.ndarray, others: np.ndarray) -> Neighborhood:
    """What is known when the local pages and these others have been crawled."""
    growing = GrowingGraph()
    growing.grow_to(web.n_pages)
    for page in [*local, *others]:
        growing.add(int(page), web.links(page))
    return KnownWeb(growing, local).neighborhood()


def parted(rng: np.random.Generator, web: LinkGraph) -> tuple[np.ndarray, np.ndarray]:
    """Some pages as local ones, and some as crawled neighbours, in increasing order."""
    pages = rng.permutation(web.n_pages)
    n_local, n_others = int(rng.integers(1, web.n_pages // 2)), int(rng.integers(0, web.n_pages // 3))
    return pages[:n_local], np.sort(pages[n_local : n_local + n_others])


@given(st.integers(0, 10_000))
def test_scores_are_one_step_on_the_stochastic_complement(number: int) -> None:
    rng = np.random.default_rng(number)
    web = random_web(rng, int(rng.integers(6, 60)), float(rng.choice([1.0, 3.0])))
    local, others = parted(rng, web)
    neighborhood = neighborhood_of(web, local, others)
    if len(neighborhood.frontier) == 0:
        return
    influence = Influence.of(neighborhood, rank_within(neighborhood, tolerance=1e-13))
    scores = influence.exact(np.arange(len(neighborhood.frontier)))
    expected = dense_scores(dense_links(web), neighborhood.pages.astype(int), len(local), "stochastic-complement")
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)
    assert (influence.lower <= scores + 1e-15).all()
    assert (scores <= influence.upper + 1e-15).all()


def test_a_dangling_page_that_links_to_the_candidate_is_dangling_no_more() -> None:
    # 2 is local and links to the uncrawled 4 alone, 3 is crawled and has no links; all of 2's rank goes to 4.
    web = LinkGraph.from_links(5, [0, 1, 0, 2], [1, 0, 4, 4])
    neighborhood = neighborhood_of(web, np.array([0, 1, 2]), np.array([3]))
    score = Influence.of(neighborhood, rank_within(neighborhood, tolerance=1e-13)).exact(np.array([0]))
    change = dense_change(dense_links(web), np.array([0, 1, 2, 3]), 4)
    assert abs(change[:3]).sum() == pytest.approx(score[0], abs=1e-14)
    assert score[0] > 0.1


@pytest.mark.parametrize("name", ["pagerank-flow", "outlink-count"])
def test_the_other_scores(name: str, rng: np.random.Generator) -> None:
    for _ in range(20):
        web = random_web(rng, 50, 3.0)
        local, others = parted(rng, web)
        neighborhood = neighborhood_of(web, local, others)
        scores = make_selection(name).scores(neighborhood, rank_within(neighborhood, tolerance=1e-13), 5, 0.85)
        expected = dense_scores(dense_links(web), neighborhood.pages.astype(int), len(local), name)
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)


def test_bounds_spare_most_of_the_work_and_change_nothing(rng: np.random.Generator) -> None:
    for _ in range(20):
        web = random_web(rng, 300, 4.0)
        local, others = parted(rng, web)
        neighborhood = neighborhood_of(web, local, others)
        rank = rank_within(neighborhood, tolerance=1e-12)
        scores = Influence.of(neighborhood, rank).exact(np.arange(len(neighborhood.frontier)))
        for k in (1, 5, 40, 1000):
            select = StochasticComplement(work=1e9)
            fast = best_open(neighborhood, select.scores(neighborhood, rank, k, 0.85), k)
            assert fast.tolist() == best_open(neighborhood, scores, k).tolist()
            assert select.error == 0


def test_without_work_the_error_is_within_its_bound(rng: np.random.Generator) -> None:
    web = random_web(rng, 300, 4.0)
    local, others = parted(rng, web)
    neighborhood = neighborhood_of(web, local, others)
    rank = rank_within(neighborhood, tolerance=1e-12)
    exact = Influence.of(neighborhood, rank).exact(np.arange(len(neighborhood.frontier)))
    select = StochasticComplement(work=0)
    near = select.scores(neighborhood, rank, 1000, 0.85)
    assert 0 < select.error < 1
    assert (np.abs(near - exact) <= select.error * near + 1e-15).all()
    some = StochasticComplement(work=1)
    assert (np.abs(some.scores(neighborhood, rank, 1000, 0.85) - exact) <= some.error * near + 1e-15).all()


def test_pages_with_the_same_in_links_tie(rng: np.random.Generator) -> None:
    sources, targets = np.repeat([0, 1, 2, 3], 4), np.tile([4, 5, 6, 7], 4)
    web = LinkGraph.from_links(9, [*sources, 0, 1, 2], [*targets, 1, 2, 8])
    neighborhood = neighborhood_of(web, np.arange(4), np.array([]))
    rank = rank_within(neighborhood, tolerance=1e-12)
    scores = make_selection("stochastic-complement").scores(neighborhood, rank, 4, 0.85)
    assert len(set(scores[:4])) == 1
    assert best_open(neighborhood, scores, 4).tolist() == [4, 5, 6, 7]


def test_scores_go_with_the_exact_influence(rng: np.random.Generator) -> None:
    found = []
    for _ in range(10):
        web = random_web(rng, 150, 5.0)
        local, others = parted(rng, web)
        neighborhood = neighborhood_of(web, local, others)
        if len(neighborhood.frontier) < 20:
            continue
        scores = Influence.of(neighborhood, rank_within(neighborhood)).exact(np.arange(len(neighborhood.frontier)))
        links = dense_links(web)
        true = [
            exact_influence(links, neighborhood.pages.astype(int), len(local), int(j)) for j in neighborhood.frontier
        ]
        found.append(np.corrcoef(scores, true)[0, 1])
    assert len(found) >= 5
    assert np.mean(found) > 0.85
