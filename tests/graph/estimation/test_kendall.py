from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

import orienteer as ori
from orienteer.graph.estimation.kendall import kendall_tau

PAIRS = st.lists(st.tuples(st.integers(-4, 4), st.integers(-3, 3)), min_size=2, max_size=60)


@given(PAIRS)
def test_equals_scipy_with_many_ties(pairs: list[tuple[int, int]]) -> None:
    first, second = zip(*pairs, strict=True)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert math.isnan(kendall_tau(first, second))
    else:
        assert kendall_tau(first, second) == pytest.approx(kendalltau(first, second).statistic, abs=1e-12)


def test_equals_scipy_on_long_rows(rng: np.random.Generator) -> None:
    first = rng.pareto(1.0, 30_000)
    second = first + rng.normal(0, 0.5, 30_000)
    for a, b in ((first, second), (first.round(1), second.round(2)), (first, -first)):
        assert kendall_tau(a, b) == pytest.approx(kendalltau(a, b).statistic, abs=1e-12)


def test_rows_of_different_length_and_no_rows() -> None:
    with pytest.raises(ori.InputError, match="2 values cannot be compared with 3"):
        kendall_tau([1, 2], [1, 2, 3])
    assert math.isnan(kendall_tau([], []))
    assert math.isnan(kendall_tau([3], [4]))
