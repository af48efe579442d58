"""Which runs the test of fresh clones carries out."""

from __future__ import annotations

from itertools import product

from release.fresh_clone import Run, planned


def test_each_pair_of_values_occurs_and_there_are_at_least_three_runs() -> None:
    every = [Run(*values) for values in product(("3.11", "3.12", "3.13"), (True, False), (True, False))]
    runs = planned(every)
    assert len(set(runs)) == len(runs) < len(every)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert {(run[a], run[b]) for run in runs} == {(run[a], run[b]) for run in every}
    alike = [Run("3.11", as_root, False) for as_root in (True, False)]
    assert set(planned(alike)) == set(alike)
