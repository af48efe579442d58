"""The coverage of a crawl as drawings: over the pages fetched (BandChart), and now (CoverageBands).

In the chart the proved interval is a band, and the estimate from walks a line. Once walks have reached their goal, the
line becomes a second band: the interval that they claim. CoverageBands are the two, one above the other.

The scale is logarithmic in the share that is missing: halving it is always a step of the same size, so 95 and 99 % are
as easy to distinguish as 50 and 90 %.

A drawing is an area of 1000 by 1000 that the browser stretches, with labels placed in per cent that are not stretched.
So it fits all widths, without scripts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import floor, log, log10

from orienteer.graph.proved import Certificate, percent
from orienteer.graph.survey.measured import Measured, confidence_text
from orienteer.inspect.crawl_status import CrawlStatus
from orienteer.inspect.status_text import interval
from orienteer.inspect.survey_progress import SurveyProgress, evidence_text
from orienteer.store.progress_points import ProgressPoint
from orienteer.wording import counted, goal_share

_SIZE = 1000
_MOST_X_TICKS = 5
_ROWS = 12
_NEAR = 1.25
_LEAST_MISSING = 0.001  # at the top, unless the goal asks for more
# Coverages that may label the y axis, most useful first, and their smallest distance.
_MARKS = (0.0, 0.9, 0.99, 0.999, 0.9999, 0.5, 0.98, 0.95, 0.75, 0.995, 0.25)
_APART, _APART_ON_A_PHONE = 0.08, 0.17


@dataclass(frozen=True)
class Scale:
    """The y axis, from 0 at the top to 1 at the bottom; at the top the share `least` is missing."""

    least: float

    @classmethod
    def of(cls, last: ProgressPoint, until: float | None) -> Scale:
        """Return a scale with the last point and the goal below its top."""
        at_goal = 1.0 if until is None else 1.0 - until
        return cls(min(max(min(1.0 - last.upper, at_goal) / 2, min(_LEAST_MISSING, at_goal / 2)), 0.5))

    def at(self, share: float) -> float:
        missing = min(max(1.0 - share, self.least), 1.0)
        return 1.0 - log(missing) / log(self.least)

    def marks(self, apart: float = _APART) -> list[float]:
        """Return round coverages that are at least `apart` from each other."""
        chosen: list[float] = []
        for share in _MARKS:
            if 1.0 - share >= self.least and all(abs(self.at(share) - self.at(other)) >= apart for other in chosen):
                chosen.append(share)
        return sorted(chosen)


@dataclass(frozen=True)
class BandTick:
    """A grid line: its position in per cent from the left or the top, and its label."""

    at: str
    label: str


@dataclass(frozen=True)
class BandChart:
    """SVG paths and labels.

    `band` is the area between the proved bounds, `lower` and `upper` are its edges, `reachable` is the limit set by
    blocked pages; `measured` is the estimate from walks, and `claimed` the band that they claim once they have reached
    their goal; `speed` is pages per second, in a separate drawing, up to `fastest`. The x axis ends at `n_most` pages.
    `data` are the points for the script that displays them: pages, lower, upper, pages per second, measured.
    """

    band: str
    lower: str
    upper: str
    reachable: str
    measured: str
    claimed: str
    speed: str
    fastest: float
    x_ticks: tuple[BandTick, ...]
    y_ticks: tuple[BandTick, ...]
    target: BandTick | None
    budget: BandTick | None
    summary: str
    rows: tuple[ProgressPoint, ...]
    n_most: int
    data: str

    @property
    def at_least(self) -> str:
        """The last coverage that walks claim; empty if they claim none."""
        claimed = self.rows[-1].claimed
        return "" if claimed is None else goal_share(claimed)

    @property
    def has_measured(self) -> bool:
        return any(point.measured is not None for point in self.rows)


def whole_progress(points: Sequence[ProgressPoint], proved: Certificate | None) -> list[ProgressPoint]:
    """Return the points of the first epoch, and one with these bounds for all refreshes.

    Within a refresh, coverage is proved from its own seeds and starts at zero; the bounds of the whole crawl are known
    only at its end. So all refreshes together add one point: their requests, and the bounds after the last one.
    """
    first = [point for point in points if point.epoch == 0]
    ends = {point.epoch: point for point in points}  # the last point of each
    if not first or len(ends) == 1 or proved is None:
        return first
    last = ends[max(ends)]
    n_done = sum(point.n_done for point in ends.values())
    end = replace(
        last,
        n_done=n_done,
        lower=proved.lower,
        upper=max(proved.upper, proved.lower),
        blocked=proved.blocked,
        measured=None,
        claimed=None,
    )
    return [*first, end]


def band_chart(points: Sequence[ProgressPoint], until: float | None, budget: int | None) -> BandChart | None:
    """Return the chart of an epoch; None before its first page."""
    if not points or points[-1].n_done == 0:
        return None
    n_last = points[-1].n_done
    # The budget is drawn only when it is near, so that the band does not start as a speck in a corner.
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
        x_ticks=tuple(BandTick(_per_cent(n / n_most), short_count(n)) for n in round_numbers(n_most)),
        y_ticks=tuple(BandTick(_per_cent(scale.at(share)), goal_share(share)) for share in scale.marks()),
        target=None if until is None else BandTick(_per_cent(scale.at(until)), f"goal {goal_share(until)}"),
        budget=None if budget is None or budget > n_most else BandTick(_per_cent(budget / n_most), "limit"),
        summary=_summary(points[-1], until),
        rows=_some(points),
        n_most=n_most,
        data=json.dumps([_values(point) for point in points]),
    )


def round_numbers(most: int, at_most: int = _MOST_X_TICKS) -> list[int]:
    """Return evenly spaced round numbers from 0 to `most`.

    >>> round_numbers(790), round_numbers(3), round_numbers(1_000_000)
    ([0, 200, 400, 600], [0, 1, 2, 3], [0, 500000, 1000000])
    """
    power = 10 ** max(floor(log10(max(most, 1))) - 1, 0)
    steps = [power * factor for factor in (1, 2, 5, 10, 20, 50)]
    step = next(step for step in steps if most // step + 1 <= at_most)
    return list(range(0, most + 1, step))


def short_count(n: int) -> str:
    """Return a short text like `950`, `12k`, `1.5M`."""
    for size, letter in ((1_000_000, "M"), (10_000, "k")):
        if n >= size:
            unit = 1_000_000 if letter == "M" else 1_000
            return f"{n / unit:.3g}{letter}"
    return f"{n:,}"


def _values(point: ProgressPoint) -> list[float | None]:
    measured = None if point.measured is None else round(point.measured, 4)
    return [point.n_done, round(point.lower, 4), round(point.upper, 4), point.pages_per_s, measured]


def _measured(points: Sequence[ProgressPoint], xs: Sequence[float], scale: Scale) -> str:
    """Return the path of the estimates; empty for fewer than two points."""
    found = [(x, point.measured) for x, point in zip(xs, points, strict=True) if point.measured is not None]
    return _path((x, _SIZE * scale.at(share)) for x, share in found) if len(found) > 1 else ""


def _claimed(points: Sequence[ProgressPoint], xs: Sequence[float], scale: Scale) -> str:
    """Return the band from the claimed coverage to the upper bound; it has no width if the claim ended the crawl."""
    found = [(x, point.claimed, point.upper) for x, point in zip(xs, points, strict=True) if point.claimed is not None]
    below = [(x, _SIZE * scale.at(claimed)) for x, claimed, _ in found]
    above = [(x, _SIZE * scale.at(max(upper, claimed))) for x, claimed, upper in found]
    return _path([*below, *reversed(above)]) + "Z" if found else ""


def _path(corners: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in corners)


def _per_cent(share: float) -> str:
    return f"{100 * share:.2f}%"


def _summary(last: ProgressPoint, until: float | None) -> str:
    bounds = f"at least {percent(last.lower)}, at most {percent(last.upper, up=True)} is proved"
    about = "" if last.measured is None else f"; about {100 * last.measured:.1f} % is measured"
    claimed = "" if last.claimed is None else f", at least {goal_share(last.claimed)}"
    goal = f"; the goal is {goal_share(until)}" if until is not None else ""
    return f"Coverage by pages fetched. After {counted(last.n_done, 'page')} {bounds}{about}{claimed}{goal}."


def _some(points: Sequence[ProgressPoint]) -> tuple[ProgressPoint, ...]:
    """Return a few evenly spaced points, including the first and the last."""
    n = min(len(points), _ROWS)
    return tuple(points[k * (len(points) - 1) // max(n - 1, 1)] for k in range(n))


@dataclass(frozen=True)
class Band:
    """A band from `least` to `most`, in thousandths of the width; `about` is the position of the estimate, if any."""

    kind: str
    name: str
    text: str
    least: float
    most: float
    about: float | None


@dataclass(frozen=True)
class CoverageBands:
    """The bands, and the scale below them. `few_ticks` are the labels that fit on a phone."""

    bands: tuple[Band, ...]
    ticks: tuple[BandTick, ...]
    few_ticks: frozenset[str]
    goal: float | None


def coverage_bands(status: CrawlStatus) -> CoverageBands | None:
    """Return the bands; None while nothing is proved."""
    bounds, epoch = status.certificate if status.is_running else status.proved, status.epoch_number
    if bounds is None:
        return None
    lower, upper, until = bounds.lower, bounds.upper, status.plan.crawl.until
    scale = Scale.of(ProgressPoint(0, 0, 0, lower, upper, 0.0, 0.0, 0.0), until)
    refreshed = f" in refresh {epoch}" if epoch and status.is_running else ""
    bands = [Band("proved", f"Proved{refreshed}", interval(bounds), _place(scale, lower), _place(scale, upper), None)]
    survey = status.survey
    if survey is not None and survey.measured is not None and not status.shows_all_epochs:
        bands.append(_measured_band(survey, survey.measured, scale, upper))
    ticks = tuple(BandTick(_per_cent(1.0 - scale.at(share)), goal_share(share)) for share in scale.marks())
    few = frozenset(map(goal_share, scale.marks(_APART_ON_A_PHONE)))
    return CoverageBands(tuple(bands), ticks, few, None if until is None else _place(scale, until))


def _measured_band(survey: SurveyProgress, measured: Measured, scale: Scale, upper: float) -> Band:
    """Return the band of the estimate: an interval only once walks have reached their goal, which gives a bound."""
    estimate, claimed = measured.estimate, survey.claimed
    of_what = " of what is reachable" if survey.of_reachable else ""
    about = _place(scale, estimate)
    if claimed is None:
        text = f"about {100 * estimate:.1f} %{of_what}; evidence for the goal: {evidence_text(survey.evidence)}"
        return Band("measured", "Measured", text, about, about, about)
    sure = confidence_text(measured.confidence)
    text = f"at least {goal_share(claimed, survey.of_reachable)}, {sure} sure; about {100 * estimate:.1f} %"
    most = 1.0 if survey.of_reachable else max(upper, claimed)
    return Band("measured", "Measured", text, _place(scale, claimed), _place(scale, most), about)


def _place(scale: Scale, share: float) -> float:
    return round(_SIZE * (1.0 - scale.at(share)), 1)
