"""The coverage as two bands, one above the other: the proved bounds, and the estimate from random walks.

They have the scale of the band chart: logarithmic in the share that is missing.
"""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.graph.proved import percent
from orienteer.graph.survey.measured import confidence_text
from orienteer.store.progress_points import ProgressPoint
from orienteer.web.band_chart import BandTick, Scale
from orienteer.web.crawl_watch import CrawlNow
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


def coverage_bands(now: CrawlNow) -> CoverageBands | None:
    """Return the bands; None while nothing is proved."""
    lower, upper = (now.epoch_lower, now.epoch_upper) if now.is_running else (now.lower, now.upper)
    if lower is None or upper is None:
        return None
    scale = Scale.of(ProgressPoint(0, 0, 0, lower, upper, 0.0, 0.0, 0.0), now.until)
    refreshed = f" in refresh {now.epoch}" if now.epoch and now.is_running else ""
    proved = f"at least {percent(lower)}, at most {percent(upper, up=True)}"
    bands = [Band("proved", f"Proved{refreshed}", proved, _place(scale, lower), _place(scale, upper), None)]
    if now.measured is not None and not now.shows_all_epochs:
        bands.append(_measured(now, now.measured, scale, upper))
    ticks = tuple(BandTick(_per_cent(scale, share), goal_share(share)) for share in scale.marks())
    few = frozenset(map(goal_share, scale.marks(_APART_ON_A_PHONE)))
    return CoverageBands(tuple(bands), ticks, few, None if now.until is None else _place(scale, now.until))


def _measured(now: CrawlNow, estimate: float, scale: Scale, upper: float) -> Band:
    """Return the band of the estimate: an interval only once walks have reached their goal, which gives a bound."""
    of_what = " of what is reachable" if now.measured_of_reachable else ""
    about = _place(scale, estimate)
    if now.claimed is None:
        evidence = f"; evidence for the goal: {int(100 * (now.evidence or 0.0))} %"
        return Band("measured", "Measured", f"about {100 * estimate:.1f} %{of_what}{evidence}", about, about, about)
    sure = f", {confidence_text(now.confidence)} sure" if now.confidence is not None else ""
    text = f"at least {goal_share(now.claimed)}{of_what}{sure}; about {100 * estimate:.1f} %"
    most = 1.0 if now.measured_of_reachable else max(upper, now.claimed)
    return Band("measured", "Measured", text, _place(scale, now.claimed), _place(scale, most), about)


def _place(scale: Scale, share: float) -> float:
    return round(_WIDTH * (1.0 - scale.at(share)), 1)


def _per_cent(scale: Scale, share: float) -> str:
    return f"{100 * (1.0 - scale.at(share)):.2f}%"
