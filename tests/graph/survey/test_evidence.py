"""The evidence: its product, its stakes, and the gain of earlier walks from later pages."""

from __future__ import annotations

from math import inf, log

import numpy as np
import pytest

from orienteer.graph.survey.evidence import MAX_STAKE_SHARE, Evidence, _peak_and_total, kelly, largest_stake
from orienteer.graph.survey.walking import highest_score
from tests.tables import over_rows


def naive(scores: list[float], allowed: list[float], free: list[float], stakes: list[float], gains: list[float],
          more: float) -> tuple[float, float]:  # fmt: skip
    """The best product over the first walks, and that of all."""
    product, best = 1.0, 1.0
    for k, score in enumerate(scores):
        product *= 1 + stakes[k] * ((allowed[k] + gains[k] + more) / free[k] - score)
        best = max(best, product)
    return log(best), log(product)


def random_evidence(rng: np.random.Generator, n: int) -> tuple[Evidence, list[list[float]]]:
    evidence = Evidence(0.01)
    free = rng.uniform(0.05, 0.3, n)
    allowed = free * rng.uniform(0.1, 0.9, n)
    stakes = rng.random(n) * MAX_STAKE_SHARE * np.array([largest_stake(m, 1.0) for m in allowed / free])
    for walk in range(n):
        evidence.stake(walk, allowed[walk], free[walk], stakes[walk])
    scores = rng.beta(1, 4, n)
    evidence.add_scores(scores[: n // 2])
    evidence.add_scores(scores[n // 2 :])
    return evidence, [column.tolist() for column in (scores, allowed, free, stakes)]


@over_rows("number", range(5))
def test_it_is_the_product(number: int) -> None:
    rng = np.random.default_rng(number)
    evidence, columns = random_evidence(rng, 150)
    gains = np.sort(rng.random(150) * 0.02)[::-1].copy()
    for more in (0.0, 0.01):
        best, all_of_it = naive(*columns, gains.tolist(), more)
        assert evidence.peak(gains, more) == pytest.approx(best)
        assert evidence.total(gains, more) == pytest.approx(all_of_it)
    assert evidence.goal == pytest.approx(log(100))
    assert evidence.n == 150


def test_later_pages_only_add_evidence() -> None:
    evidence, _ = random_evidence(np.random.default_rng(7), 100)
    gains = np.zeros(100)
    found = [evidence.total(gains + more) for more in np.linspace(0, 0.05, 20)]
    assert found == sorted(found)
    assert found[-1] > found[0]


def test_no_score_loses_all() -> None:
    """Also not one that is a little above 1, with the largest stake, whatever the threshold."""
    for damping in (0.5, 0.85, 0.99):
        highest = highest_score(damping)
        for threshold in (0.0, 0.2, 0.9, 0.96, 0.97, 0.999, 5.0):
            stake = MAX_STAKE_SHARE * largest_stake(threshold, highest)
            assert 1 + stake * (threshold - highest) >= 1 - MAX_STAKE_SHARE - 1e-9


@over_rows("number", range(8))
def test_kelly_is_the_best_constant_stake(number: int) -> None:
    rng = np.random.default_rng(number)
    scores, weights = rng.beta(1, 5, 40), rng.uniform(0.2, 1, 40)
    threshold, caution = float(rng.uniform(0.1, 0.7)), 0.1

    def growth(share: float) -> float:
        x = (threshold - scores) / (1 - threshold)
        return float((weights * np.log1p(share * x)).sum() + caution * np.log1p(-share)) / (weights.sum() + caution)

    share, expected = kelly(scores, weights, threshold, caution)
    grid = np.linspace(0, MAX_STAKE_SHARE, 2000)
    growths = [growth(one) for one in grid.tolist()]
    best = int(np.argmax(growths))
    assert share == pytest.approx(grid[best], abs=2e-3)
    assert expected == pytest.approx(max(growths[best], 0.0), abs=1e-6)


def test_kelly_stakes_nothing_where_nothing_can_be_won() -> None:
    assert kelly(np.array([0.5, 0.6]), np.ones(2), 0.4, 0.03) == (0.0, 0.0)
    assert kelly(np.array([0.5]), np.ones(1), 1.0, 0.03) == (MAX_STAKE_SHARE, -log(1 - MAX_STAKE_SHARE))


def test_the_mean_of_the_product_is_1_if_thresholds_are_the_means() -> None:
    """A martingale: with the true means instead of thresholds nothing is won on the average."""
    rng = np.random.default_rng(11)
    products = []
    for _ in range(4000):
        scores = rng.beta(1, 4, 10)
        factors = 1 + 0.8 * (0.2 - scores)
        products.append(factors.prod())
    assert np.mean(products) == pytest.approx(1.0, abs=4 * np.std(products) / np.sqrt(4000))


def test_plain_python_equals_compiled_code_to_the_bit() -> None:
    rng = np.random.default_rng(3)
    evidence, _ = random_evidence(rng, 80)
    arguments = (evidence.scores, evidence.allowed, evidence.free, evidence.stakes, rng.random(80) / 50, 0.001, 80)
    assert _peak_and_total.compiled(*arguments) == _peak_and_total.plain(*arguments)
    weights = rng.random(80)
    for threshold in (0.1, 0.3, 0.8, 1.0):
        arguments = (evidence.scores[:80], weights, threshold, 0.03)
        assert kelly.compiled(*arguments) == kelly.plain(*arguments)
    assert kelly.plain(evidence.scores[:80], weights, 0.3, inf) == (0.0, 0.0)
