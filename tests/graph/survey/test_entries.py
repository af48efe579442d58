"""Entries of lives are drawn by mass, with any rounding at the end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from orienteer.graph.coverage import Coverage
from orienteer.graph.coverage_push import BLOCKED, FETCHED
from orienteer.graph.survey.walking import Edge, _enter, draw_entries, random_level, random_start
from tests.graph.survey.reference import odd_web, plain_web


def coverage_of(p: list[float], fetched: Sequence[int] = (), blocked: Sequence[int] = ()) -> Coverage:
    coverage = Coverage(np.array(p))
    coverage.flags[list(fetched)] = FETCHED
    coverage.flags[list(blocked)] = BLOCKED
    coverage._recount()
    return coverage


def draw(coverage: Coverage, levels: np.ndarray) -> np.ndarray:
    return draw_entries(coverage, Edge.of(coverage).free, levels)


def test_pages_are_drawn_by_their_mass() -> None:
    coverage = coverage_of([0.1, 0.0, 0.2, 0.3, 0.25, 0.15], fetched=[0], blocked=[4])
    edge = Edge.of(coverage)
    assert edge.free == pytest.approx(0.65)
    assert (edge.blocked, edge.unsettled) == (0.25, 0.1)
    settled = edge.settled()
    assert (settled.free, settled.unsettled) == (pytest.approx(0.75), 0.0)
    levels = np.array([random_level("a seed", life) for life in range(20_000)])
    counts = np.bincount(draw(coverage, levels), minlength=6)
    assert counts[[0, 1, 4]].tolist() == [0, 0, 0]
    from scipy.stats import chisquare  # here, since it takes long to import

    assert chisquare(counts[[2, 3, 5]], 20_000 * np.array([0.2, 0.3, 0.15]) / 0.65).pvalue > 1e-4
    assert chisquare(np.bincount((levels * 50).astype(int), minlength=50)).pvalue > 1e-4


def test_a_level_finds_the_page_at_which_the_running_sum_exceeds_it() -> None:
    coverage = coverage_of([0.25, 0.0, 0.5, 0.25])
    assert draw(coverage, np.array([0.74, 0.0, 0.25, 0.2499, 0.75, 0.9999])).tolist() == [2, 0, 2, 0, 3, 3]


def test_a_level_at_the_very_end_finds_the_last_page_that_has_mass() -> None:
    p = np.array([0.1, 0.2, 0.3, 0.0])
    found = np.zeros(2, np.int64)
    _enter(p, np.zeros(4, np.uint8), np.array([0.05, 0.7]), found)
    assert found.tolist() == [0, 2]


def test_without_mass_nothing_is_drawn() -> None:
    coverage = coverage_of([1.0, 0.0], fetched=[0])
    assert Edge.of(coverage).free == 0.0
    assert draw(coverage, np.zeros(0)).tolist() == []


def test_plain_python_equals_compiled_code_to_the_bit() -> None:
    rng = np.random.default_rng(5)
    p, flags = rng.random(500), rng.choice([0, FETCHED, BLOCKED], 500, p=[0.6, 0.3, 0.1]).astype(np.uint8)
    levels = np.sort(rng.random(100)) * p[flags == 0].sum()
    found = [np.zeros(100, np.int64), np.zeros(100, np.int64)]
    _enter.compiled(p, flags, levels, found[0])
    _enter.plain(p, flags, levels, found[1])
    assert found[0].tolist() == found[1].tolist()


def test_lives_have_random_numbers_of_their_own() -> None:
    starts = {random_start(seed, life) for seed in ("a", "b") for life in range(1000)}
    assert len(starts) == 2000
    assert {random_level("a", life) for life in range(1000)}.isdisjoint(start / 2**64 for start in starts)


def test_bounds_at_the_edge_are_those_of_the_certificate() -> None:
    for number in range(6):
        rng = np.random.default_rng(number)
        web = odd_web(rng) if number % 2 else plain_web(rng)
        coverage = web.settled(rng.random(web.n_pages) < 0.6)
        proved, edge = coverage.certificate(), Edge.of(coverage)
        assert edge.upper() == pytest.approx(proved.upper, abs=1e-9)
        for c in (0.3, 0.9):
            is_proved = edge.allowed(c) >= edge.free
            assert is_proved == (proved.lower >= c)
            assert (edge.allowed(c, of_reachable=True) >= edge.free) == (proved.of_reachable >= c)


def test_unknown_trust_counts_as_outside_also_for_reachable_coverage() -> None:
    coverage = Coverage(np.array([1.0, 0.0]), known_trust=0.9)
    edge = Edge.of(coverage)
    assert edge.hidden == pytest.approx(0.1)
    for of_reachable in (False, True):
        assert edge.allowed(0.9, of_reachable) == pytest.approx(0.1 - 0.1)
        assert edge.upper(of_reachable) == pytest.approx(1 - 0.15)
