from __future__ import annotations

import numpy as np

from orienteer.graph import synthetic as shapes
from orienteer.graph.components import components, condensation
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
