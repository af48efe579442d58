from __future__ import annotations

import numpy as np

from orienteer.evaluate.metrics import Curve, cumulative_rank, first_reaching, sample_positions


def test_cumulative_rank_is_the_sum_of_what_was_fetched(rng: np.random.Generator) -> None:
    rank = rng.random(50)
    order = rng.permutation(50)[:30]
    found = cumulative_rank(rank, order.astype(np.uint32))
    assert np.allclose(found, [sum(rank[page] for page in order[: k + 1]) for k in range(30)])


def test_first_reaching_is_the_first() -> None:
    values = np.array([0.1, 0.5, 0.5, 0.9])
    assert [first_reaching(values, level) for level in (0.05, 0.5, 0.51, 0.9, 0.95)] == [1, 2, 4, 4, None]
    assert first_reaching(np.empty(0), 0.5) is None
    assert first_reaching(np.array([0.2, 0.8, 0.79]), 0.795) == 2  # a value that sinks again was reached all the same


def test_positions_go_from_the_first_fetch_to_the_last() -> None:
    for n_fetched in (1, 2, 7, 100, 12_345):
        positions = sample_positions(n_fetched, 60)
        assert positions[0] == 1
        assert positions[-1] == n_fetched
        assert (np.diff(positions) > 0).all()
        assert len(positions) <= 60
    assert len(sample_positions(12_345, 60)) > 45
    assert len(sample_positions(0, 60)) == 0


def test_a_sampled_curve_has_the_values_after_so_many_fetches() -> None:
    curve = Curve.sampled(np.array([0.1, 0.2, 0.3]), np.array([1, 3]))
    assert curve.values.tolist() == [0.1, 0.3]
