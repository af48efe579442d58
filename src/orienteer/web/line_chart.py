"""The paths and ticks of a line chart, for the template `_fragments/chart.html`.

Coordinates are in a box of WIDTH by HEIGHT from its upper left corner; the page scales it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from orienteer.web.comparisons import Chart, CurveSeries, Style

WIDTH, HEIGHT = 640, 380
LEFT, RIGHT, TOP, BOTTOM = 66, 14, 12, 58
N_COLOURS = 10
_FIRST_DRAWN = 0.05  # a proof chart starts where a curve reaches this: half of it would be empty otherwise
_MOST_UNPROVED = 1e-12

Scale = Callable[[float], float]


class AxisTick(NamedTuple):
    at: float
    label: str


class CurvePath(NamedTuple):
    """A curve as an SVG path; `colour` is the index of its colour, `cycle` counts earlier uses of that colour."""

    name: str
    style: Style
    colour: int
    cycle: int
    path: str


class Drawing(NamedTuple):
    """A chart with its ticks and paths; `x_range` are the ends of the x axis."""

    chart: Chart
    x_range: tuple[float, float]
    x_ticks: list[AxisTick]
    y_ticks: list[AxisTick]
    lines: list[CurvePath]


def drawn(chart: Chart, names: Sequence[str]) -> Drawing:
    """Draw a chart. The colour of a curve is its index in `names`, and so the same in all charts."""
    x_range = _x_range(chart)
    across = _between(_axis(chart.x_scale), x_range, LEFT, WIDTH - RIGHT)
    y_range = _y_range(chart)
    up = _between(_axis(chart.y_scale), y_range, HEIGHT - BOTTOM, TOP)
    y_values = _proof_ticks(chart) if chart.y_scale == "proof" else _steps(*y_range)
    return Drawing(
        chart,
        x_range,
        [AxisTick(across(value), f"{value:,.0f}") for value in _x_values(chart, x_range)],
        [AxisTick(up(value), _percent(value)) for value in y_values],
        [_line(series, names, across, up, x_range) for series in chart.series],
    )


def _line(
    series: CurveSeries, names: Sequence[str], across: Scale, up: Scale, x_range: tuple[float, float]
) -> CurvePath:
    number = names.index(series.name) if series.name in names else 0
    pairs = list(zip(series.positions, series.values, strict=True))
    # From the last point before the visible range, so that the curve starts at the edge.
    first = max(sum(position < x_range[0] for position, _ in pairs) - 1, 0)
    points = [f"{across(max(x, x_range[0])):.1f},{up(y):.1f}" for x, y in pairs[first:]]
    path = f"M{' L'.join(points)}" if points else ""
    return CurvePath(series.name, series.style, number % N_COLOURS, number // N_COLOURS, path)


def _axis(scale: str) -> Scale:
    """Return the function from a value to a length on this axis."""
    if scale == "log":
        return lambda value: math.log10(max(value, 1e-9))
    if scale == "proof":
        return lambda value: -math.log10(max(1 - value, _MOST_UNPROVED))
    return float


def _between(axis: Scale, ends: tuple[float, float], low: float, high: float) -> Scale:
    """Return the function from a value to a coordinate; values beyond the ends are clipped."""
    first, last = axis(ends[0]), axis(ends[1])
    length = (last - first) or 1.0

    def place(value: float) -> float:
        share = min(max((axis(value) - first) / length, 0.0), 1.0)
        return low + share * (high - low)

    return place


def _x_range(chart: Chart) -> tuple[float, float]:
    firsts = [_first_drawn(series) if chart.y_scale == "proof" else series.positions[:1] for series in chart.series]
    lasts = [series.positions[-1] for series in chart.series if series.positions]
    first, last = min((one[0] for one in firsts if one), default=1.0), max(lasts, default=1.0)
    if chart.x_scale == "log":
        first = max(first, 1.0)
    return (first, last) if last > first else (first, first + 1)


def _first_drawn(series: CurveSeries) -> list[float]:
    drawn = [k for k, value in enumerate(series.values) if value >= _FIRST_DRAWN]
    return [series.positions[max(drawn[0] - 1, 0)]] if drawn else []


def _y_range(chart: Chart) -> tuple[float, float]:
    if chart.y_scale == "proof":
        return 0.0, 1 - (1 - max(chart.levels, default=0.99)) / 2
    highest = max((max(series.values, default=0.0) for series in chart.series), default=1.0)
    return 0.0, 1.0 if highest > 0.5 else _steps(0.0, max(highest, 1e-6))[-1]


def _x_values(chart: Chart, ends: tuple[float, float]) -> list[float]:
    if chart.x_scale == "linear":
        return [value for value in _steps(*ends, whole=True) if ends[0] <= value <= ends[1]]
    decades = [10.0**k for k in range(math.ceil(math.log10(ends[0])), math.floor(math.log10(ends[1])) + 1)]
    if len(decades) > 2:
        return decades
    each = [factor * 10.0**k for k in range(math.floor(math.log10(ends[0])), 12) for factor in (1, 2, 5)]
    return [value for value in each if ends[0] <= value <= ends[1]]


def _proof_ticks(chart: Chart) -> list[float]:
    return sorted({0.0, 0.5, 0.75, *chart.levels})


def _steps(low: float, high: float, whole: bool = False) -> list[float]:
    """Return about five round values from at most `low` to at least `high`."""
    raw = (high - low) / 5 or 1.0
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= raw * 0.999)
    step = max(step, 1.0) if whole else step
    return [k * step for k in range(math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9) + 1)]


def _percent(share: float) -> str:
    return f"{100 * share:.6g} %"
