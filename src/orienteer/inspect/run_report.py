"""The report of a run that has ended: why it stopped, what is proved, and the last figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from orienteer.crawl.goal import Ending, Goal
from orienteer.graph.proved import Certificate, percent
from orienteer.graph.survey.measured import confidence_text
from orienteer.hooks import HookFailures
from orienteer.inspect.changes import MissingPage
from orienteer.inspect.figures import CrawlFigures, figures_of, record_of, with_present_keys
from orienteer.inspect.survey_progress import SurveyProgress
from orienteer.ledger.settings import RefreshSettings
from orienteer.notebook import facts_html
from orienteer.pages.stop_reason import StopReason
from orienteer.store.rendering_tables import AssetFigures, RenderedTally
from orienteer.wording import counted, goal_share, plain


@dataclass(frozen=True)
class Report:
    """The result of a run, as `report.json` stores it.

    A report has what only the run knows, in addition to a CrawlStatus: why it stopped, and what failed in it. `dead` is
    the share of a surfer's time on missing pages: covered, but useless. `library` is the certificate over all epochs,
    after a refresh; `topical` that of a surfer from the pages on topic. `failed_seeds` are without a page, with the
    reason. `n_abandoned` pages were not fetched because their hosts could not be reached; without `has_pages` no page
    could be fetched at all. `problem` says why the login of a crawl with credentials failed. `n_suspect` pages may be
    made by scripts: their links count as unknown. `rendered` and `assets` are of all runs. `n_unarchived` pages were
    read but forbid archiving. `missing` pages have disappeared and are not deleted yet.
    """

    folder: Path
    stopped_because: StopReason
    figures: CrawlFigures
    dead: float = 0.0
    library: Certificate | None = None
    topical: Certificate | None = None
    refresh: RefreshSettings = field(default_factory=RefreshSettings)
    hook_failures: dict[str, HookFailures] = field(default_factory=dict)
    failed_seeds: dict[str, str] = field(default_factory=dict)
    n_abandoned: int = 0
    has_pages: bool = True
    problem: str = ""
    n_suspect: int = 0
    rendered: RenderedTally = field(default_factory=RenderedTally)
    assets: AssetFigures = field(default_factory=AssetFigures)
    n_unarchived: int = 0
    missing: tuple[MissingPage, ...] = ()

    @property
    def ending(self) -> Ending:
        """The ending of the run, compared with its goal."""
        return self.figures.goal.ending(self.stopped_because, self.figures.n_done, self.n_abandoned, self.has_pages)

    @property
    def goal_reached(self) -> bool:
        return self.ending.goal_reached

    @property
    def headline(self) -> str:
        """The result in a sentence: `stopped at your limit of 60 pages; at least 41.48 % covered`."""
        # Certificates store this text (RunFacts.stopped): if it changes, earlier ones do not verify any more.
        return self._result() + (f" ({plain(self.problem, 300)})" if self.problem else "")

    def _result(self) -> str:
        figures, why, ending = self.figures, self.stopped_because, self.ending
        goal, survey, proved = figures.goal, figures.survey, self.library or figures.certificate
        covered = f"; at least {percent(proved.lower)} covered"
        target = "" if goal.until is None else goal_share(goal.until, goal.of_reachable)
        how = "proved" if survey is None else "measured or proved"
        if why is StopReason.IMPORTED:
            return "it was imported; to continue it: orienteer crawl"
        if why is StopReason.INTERRUPTED:
            return "stopped by you. Resume any time"
        if why is StopReason.LOGIN_FAILED:
            return "paused: it is not logged in any more"
        if why is StopReason.BUDGET and goal.budget is not None:
            before = f" before a coverage of {target} was {how}" if target else ""
            return f"stopped at your limit of {counted(goal.budget, 'page')}{before}{covered}"
        if ending is Ending.EVERYTHING:
            return f"everything reachable is fetched{covered}{self._abandoned()}"
        outcome = "goal reached" if ending is Ending.GOAL else "goal not reached"
        return f"{outcome}: {_reason(why, goal, target, how, survey)}{self._abandoned()}"

    def _abandoned(self) -> str:
        if not self.n_abandoned or self.stopped_because is not StopReason.FRONTIER_EMPTY:
            return ""
        pages = counted(self.n_abandoned, "page was", "pages were")
        return f"; {pages} abandoned because their hosts could not be reached"

    def as_dict(self) -> dict[str, Any]:
        facts = asdict(self) | {"folder": str(self.folder), "figures": self.figures.as_dict()}
        facts |= {"ending": self.ending, "goal_reached": self.goal_reached, "headline": self.headline}
        for name, proved in (("library", self.library), ("topical", self.topical)):
            facts[name] = None if proved is None else proved.as_dict()
        facts["missing"] = [page.as_dict() for page in self.missing]
        del facts["refresh"]  # it is in crawl.toml
        return facts

    def __repr__(self) -> str:
        pages = f"{self.figures.n_fetched:,} pages fetched, {self.figures.n_frontier:,} left in the frontier"
        survey = self.figures.survey
        measured = "" if survey is None or survey.measured is None else f"; {survey.describe()}"
        return f"<Report: {pages}; {self.figures.certificate}{measured}; stopped by {self.stopped_because}>"

    def _repr_html_(self) -> str:
        from orienteer.inspect.status_text import describe_assets

        figures, survey = self.figures, self.figures.survey
        facts = [
            ("folder", self.folder),
            ("result", self.headline),
            ("stopped by", self.stopped_because),
            ("certificate", figures.certificate),
            ("measured", "" if survey is None else survey.describe().removeprefix("measured: ")),
            ("fetched", figures.n_fetched),
            ("redirects", figures.n_redirects),
            ("skipped", figures.n_skipped),
            ("failed", figures.n_failed),
            ("blocked", figures.n_blocked),
            ("in the frontier", figures.n_frontier),
            ("perhaps made by scripts", self.n_suspect or ""),
            ("assets", describe_assets(self.assets)),
        ]
        return facts_html("Report of a crawl", facts)


def read_report(path: Path) -> Report | None:
    """Read the report of the last run; None if it is missing or invalid."""
    try:
        values = with_present_keys(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None
    figures = figures_of(values.get("figures")) if isinstance(values, Mapping) else None
    found = None if figures is None else record_of(Report, {**values, "folder": str(path.parent)})
    return None if found is None or figures is None else replace(found, figures=figures)


def describe_confidence(survey: SurveyProgress | None) -> str:
    """`, with 99.9 % confidence`; empty if nothing is measured."""
    measured = None if survey is None else survey.measured
    return "" if measured is None else f", with {confidence_text(measured.confidence)} confidence"


def _reason(why: StopReason, goal: Goal, target: str, how: str, survey: SurveyProgress | None) -> str:
    """Return why a run ended at its coverage, or without it."""
    if why is StopReason.COVERAGE and target:
        return f"a coverage of {target} is proved"
    if why is StopReason.MEASURED and target:
        return f"a coverage of {target} is measured{describe_confidence(survey)}"
    if why is StopReason.REACHABLE and goal.until is not None:
        is_measured = survey is not None and survey.is_reached and not survey.is_proved
        known_by = f"measured{describe_confidence(survey)}" if is_measured else "proved"
        reachable = goal_share(goal.until, True)
        return f"a coverage of {reachable} is {known_by}, but {target} of everything cannot be proved"
    if why is StopReason.FRONTIER_EMPTY:
        return "nothing is left to fetch" + (f", but {target} is not {how}" if target else "")
    return plain(why)
