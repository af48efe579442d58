"""What must hold for every web."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import orienteer as ori
from orienteer.graph.components import components
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.reach import distances
from tests.graph.reference import depth_weights


@st.composite
def webs(draw: st.DrawFn) -> LinkGraph:
    n = draw(st.integers(1, 25))
    pages = st.integers(0, n - 1)
    links = draw(st.lists(st.tuples(pages, pages), max_size=80))
    return LinkGraph.from_links(n, [s for s, _ in links], [t for _, t in links])


@st.composite
def relabelled_webs(draw: st.DrawFn) -> tuple[LinkGraph, np.ndarray, LinkGraph]:
    """A web, a new id for every page, and the web under its new ids."""
    web = draw(webs())
    new = np.array(draw(st.permutations(range(web.n_pages))))
    return web, new, LinkGraph.from_links(web.n_pages, new[web.sources()], new[web.targets])


@given(webs(), st.floats(0, 0.95))
def test_ranks_sum_to_one_and_are_never_negative(web: LinkGraph, damping: float) -> None:
    rank = ori.pagerank(web, damping=damping)
    assert abs(rank.sum() - 1) < 1e-12
    assert (rank >= 0).all()


@given(relabelled_webs(), st.data())
def test_relabelling_pages_relabels_ranks(case: tuple[LinkGraph, np.ndarray, LinkGraph], data: st.DataObject) -> None:
    web, new, relabelled = case
    trusted = data.draw(st.lists(st.integers(0, web.n_pages - 1), min_size=1, max_size=3))
    rank = ori.pagerank(web, trust=trusted, tolerance=1e-11)
    assert np.abs(ori.pagerank(relabelled, trust=new[trusted], tolerance=1e-11)[new] - rank).sum() < 1e-10


@given(relabelled_webs())
def test_relabelling_pages_relabels_components_and_reach(case: tuple[LinkGraph, np.ndarray, LinkGraph]) -> None:
    web, new, relabelled = case
    _, labels = components(web)
    _, other = components(relabelled)
    assert ((labels[:, None] == labels) == (other[new][:, None] == other[new])).all()
    assert (distances(relabelled, [new[0]])[new] == distances(web, [0])).all()
    assert (depth_weights(relabelled, 3)[new] == depth_weights(web, 3)).all()


@given(webs())
def test_turning_the_links_round_twice_changes_nothing(web: LinkGraph) -> None:
    back = web.reverse()
    assert LinkGraph(back.offsets, back.targets).reverse() == web
    assert components(back)[0] == components(web)[0]


@given(webs(), st.integers(0, 4))
def test_going_one_link_further_never_loses_a_page(web: LinkGraph, depth: int) -> None:
    assert (depth_weights(web, depth) <= depth_weights(web, depth + 1)).all()
    assert (depth_weights(web, depth) >= 1).all()


@given(webs(), st.floats(1e-9, 0.1))
def test_a_finer_tolerance_stays_within_the_coarser_one(web: LinkGraph, tolerance: float) -> None:
    coarse = ori.pagerank(web, trust=[0], tolerance=tolerance)
    fine = ori.pagerank(web, trust=[0], tolerance=1e-12)
    assert np.abs(coarse - fine).sum() <= tolerance + 1e-12
