"""The search for the first relevant page: breadth-first, and the delay caused by excursions."""

from __future__ import annotations

import numpy as np
import pytest

import orienteer as ori
from orienteer.errors import InputError
from orienteer.graph.navigational import KnownLinks
from orienteer.policies.scent import n_excursions, search_scores
from tests.conftest import random_web
from tests.policies import reference


def dense_search(web: ori.LinkGraph, seeds: list[int], done: set[int], n_fetched: int, e: float) -> list[int]:
    """The order of the frontier by the definition of `search_scores`."""
    order, depth = list(seeds), dict.fromkeys(seeds, 0)
    for page in order:
        for target in web.links(page).tolist() if page in done else []:
            if target not in depth:
                depth[target] = depth[page] + 1
                order.append(target)
    near = [page for page in order if page not in done]
    hub = {i: 2 / (2 + sum(t in done for t in web.links(i).tolist())) for i in done}
    sources = {page: [i for i in done if page in web.links(i)] for page in near}
    value = {page: np.mean([hub[i] for i in sources[page]] or [0]) * 0.9 ** depth[page] for page in near}
    untried = sorted(near, key=lambda page: -round(value[page], 12))
    merged: list[int] = []
    for t in range(n_fetched, n_fetched + len(near)):
        due = np.floor(n_excursions(np.array([t, t + 1]), e))
        merged.append(next(page for page in (untried if due[1] > due[0] else near) if page not in merged))
    return merged


@pytest.mark.parametrize("e", [0.0, 5.0, 40.0])
def test_the_order_is_as_defined(e: float, rng: np.random.Generator) -> None:
    for _ in range(10):
        web = random_web(rng, 60, 3.0)
        done = set(ori.simulate(web, "breadth-first", [0, 1], budget=15).order.tolist())
        is_done = np.isin(np.arange(60), list(done))
        known = web.only_links_of(is_done)
        in_degrees = np.bincount(known.targets, minlength=60)
        links = KnownLinks(known.offsets[:-1], known.offsets[1:], known.targets, in_degrees)
        scores = search_scores(links, np.array([0, 1], np.uint32), is_done, is_done, len(done), e)
        expected = dense_search(web, [0, 1], done, len(done), e)
        found = np.flatnonzero(scores > -np.inf)
        assert found[np.argsort(-scores[found])].tolist() == expected


@pytest.mark.parametrize("e", [0.0, 10.0, 40.0, 200.0])
def test_excursions_cost_no_more_than_promised(e: float, rng: np.random.Generator) -> None:
    for _ in range(5):
        web = random_web(rng, 250, 3.0)
        trust = np.zeros(250)
        trust[:2] = 0.5
        order = ori.simulate(
            web, "scent", trust, relevance=np.zeros(250), excursions=e, batch=1, growth=0
        ).order.tolist()
        near_first = reference.breadth_first(web, trust)
        assert sorted(order) == sorted(near_first)
        for b, page in enumerate(near_first, 1):
            t = order.index(page) + 1
            assert t <= b + n_excursions(np.array([t]), e)[0] + 1e-9
        if e == 0:
            assert order == near_first


def test_excursions_reach_behind_a_long_list() -> None:
    # 0 links to a list of 300 pages. The last of them leads to the topic; page 1 links to it, too.
    sources, targets = [*[0] * 300, 1, *[300] * 20], [*range(1, 301), 300, *range(301, 321)]
    web = ori.LinkGraph.from_links(321, sources, targets)
    relevance = (np.arange(321) > 300) * 1.0
    first = {
        e: int(np.flatnonzero(relevance[ori.simulate(web, "scent", [0], relevance=relevance, excursions=e).order])[0])
        for e in (0.0, 40.0)
    }
    assert first[0.0] == 301
    assert first[40.0] < 100


def test_bad_settings_get_one_line() -> None:
    with pytest.raises(InputError, match="excursions is -1"):
        ori.simulate(ori.LinkGraph.from_links(2, [0], [1]), "scent", [0], relevance=[0, 1], excursions=-1)
