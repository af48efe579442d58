"""The chart of a crawl's progress: it draws the proved bounds."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.store.progress_points import ProgressPoint
from orienteer.web.coverage_charts import Scale, band_chart, round_numbers, short_count
from tests.tables import over_rows


def point(n_done: int, lower: float, upper: float, blocked: float = 0.0, rate: float = 1.0) -> ProgressPoint:
    return ProgressPoint(0, n_done, n_done, lower, upper, blocked, rate, 1e9)


def corners(path: str) -> list[tuple[float, float]]:
    return [tuple(map(float, corner.split())) for corner in re.split("[MLZ]", path) if corner]  # type: ignore[misc]


POINTS = [point(0, 0.0, 0.85), point(50, 0.5, 0.9, 0.05, 4.0), point(100, 0.75, 0.95, 0.1, 2.0)]


SCALE = Scale(0.025)  # half of what is missing at last


def at(share: float) -> float:
    return round(1000 * SCALE.at(share), 1)


def test_each_half_of_what_is_missing_is_a_step() -> None:
    assert [SCALE.at(share) for share in (0.0, 0.975, 1.0)] == pytest.approx([1.0, 0.0, 0.0])
    steps = [SCALE.at(share) - SCALE.at(1 - (1 - share) / 2) for share in (0.0, 0.5, 0.9)]
    assert steps == pytest.approx([steps[0]] * 3)


@given(upper=st.floats(0, 1), until=st.none() | st.floats(0.01, 0.999999))
def test_marks_have_room(upper: float, until: float | None) -> None:
    scale = Scale.of(point(1, 0.0, upper), until)
    places = [scale.at(share) for share in scale.marks()]
    assert scale.marks()[0] == 0.0
    assert all(lower - higher > 0.079 for lower, higher in pairwise(places))
    assert until is None or scale.at(until) > 0.02


def test_the_band_lies_between_the_bounds() -> None:
    chart = band_chart(POINTS, 0.9, None)
    assert chart is not None
    assert corners(chart.lower) == [(0, 1000), (500, at(0.5)), (1000, at(0.75))]
    assert corners(chart.upper) == [(0, at(0.85)), (500, at(0.9)), (1000, at(0.95))]
    assert corners(chart.band) == corners(chart.upper) + corners(chart.lower)[::-1]
    assert corners(chart.reachable) == [(0, 0), (500, at(0.95)), (1000, at(0.9))]
    assert corners(chart.speed) == [(0, 750), (500, 0), (1000, 500)]
    assert chart.fastest == 4.0
    assert chart.target is not None
    assert (chart.target.at, chart.target.label) == (f"{100 * SCALE.at(0.9):.2f}%", "goal 90 %")
    assert [tick.label for tick in chart.y_ticks] == ["0 %", "50 %", "75 %", "90 %", "95 %"]
    assert [tick.label for tick in chart.x_ticks] == ["0", "50", "100"]
    assert chart.summary == (
        "Coverage by pages fetched. After 100 pages at least 75.00 %, at most 95.00 % is proved; the goal is 90 %."
    )
    assert json.loads(chart.data)[-1] == [100, 0.75, 0.95, 2.0, None]


def test_what_is_measured_is_a_line_that_ends_in_what_is_claimed() -> None:
    walked = [POINTS[0], replace(POINTS[1], measured=0.8), replace(POINTS[2], measured=0.91, claimed=0.9)]
    chart = band_chart(walked, 0.9, None)
    assert chart is not None
    assert corners(chart.measured) == [(500, at(0.8)), (1000, at(0.91))]
    assert corners(chart.claimed) == [(1000, at(0.9)), (1000, at(0.95))]
    assert (chart.at_least, chart.has_measured) == ("90 %", True)
    assert "95.00 % is proved; about 91.0 % is measured, at least 90 %; the goal is 90 %." in chart.summary
    assert [values[4] for values in json.loads(chart.data)] == [None, 0.8, 0.91]
    chart = band_chart(walked[:2], 0.9, None)
    assert chart is not None
    assert (chart.measured, chart.claimed, chart.at_least) == ("", "", ""), "a point is no line, and claims nothing"


@over_rows(
    ("budget", "at", "n_most"),
    [(None, None, 100), (1000, None, 100), (125, "100.00%", 125), (100, "100.00%", 100), (80, "80.00%", 100)],
)
def test_a_budget_is_drawn_when_it_is_near(budget: int | None, at: str | None, n_most: int) -> None:
    chart = band_chart(POINTS, None, budget)
    assert chart is not None
    assert (chart.budget and chart.budget.at, chart.n_most) == (at, n_most)


def test_without_pages_there_is_no_drawing() -> None:
    assert band_chart([], 0.9, 10) is None
    assert band_chart([point(0, 0.0, 0.85)], 0.9, 10) is None


@given(n=st.integers(1, 10**9), rows=st.integers(1, 40), data=st.data())
def test_any_progress_can_be_drawn(n: int, rows: int, data: Any) -> None:
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
