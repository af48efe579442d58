"""What must hold for every crawl of every web: lower <= truth <= upper, at every step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import orienteer as ori
from orienteer.policies import all_policies
from tests.graph.reference import dense_pagerank
from tests.laws.test_graph_laws import webs

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
    for certificate, true in zip(trace.certificates(np.arange(1, len(covered) + 1)), covered, strict=True):
        assert certificate.lower <= true + 1e-12 <= certificate.upper + 2e-12


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
