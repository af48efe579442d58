from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.graph.estimation.history import Errors, kendall_tau


def tau_b(first: list[int], second: list[int]) -> float:
    """Kendall's tau-b by its definition, pair by pair."""
    balance = untied_first = untied_second = 0
    for i, j in itertools.combinations(range(len(first)), 2):
        a, b = np.sign(first[i] - first[j]), np.sign(second[i] - second[j])
        balance += a * b
        untied_first += a != 0
        untied_second += b != 0
    return float(balance / math.sqrt(untied_first * untied_second)) if untied_first and untied_second else math.nan


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 7)), min_size=1, max_size=50))
def test_tau_is_the_one_of_its_definition_with_many_ties(pairs: list[tuple[int, int]]) -> None:
    first, second = (list(values) for values in zip(*pairs, strict=True))
    rank, truth = np.array(first) / sum(first), np.array(second) / sum(second)
    errors = Errors.between(rank, truth)
    assert errors.tau == pytest.approx(tau_b(first, second), abs=1e-12, nan_ok=True)
    assert errors.l1 == pytest.approx(sum(abs(a - b) for a, b in zip(rank, truth, strict=True)))
    assert errors.l_inf == pytest.approx(max(abs(a - b) for a, b in zip(rank, truth, strict=True)))


def test_differences_below_the_precision_are_ties() -> None:
    truth = np.array([0.2, 0.3, 0.5])
    assert Errors.between(truth + np.array([0, 1e-9, -1e-9]), truth).tau == 1.0
    apart = np.array([0.2, 0.4, 0.4 + 1e-9])
    assert Errors.between(apart, apart[[0, 2, 1]]).tau == pytest.approx(1.0)  # not 1/3: the last two are tied
    assert Errors.between(truth, truth[::-1]).tau == -1.0


def test_tau_of_many_pages_is_that_of_scipy(rng: np.random.Generator) -> None:
    from scipy.stats import kendalltau  # here, since it takes long to import

    first = rng.integers(0, 500, 3000).astype(float)
    for second in (rng.random(3000), np.rint(first / 7), -first, np.zeros(3000)):
        expected = float(kendalltau(first, second).statistic)
        assert kendall_tau(first, second) == pytest.approx(expected, abs=1e-12, nan_ok=True)
