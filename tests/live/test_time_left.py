"""How long a crawl will take: a straight line is too hopeful, a logarithm mostly enough, and often nobody can tell."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from orienteer.crawl.goal import Goal
from orienteer.live.time_left import Left, Outlook, Point


def watched(seconds: int, lower: Callable[[int], float], frontier: Callable[[int], int] = lambda n: 10 * n) -> Outlook:
    """Ten pages a second, looked at once a second."""
    outlook = Outlook()
    for second in range(seconds + 1):
        n_done = 10 * second
        outlook.see(Point(100.0 + second, n_done, lower(n_done), frontier(n_done)))
    return outlook


def logarithmic(n_done: int) -> float:
    return 0.1 * math.log(1 + n_done)


def test_nothing_is_said_of_a_coverage_at_the_beginning() -> None:
    assert watched(9, logarithmic).left(Goal(until=0.9)) == Left()
    assert watched(9, logarithmic).left(Goal(budget=100)) == Left(1.0, 1.0), "a budget is only counted"


def test_the_truth_lies_between_the_two_estimates() -> None:
    truth = (math.exp(9) - 1) / 10  # seconds until a coverage of 0.9
    for seconds in (20, 60, 200):
        left = watched(seconds, logarithmic).left(Goal(until=0.9))
        assert left.least_s is not None
        assert left.most_s is not None
        assert left.least_s < truth - seconds
        assert left.most_s == pytest.approx(truth - seconds, rel=0.1)


def test_a_frontier_that_gets_smaller_is_a_limit() -> None:
    outlook = watched(60, logarithmic, lambda n_done: 800 - n_done)
    assert outlook.left(Goal(until=0.9)) == Left(pytest.approx(20.0), pytest.approx(20.0))
    assert outlook.left(Goal()) == Left(20.0, 20.0)
    assert watched(60, logarithmic).left(Goal()) == Left(), "it grows: nobody knows how far"


def test_a_coverage_that_does_not_rise_has_no_end() -> None:
    assert watched(60, lambda n_done: 0.5).left(Goal(until=0.9)) == Left()
    assert watched(60, lambda n_done: 0.95).left(Goal(until=0.9)) == Left(0.0, 0.0)


def test_nothing_is_known_while_nothing_comes() -> None:
    outlook = Outlook()
    for second in range(60):
        outlook.see(Point(float(second), 5, 0.1, 7))
    assert outlook.pages_per_s == 0.0
    assert outlook.left(Goal(until=0.9, budget=10)) == Left()
