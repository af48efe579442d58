from __future__ import annotations

import numpy as np
import pytest

from orienteer.graph import shapes
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.reach import add_depth_weights, weights_of
from orienteer.graph.reach_sketch import TYPICAL_ERROR, _nearer, estimated_weights, gamma_quantile
from tests.conftest import random_web
from tests.graph.reference import depth_weights


def test_estimates_are_right_on_average_and_bounded(rng: np.random.Generator) -> None:
    web = random_web(rng, 2000, 2.0)
    values = rng.pareto(1.5, 2000) * (rng.random(2000) < 0.8)
    exact = depth_weights(web, 3, values)
    heavy = exact > 0
    n_draws = 40
    ratios = np.zeros(2000)
    for draw in range(n_draws):
        found = estimated_weights(web, 3, values, draw)
        ratios[heavy] += found.estimates[heavy] / exact[heavy]
        assert found.bound(0.001) >= exact.max()
        assert found.bound(0.001) <= min(5 * exact.max(), values.sum() * (1 + 1e-12))
    assert abs(ratios[heavy].mean() / n_draws - 1) < 0.05
    # Forty draws make the error of a page a sixth of the typical one; the worst of two thousand has a few times that.
    assert np.abs(ratios[heavy] / n_draws - 1).max() < 6 * TYPICAL_ERROR / np.sqrt(n_draws)


def test_pages_that_reach_nothing_of_value() -> None:
    web = shapes.chain(5)
    found = estimated_weights(web, 2, np.array([0.0, 0, 1, 0, 0]), 0)
    assert found.estimates[3:].max() < 1e-3 * found.estimates[:3].min()
    nothing = estimated_weights(web, 2, np.zeros(5), 0)
    assert nothing.estimates.tolist() == [0] * 5
    assert nothing.bound(0.01) == 0


def test_eight_numbers_at_once(rng: np.random.Generator) -> None:
    a, b = rng.integers(0, 128, (2, 50, 8), dtype=np.uint8)
    for one, other in zip(a, b, strict=True):
        found = _nearer(one.view(np.uint64)[0], other.view(np.uint64)[0])
        assert np.array([found], np.uint64).view(np.uint8).tolist() == np.maximum(one, other).tolist()


@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_weights_of_a_few_pages_are_those_of_all(depth: int, rng: np.random.Generator) -> None:
    web = random_web(rng, 300, 2.0)
    values = rng.integers(-5, 6, 300).astype(float)
    pages = rng.choice(300, 150)  # some twice
    assert weights_of(web, pages, depth, values).tolist() == depth_weights(web, depth, values)[pages].tolist()


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_weights_updated_by_differences(depth: int, rng: np.random.Generator) -> None:
    web = random_web(rng, 300, 2.0)
    values = rng.integers(-5, 6, 300).astype(float)
    weights = depth_weights(web, depth, values)
    gone = np.flatnonzero(rng.random(300) < 0.3)
    add_depth_weights(web, depth, gone, -values, weights)
    values[gone] = 0
    assert weights.tolist() == depth_weights(web, depth, values).tolist()


def test_candidates_reach_different_things_and_look_alikes_the_same() -> None:
    """Two cliques: all pages of one reach the same, and share their ranks; of the other, none of these."""
    web = LinkGraph.from_links(
        60, *np.array([(a, b) for a in range(60) for b in range(60) if (a < 40) == (b < 40)]).T.tolist()
    )
    found = estimated_weights(web, 2, np.ones(60), 1)
    unlike = found.dissimilar(found.estimates, 5).tolist()
    assert len(unlike) == 2
    assert {page < 40 for page in unlike} == {True, False}
    assert found.similar(50, found.estimates, 100).tolist() == list(range(40, 60))
    assert found.similar(3, found.estimates, 7).tolist() == list(range(7))


def test_ranks_are_drawn_from_the_exponential_distribution() -> None:
    """Isolated pages: the estimate of each comes from its own draws."""
    n = 20_000
    estimates = estimated_weights(LinkGraph.from_links(n, [], []), 3, np.ones(n), 5).estimates
    assert abs(estimates.mean() - 1) < 0.02
    assert abs(estimates.std() - TYPICAL_ERROR) < 0.02


@pytest.mark.parametrize("p", [0.5, 0.01, 1e-6, 1e-13])
def test_the_quantile_is_that_of_scipy(p: float) -> None:
    from scipy.special import gammainccinv  # here, since it takes long to import

    assert gamma_quantile(p) == pytest.approx(float(gammainccinv(32, p)), rel=1e-12)
