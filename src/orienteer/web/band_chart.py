"""The course of a crawl as a drawing: the interval of what is proved as a band over the pages fetched, with what is
measured in it as a line. Where walks have reached their goal the line becomes a second band: the interval they claim.

Its height is the share that is missing, on a logarithmic scale: each half of it that is gone is a step up of the same
size, so that 95 and 99 % can be told apart as well as 50 and 90 %.

The drawing is made of an area of 1000 by 1000 that the browser stretches, and of labels placed in per cent beside it,
which it does not. So one drawing is right for all widths, without scripts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, log, log10

from orienteer.graph.proved import percent
from orienteer.store.course import CoursePoint
from orienteer.wording import counted, goal_share

_SIZE = 1000
_MOST_X_TICKS = 5
_ROWS = 12
_NEAR = 1.25
_LEAST_MISSING = 0.001  # at the top, unless the goal asks for more
# Coverages that may stand at the side, those first that are worth the most, and how far apart they are at least.
_MARKS = (0.0, 0.9, 0.99, 0.999, 0.9999, 0.5, 0.98, 0.95, 0.75, 0.995, 0.25)
_APART = 0.08


@dataclass(frozen=True)
class Scale:
    """Where coverages stand, from 0 at the top to 1 at the bottom; `least` is missing at the top."""

    least: float

    @classmethod
    def of(cls, last: CoursePoint, until: float | None) -> Scale:
        """One on which the last point, and the goal, are not at the very top."""
        wanted = 1.0 if until is None else 1.0 - until
        return cls(min(max(min(1.0 - last.upper, wanted) / 2, min(_LEAST_MISSING, wanted / 2)), 0.5))

    def at(self, share: float) -> float:
        missing = min(max(1.0 - share, self.least), 1.0)
        return 1.0 - log(missing) / log(self.least)

    def marks(self, apart: float = _APART) -> list[float]:
        """Round coverages, as many as there is room for; they are so far apart."""
        chosen: list[float] = []
        for share in _MARKS:
            if 1.0 - share >= self.least and all(abs(self.at(share) - self.at(other)) >= apart for other in chosen):
                chosen.append(share)
        return sorted(chosen)


@dataclass(frozen=True)
class Tick:
    """A line across the drawing: where it is, in per cent from the left or the top, and what stands there."""

    at: str
    label: str


@dataclass(frozen=True)
class BandChart:
    """SVG paths, and what stands beside them.

    `band` is the area between the proved bounds, `lower` and `upper` its edges, `reachable` what blocked pages leave
    over; `measured` is what walks estimate, and `claimed` the band that they claim once they have reached their goal;
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
    scale = Scale.of(points[-1], until)
    lower = [_SIZE * scale.at(point.lower) for point in points]
    upper = [_SIZE * scale.at(point.upper) for point in points]
    fastest = max(point.pages_per_s for point in points)
    return BandChart(
        band=_path([*zip(xs, upper, strict=True), *reversed([*zip(xs, lower, strict=True)])]) + "Z",
        lower=_path(zip(xs, lower, strict=True)),
        upper=_path(zip(xs, upper, strict=True)),
        reachable=_path((x, _SIZE * scale.at(1 - point.blocked)) for x, point in zip(xs, points, strict=True))
        if points[-1].blocked
        else "",
        measured=_measured(points, xs, scale),
        claimed=_claimed(points, xs, scale),
        speed=_path((x, _SIZE * (1 - point.pages_per_s / fastest)) for x, point in zip(xs, points, strict=True))
        if fastest
        else "",
        fastest=fastest,
        x_ticks=tuple(Tick(_per_cent(n / n_most), short_count(n)) for n in round_numbers(n_most)),
        y_ticks=tuple(Tick(_per_cent(scale.at(share)), goal_share(share)) for share in scale.marks()),
        target=None if until is None else Tick(_per_cent(scale.at(until)), f"goal {goal_share(until)}"),
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


def _measured(points: Sequence[CoursePoint], xs: Sequence[float], scale: Scale) -> str:
    """A line where walks have measured; a single point is no line."""
    found = [(x, point.measured) for x, point in zip(xs, points, strict=True) if point.measured is not None]
    return _path((x, _SIZE * scale.at(share)) for x, share in found) if len(found) > 1 else ""


def _claimed(points: Sequence[CoursePoint], xs: Sequence[float], scale: Scale) -> str:
    """From what is claimed to what is possible; where the crawl ended with the claim, a band without a width."""
    found = [(x, point.claimed, point.upper) for x, point in zip(xs, points, strict=True) if point.claimed is not None]
    below = [(x, _SIZE * scale.at(claimed)) for x, claimed, _ in found]
    above = [(x, _SIZE * scale.at(max(upper, claimed))) for x, claimed, upper in found]
    return _path([*below, *reversed(above)]) + "Z" if found else ""


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
