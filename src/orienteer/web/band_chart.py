"""The course of a crawl as a drawing: the interval of what is proved as a band over the pages fetched, with what is
measured in it as a line. Where walks have reached their goal the line ends in the interval that they claim.

The drawing is made of an area of 1000 by 1000 that the browser stretches, and of labels placed in per cent beside it,
which it does not. So one drawing is right for all widths, without scripts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, log10

from orienteer.graph.coverage import percent
from orienteer.store.course import CoursePoint
from orienteer.wording import counted, goal_share

_SIZE = 1000
_MOST_X_TICKS = 5
_ROWS = 12
_NEAR = 1.25


@dataclass(frozen=True)
class Tick:
    """A line across the drawing: where it is, in per cent from the left or the top, and what stands there."""

    at: str
    label: str


@dataclass(frozen=True)
class BandChart:
    """SVG paths, and what stands beside them.

    `band` is the area between the proved bounds, `lower` and `upper` its edges, `reachable` what blocked pages leave
    over; `measured` is what walks estimate, and `claimed` the interval that they claim at the end, if they do;
    `speed` is pages per second, in a drawing of its own, up to `fastest`. `n_most` pages stand at the right edge.
    `data` are the points for the script that reads them out: pages, lower, upper, pages per second, measured.
    """

    band: str
    lower: str
    upper: str
    reachable: str
    measured: str
    claimed: str
    speed: str
    fastest: float
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    target: Tick | None
    budget: Tick | None
    summary: str
    rows: tuple[CoursePoint, ...]
    n_most: int
    data: str

    @property
    def at_least(self) -> str:
        """The coverage that walks claim at the end; empty where they claim none."""
        claimed = self.rows[-1].claimed
        return "" if claimed is None else goal_share(claimed)

    @property
    def has_measured(self) -> bool:
        return any(point.measured is not None for point in self.rows)


def band_chart(points: Sequence[CoursePoint], until: float | None, budget: int | None) -> BandChart | None:
    """The drawing of the course of an epoch; None while there is nothing to draw."""
    if not points or points[-1].n_done == 0:
        return None
    n_last = points[-1].n_done
    # The budget is shown when it is near, so that the band does not begin as a speck in a corner.
    n_most = budget if budget is not None and n_last < budget <= n_last * _NEAR else n_last
    xs = [_SIZE * point.n_done / n_most for point in points]
    lower = [_y(point.lower) for point in points]
    upper = [_y(point.upper) for point in points]
    fastest = max(point.pages_per_s for point in points)
    return BandChart(
        band=_path([*zip(xs, upper, strict=True), *reversed([*zip(xs, lower, strict=True)])]) + "Z",
        lower=_path(zip(xs, lower, strict=True)),
        upper=_path(zip(xs, upper, strict=True)),
        reachable=_path((x, _y(1 - point.blocked)) for x, point in zip(xs, points, strict=True))
        if points[-1].blocked
        else "",
        measured=_measured(points, xs),
        claimed=_claimed(points[-1], xs[-1]),
        speed=_path((x, _y(point.pages_per_s / fastest)) for x, point in zip(xs, points, strict=True))
        if fastest
        else "",
        fastest=fastest,
        x_ticks=tuple(Tick(_per_cent(n / n_most), short_count(n)) for n in round_numbers(n_most)),
        y_ticks=tuple(Tick(_per_cent(1 - share / 100), f"{share} %") for share in (0, 25, 50, 75, 100)),
        target=None if until is None else Tick(_per_cent(1 - until), f"goal {goal_share(until)}"),
        budget=None if budget is None or budget > n_most else Tick(_per_cent(budget / n_most), "budget"),
        summary=_summary(points[-1], until),
        rows=_some(points),
        n_most=n_most,
        data=json.dumps([_values(point) for point in points]),
    )


def round_numbers(most: int, at_most: int = _MOST_X_TICKS) -> list[int]:
    """Round numbers from 0 up to `most`, evenly spaced.

    >>> round_numbers(790), round_numbers(3), round_numbers(1_000_000)
    ([0, 200, 400, 600], [0, 1, 2, 3], [0, 500000, 1000000])
    """
    power = 10 ** max(floor(log10(max(most, 1))) - 1, 0)
    steps = [power * factor for factor in (1, 2, 5, 10, 20, 50)]
    step = next(step for step in steps if most // step + 1 <= at_most)
    return list(range(0, most + 1, step))


def short_count(n: int) -> str:
    """`950`, `12k`, `1.5M`."""
    for size, letter in ((1_000_000, "M"), (10_000, "k")):
        if n >= size:
            unit = 1_000_000 if letter == "M" else 1_000
            return f"{n / unit:.3g}{letter}"
    return f"{n:,}"


def _values(point: CoursePoint) -> list[float | None]:
    measured = None if point.measured is None else round(point.measured, 4)
    return [point.n_done, round(point.lower, 4), round(point.upper, 4), point.pages_per_s, measured]


def _measured(points: Sequence[CoursePoint], xs: Sequence[float]) -> str:
    """A line where walks have measured; a single point is no line."""
    corners = [(x, _y(point.measured)) for x, point in zip(xs, points, strict=True) if point.measured is not None]
    return _path(corners) if len(corners) > 1 else ""


def _claimed(last: CoursePoint, x: float) -> str:
    return "" if last.claimed is None else _path([(x, _y(last.claimed)), (x, _y(max(last.upper, last.claimed)))])


def _y(share: float) -> float:
    return _SIZE * (1 - min(max(share, 0.0), 1.0))


def _path(corners: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in corners)


def _per_cent(share: float) -> str:
    return f"{100 * share:.2f}%"


def _summary(last: CoursePoint, until: float | None) -> str:
    bounds = f"at least {percent(last.lower)}, at most {percent(last.upper, up=True)} is proved"
    about = "" if last.measured is None else f"; about {100 * last.measured:.1f} % is measured"
    claimed = "" if last.claimed is None else f", at least {goal_share(last.claimed)}"
    goal = f"; the goal is {goal_share(until)}" if until is not None else ""
    return f"Coverage by pages fetched. After {counted(last.n_done, 'page')} {bounds}{about}{claimed}{goal}."


def _some(points: Sequence[CoursePoint]) -> tuple[CoursePoint, ...]:
    """A few points, evenly chosen, the first and the last among them."""
    n = min(len(points), _ROWS)
    return tuple(points[k * (len(points) - 1) // max(n - 1, 1)] for k in range(n))
