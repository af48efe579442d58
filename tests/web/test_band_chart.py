"""The drawing of a crawl's course: what is drawn is what was proved."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.store.course import CoursePoint
from orienteer.web.band_chart import band_chart, round_numbers, short_count


def point(n_done: int, lower: float, upper: float, blocked: float = 0.0, rate: float = 1.0) -> CoursePoint:
    return CoursePoint(0, n_done, n_done, lower, upper, blocked, rate, 1e9)


def corners(path: str) -> list[tuple[float, float]]:
    return [tuple(map(float, corner.split())) for corner in re.split("[MLZ]", path) if corner]  # type: ignore[misc]


COURSE = [point(0, 0.0, 0.85), point(50, 0.5, 0.9, 0.05, 4.0), point(100, 0.75, 0.95, 0.1, 2.0)]


def test_the_band_lies_between_the_bounds() -> None:
    chart = band_chart(COURSE, 0.9, None)
    assert chart is not None
    assert corners(chart.lower) == [(0, 1000), (500, 500), (1000, 250)]
    assert corners(chart.upper) == [(0, 150), (500, 100), (1000, 50)]
    assert corners(chart.band) == corners(chart.upper) + corners(chart.lower)[::-1]
    assert corners(chart.reachable) == [(0, 0), (500, 50), (1000, 100)]
    assert corners(chart.speed) == [(0, 750), (500, 0), (1000, 500)]
    assert chart.fastest == 4.0
    assert chart.target is not None
    assert (chart.target.at, chart.target.label) == ("10.00%", "goal 90 %")
    assert [tick.label for tick in chart.x_ticks] == ["0", "50", "100"]
    assert chart.summary == (
        "Coverage by pages fetched. After 100 pages at least 75.00 %, at most 95.00 % is proved; the goal is 90 %."
    )
    assert json.loads(chart.data)[-1] == [100, 0.75, 0.95, 2.0, None]


def test_what_is_measured_is_a_line_that_ends_in_what_is_claimed() -> None:
    walked = [COURSE[0], replace(COURSE[1], measured=0.8), replace(COURSE[2], measured=0.91, claimed=0.9)]
    chart = band_chart(walked, 0.9, None)
    assert chart is not None
    assert corners(chart.measured) == [(500, 200), (1000, 90)]
    assert corners(chart.claimed) == [(1000, 100), (1000, 50)]
    assert (chart.at_least, chart.has_measured) == ("90 %", True)
    assert "95.00 % is proved; about 91.0 % is measured, at least 90 %; the goal is 90 %." in chart.summary
    assert [values[4] for values in json.loads(chart.data)] == [None, 0.8, 0.91]
    chart = band_chart(walked[:2], 0.9, None)
    assert chart is not None
    assert (chart.measured, chart.claimed, chart.at_least) == ("", "", ""), "a point is no line, and claims nothing"


@pytest.mark.parametrize(
    ("budget", "at", "n_most"),
    [(None, None, 100), (1000, None, 100), (125, "100.00%", 125), (100, "100.00%", 100), (80, "80.00%", 100)],
)
def test_a_budget_is_shown_when_it_is_near(budget: int | None, at: str | None, n_most: int) -> None:
    chart = band_chart(COURSE, None, budget)
    assert chart is not None
    assert (chart.budget and chart.budget.at, chart.n_most) == (at, n_most)


def test_without_pages_there_is_no_drawing() -> None:
    assert band_chart([], 0.9, 10) is None
    assert band_chart([point(0, 0.0, 0.85)], 0.9, 10) is None


@given(n=st.integers(1, 10**9), rows=st.integers(1, 40), data=st.data())
def test_any_course_can_be_drawn(n: int, rows: int, data: Any) -> None:
    counts = [*sorted(data.draw(st.integers(0, n)) for _ in range(rows)), n]
    chart = band_chart([point(count, 0.0, 1.0) for count in counts], None, None)
    assert chart is not None
    assert all(0 <= x <= 1000 and 0 <= y <= 1000 for x, y in corners(chart.band))
    assert len(chart.rows) == min(len(counts), 12)
    assert chart.rows[-1].n_done == n
    numbers = round_numbers(n)
    assert 2 <= len(numbers) <= 5
    assert numbers[0] == 0
    assert numbers[-1] <= n < numbers[-1] + numbers[1]


def test_counts_are_short() -> None:
    counts = (0, 950, 5000, 9_999, 10_000, 12_500, 200_000, 1_000_000, 1_500_000)
    assert [short_count(n) for n in counts] == ["0", "950", "5,000", "9,999", "10k", "12.5k", "200k", "1M", "1.5M"]
