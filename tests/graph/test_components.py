from __future__ import annotations

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from orienteer.graph import shapes
from orienteer.graph.components import components, condensation, connected_by
from orienteer.graph.link_graph import LinkGraph
from tests.conftest import random_web
from tests.graph.reference import dense_components


def test_components_equal_mutual_reach(rng: np.random.Generator) -> None:
    for n in (1, 2, 5, 30, 120):
        for degree in (0.5, 1.0, 1.5, 3.0):
            web = random_web(rng, n, degree)
            n_components, labels = components(web)
            assert (labels[:, None] == labels[None, :]).tolist() == dense_components(web).tolist()
            assert sorted(set(labels.tolist())) == list(range(n_components))


def test_components_are_numbered_along_the_links(rng: np.random.Generator) -> None:
    for _ in range(20):
        web = random_web(rng, 200, 1.2)
        _, labels = components(web)
        assert (labels[web.sources()] <= labels[web.targets]).all()


def test_components_of_the_shapes() -> None:
    assert components(shapes.cycle(50))[0] == 1
    assert components(shapes.clique(9))[0] == 1
    assert components(shapes.star(9))[0] == 1
    assert components(shapes.chain(50))[0] == 50
    assert components(shapes.disconnected(5))[0] == 5
    assert components(shapes.disconnected(0))[0] == 0
    assert components(shapes.clique_and_cycle(4, 3))[1].tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_a_long_chain_does_not_overflow_any_stack() -> None:
    assert components(shapes.chain(300_000))[0] == 300_000
    assert components(shapes.cycle(300_000))[0] == 1


def test_the_condensation_links_components_whose_pages_link(rng: np.random.Generator) -> None:
    web = random_web(rng, 150, 1.2)
    condensed, labels = condensation(web)
    expected = {(a, b) for a, b in zip(labels[web.sources()], labels[web.targets], strict=True) if a != b}
    assert set(zip(condensed.sources().tolist(), condensed.targets.tolist(), strict=True)) == expected
    assert isinstance(condensed, LinkGraph)
    assert (condensed.sources() < condensed.targets).all()


def test_items_that_pointers_connect_are_the_weak_components_of_scipy(rng: np.random.Generator) -> None:
    for n in (0, 1, 2, 7, 300):
        pointers = rng.integers(0, n, n) if n else np.zeros(0, np.int64)
        loose = rng.random(n) < 0.3
        pointers[loose] = np.flatnonzero(loose)
        matrix = scipy.sparse.coo_array((np.ones(n), (np.arange(n), pointers)), shape=(n, n))
        expected = connected_components(matrix, directed=False)[1] if n else np.zeros(0)
        found = connected_by(pointers)
        assert len({*zip(found.tolist(), expected.tolist(), strict=True)}) == len(set(found)) == len(set(expected))
