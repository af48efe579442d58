from __future__ import annotations

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph import synthetic as shapes
from orienteer.graph.reach import distances, within
from tests.conftest import random_web
from tests.graph.reference import dense_reach, depth_weights


@pytest.mark.parametrize("hops", [0, 1, 2, 3, 5])
def test_within_equals_the_reference(rng: np.random.Generator, hops: int) -> None:
    web = random_web(rng, 90, 1.5)
    reached = dense_reach(web, hops)
    for pages in ([0], [5, 60, 7], list(range(90)), []):
        assert within(web, pages, hops).tolist() == np.flatnonzero(reached[pages].any(axis=0)).tolist()


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 6])
@pytest.mark.parametrize("n_pages", [1, 8, 70, 700, 1100])
def test_depth_weights_equal_the_reference(rng: np.random.Generator, depth: int, n_pages: int) -> None:
    web = random_web(rng, n_pages, 1.5)
    reached = dense_reach(web, depth)
    assert depth_weights(web, depth).tolist() == reached.sum(axis=1).tolist()
    values = rng.normal(size=n_pages) * (rng.random(n_pages) < 0.7)  # negative and zero values too
    assert depth_weights(web, depth, values) == pytest.approx(reached @ values, abs=1e-9)


def test_depth_weights_of_the_shapes() -> None:
    assert depth_weights(shapes.cycle(5), 9).tolist() == [5] * 5
    assert depth_weights(shapes.star(4), 1).tolist() == [5, 2, 2, 2, 2]
    assert depth_weights(shapes.star(4), 2).tolist() == [5] * 5
    assert depth_weights(shapes.disconnected(3), 4, [1, -2, 0]).tolist() == [1, -2, 0]
    assert depth_weights(shapes.disconnected(0), 4).tolist() == []


def test_distances_count_links() -> None:
    assert distances(shapes.cycle(5), [3]).tolist() == [2, 3, 4, 0, 1]
    assert distances(shapes.chain(4), [1, 2]).tolist() == [-1, 0, 0, 1]


def test_unusable_arguments_are_one_clear_line() -> None:
    web = shapes.cycle(3)
    with pytest.raises(ori.InputError, match="hops is -1"):
        distances(web, [0], -1)
    with pytest.raises(ori.InputError, match="page 3 is not in the graph"):
        within(web, [3], 1)
