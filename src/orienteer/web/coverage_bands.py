"""The coverage as two bands, one above the other: the proved bounds, and the estimate from random walks.

They have the scale of the band chart: logarithmic in the share that is missing.
"""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.graph.survey.measured import Measured, confidence_text
from orienteer.inspect.crawl_status import CrawlStatus
from orienteer.inspect.status_text import interval
from orienteer.inspect.survey_progress import SurveyProgress, evidence_text
from orienteer.store.progress_points import ProgressPoint
from orienteer.web.band_chart import BandTick, Scale
from orienteer.wording import goal_share

_WIDTH = 1000
_APART_ON_A_PHONE = 0.17


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
        bands.append(_measured(survey, survey.measured, scale, upper))
    ticks = tuple(BandTick(_per_cent(scale, share), goal_share(share)) for share in scale.marks())
    few = frozenset(map(goal_share, scale.marks(_APART_ON_A_PHONE)))
    return CoverageBands(tuple(bands), ticks, few, None if until is None else _place(scale, until))


def _measured(survey: SurveyProgress, measured: Measured, scale: Scale, upper: float) -> Band:
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
    return round(_WIDTH * (1.0 - scale.at(share)), 1)


def _per_cent(scale: Scale, share: float) -> str:
    return f"{100 * (1.0 - scale.at(share)):.2f}%"
