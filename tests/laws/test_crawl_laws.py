"""What must hold for every crawl of every web: lower <= truth <= upper, at every step."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import orienteer as ori
from orienteer.graph.coverage import certificate
from orienteer.policies import all_policies
from orienteer.policies.pushing import Certified
from tests.graph.reference import dense_links, dense_pagerank
from tests.laws.test_graph_laws import webs
from tests.policies import reference

NAMES = list(all_policies())


@st.composite
def trusted_webs(draw: st.DrawFn) -> tuple[ori.LinkGraph, np.ndarray]:
    web = draw(webs())
    pages = draw(st.lists(st.integers(0, web.n_pages - 1), min_size=1, max_size=4, unique=True))
    weights = draw(st.lists(st.sampled_from([0.1, 0.5, 1.0]), min_size=len(pages), max_size=len(pages)))
    trust = np.zeros(web.n_pages)
    trust[pages] = weights
    return web, trust / trust.sum()


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20)
@given(case=trusted_webs(), damping=st.sampled_from([0.2, 0.5, 0.85, 0.95]))
def test_bounds_hold_at_every_step_of_every_policy(
    name: str, case: tuple[ori.LinkGraph, np.ndarray], damping: float
) -> None:
    web, trust = case
    chosen = {"damping": damping} if "damping" in ori.policies.settings_of(all_policies()[name]) else {}
    used = chosen.get("damping", 0.85)
    trace = ori.simulate(web, name, trust, **chosen)
    covered = np.cumsum(dense_pagerank(web, trust, trust, used)[trace.order])
    if trace.guarantees is not None:
        assert (trace.guarantees <= covered + 1e-12).all()
        assert (np.diff(trace.guarantees) >= -1e-12).all()
    for bounds, true in zip(trace.certificates(np.arange(1, len(covered) + 1)), covered, strict=True):
        assert bounds.lower <= true + 1e-12 <= bounds.upper + 2e-12


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20)
@given(case=trusted_webs(), until=st.floats(0.05, 0.99))
def test_a_crawl_that_says_covered_is_covered(name: str, case: tuple[ori.LinkGraph, np.ndarray], until: float) -> None:
    web, trust = case
    trace = ori.simulate(web, name, trust, until=until)
    truth = dense_pagerank(web, trust, trust, 0.85)[trace.order].sum()
    assert trace.stopped_because == "coverage"
    assert truth >= until - 1e-9
    assert trace.guarantee >= until - 1e-12


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20)
@given(case=trusted_webs())
def test_step_by_step_is_in_bulk(name: str, case: tuple[ori.LinkGraph, np.ndarray]) -> None:
    web, trust = case
    bulk, stepped = (ori.simulate(web, name, trust, step_by_step=step) for step in (False, True))
    assert bulk.order.tolist() == stepped.order.tolist()


@given(
    case=trusted_webs(),
    damping=st.sampled_from([0.2, 0.85, 0.95]),
    eagerness=st.sampled_from([1.0, 0.1]),
    floor=st.sampled_from([Certified.floor, 0.01, 0.3, 1.0]),
)
def test_what_waits_below_the_floor_stays_in_the_bounds_and_hardly_changes_the_order(
    case: tuple[ori.LinkGraph, np.ndarray], damping: float, eagerness: float, floor: float
) -> None:
    """The three claims of docs/theory/order.md, for the slow reference that the kernels equal."""
    web, trust = case
    with mock.patch.object(Certified, "floor", floor):
        trace = ori.simulate(web, "certified", trust, damping=damping, eagerness=eagerness)
    steps = list(reference.certified(web, trust, damping, eagerness, floor))
    assert trace.order.tolist() == [page for page, _, _ in steps]
    truth = dense_pagerank(web, trust, trust, damping)
    for page, p, done in steps:
        fetched = np.isin(np.arange(web.n_pages), list(done))
        waits = np.where(fetched & (p > eagerness * p[page]), p, 0.0)
        assert waits.sum() <= floor + 1e-12
        pushed = p + after_pushing(web, waits, fetched, damping)
        assert (pushed - p)[~fetched].sum() <= damping * floor + 1e-12
        assert p[page] >= pushed[~fetched].max() - damping * floor - 1e-12
        if done:
            assert trace.guarantees is not None
            own = float(trace.guarantees[len(done) - 1])
            tight = certificate(web, fetched, trust, damping=damping, tolerance=1e-13).lower
            assert tight - p[fetched].sum() / (1 - damping) - 1e-11 <= own <= tight + 1e-11
            assert own <= truth[fetched].sum() + 1e-11


def after_pushing(web: ori.LinkGraph, amounts: np.ndarray, fetched: np.ndarray, damping: float) -> np.ndarray:
    """What unfetched pages get once these amounts are pushed until nothing moves, by solving the linear system."""
    links = dense_links(web).astype(float)
    step = damping * (links / np.maximum(links.sum(axis=1, keepdims=True), 1)).T * fetched
    arrived = step @ np.linalg.solve(np.eye(web.n_pages) - step, amounts)
    return np.where(fetched, 0.0, arrived)
