"""Charts: what is where in the box."""

from __future__ import annotations

import re

import pytest

from orienteer.web.comparisons import Chart, CurveSeries
from orienteer.web.line_chart import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Drawing, drawn


def chart(*series: CurveSeries, **options: object) -> Chart:
    plain = {"title": "t", "x_title": "x", "y_title": "y", "x_scale": "linear", "y_scale": "share"}
    return Chart(**(plain | options), series=list(series))  # type: ignore[arg-type]


def points(drawing: Drawing, number: int = 0) -> list[tuple[float, float]]:
    pairs = re.findall(r"([\d.]+),([\d.]+)", drawing.lines[number].path)
    return [(float(x), float(y)) for x, y in pairs]


def curve(name: str, *pairs: tuple[float, float], **options: object) -> CurveSeries:
    positions, values = ([pair[k] for pair in pairs] for k in (0, 1))
    return CurveSeries(name=name, positions=positions, values=values, **options)  # type: ignore[arg-type]


def test_a_curve_goes_from_corner_to_corner() -> None:
    found = drawn(chart(curve("a", (0, 0), (50, 0.5), (100, 1))), ["a"])
    middle = ((LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2)
    assert points(found) == [(LEFT, HEIGHT - BOTTOM), pytest.approx(middle, abs=0.1), (WIDTH - RIGHT, TOP)]
    assert [tick.label for tick in found.y_ticks] == ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]
    assert [tick.label for tick in found.x_ticks] == ["0", "20", "40", "60", "80", "100"]


def test_a_logarithmic_axis_has_decades() -> None:
    found = drawn(chart(curve("a", (1, 0), (100, 0.7), (10_000, 1)), x_scale="log"), ["a"])
    assert [tick.label for tick in found.x_ticks] == ["1", "10", "100", "1,000", "10,000"]
    assert points(found)[1][0] == pytest.approx((LEFT + WIDTH - RIGHT) / 2, abs=0.1)


def test_a_short_logarithmic_axis_has_more_than_its_decades() -> None:
    found = drawn(chart(curve("a", (15, 0), (600, 1)), x_scale="log"), ["a"])
    assert [tick.label for tick in found.x_ticks] == ["20", "50", "100", "200", "500"]


def test_a_proof_is_as_high_as_it_is_hard() -> None:
    pairs = [(1, 0.0), (2, 0.01), (8, 0.9), (9, 0.99)]
    found = drawn(chart(curve("a", *pairs), x_scale="log", y_scale="proof", levels=[0.9, 0.99]), ["a"])
    assert [tick.label for tick in found.y_ticks] == ["0 %", "50 %", "75 %", "90 %", "99 %"]
    heights = {tick.label: HEIGHT - BOTTOM - tick.at for tick in found.y_ticks}
    assert heights["99 %"] == pytest.approx(2 * heights["90 %"])
    # Before it is worth seeing there is one point, at the edge.
    assert found.x_range == (2, 9)
    assert points(found)[0][0] == LEFT


def test_low_curves_fill_the_box() -> None:
    found = drawn(chart(curve("a", (1, 0.01), (4, 0.04))), ["a"])
    assert found.y_ticks[-1].label in ("4 %", "5 %")
    assert found.y_ticks[-1].at == TOP


def test_contenders_have_the_same_colour_in_all_charts() -> None:
    names = [f"p{k:02}" for k in range(12)]
    found = drawn(chart(curve("p11", (1, 1)), curve("limit", (1, 1), style="limit"), curve("p03", (1, 1))), names)
    assert [(line.colour, line.cycle) for line in found.lines] == [(1, 1), (0, 0), (3, 0)]


def test_charts_of_nothing() -> None:
    assert drawn(chart(), []).lines == []
    empty = drawn(chart(curve("a"), x_scale="log", y_scale="proof"), ["a"])
    assert empty.lines[0].path == ""
    flat = drawn(chart(curve("a", (5, 0.0))), ["a"])
    assert flat.lines[0].path.startswith("M")
