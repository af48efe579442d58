"""The survey of a crawl: fetch the pages outside that walks need, until the completeness is measured precisely."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from orienteer.audit.survey_folder import open_survey, survey_path, survey_plan
from orienteer.audit.survey_report import N_GAPS, Names, SurveyReport, SurveyRun, survey_report
from orienteer.audit.survey_setup import SurveyLedger, SurveySetup
from orienteer.errors import InputError
from orienteer.graph.survey.fixed_walks import FixedWalks, SurveyGoal
from orienteer.ledger.permission import Tables, expect_allowed
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.live_crawl import LiveCrawl, StopRequest
from orienteer.live.warm_up import warm_up
from orienteer.settings import merged, to_table
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import FolderView
from orienteer.workers.worker_pool import WorkerPool


class OpenSurvey(NamedTuple):
    """A survey that is ready to run: its folder, locked, and the crawl of pages outside."""

    source: Path
    folder: CrawlFolder
    live: LiveCrawl
    setup: SurveySetup

    def run(self, watch: Callable[[FixedWalks], None] | None = None, n_gaps: int = N_GAPS) -> SurveyReport:
        """Fetch until the goal is reached or it is interrupted; the result is in the folder as report.json."""
        walks = self.setup.walks

        def tick() -> None:
            if walks.stopped_because is not None:
                self.live.stop_level = max(self.live.stop_level, 1)  # waiting pages are not needed any more
            elif watch is not None:
                watch(walks)

        began = time.monotonic()
        if walks.stopped_because is None:
            self.live.run(tick)
        self.live.ledger.acknowledge()
        run = SurveyRun(
            str(self.source), self.setup.made_for.n_pages, time.monotonic() - began,
            dict(self.live.intake.outcomes.most_common()),
        )  # fmt: skip
        report = survey_report(walks, run, Names.of_urls(self.live.ledger.database.urls), n_gaps)
        self.folder.write_report(report.as_dict())
        return report


@contextmanager
def open_live_survey(
    path: Path, goal: SurveyGoal, output: Path | None = None, restart: bool = False, overrides: Tables | None = None,
    on_topic: bool = False,
) -> Iterator[OpenSurvey]:  # fmt: skip
    """Open the survey of the crawl in this folder, ready to run; `restart` removes an earlier one.

    Pages are fetched with the settings of the crawl, changed by `overrides`, as tables of crawl.toml. The survey has
    its own folder, `output`, or DIR/survey. Nothing else in the crawl folder changes. With `on_topic` the surfer starts
    from the pages on the topic of the crawl, all trusted alike.
    """
    with FolderView.open(path) as crawl:
        plan = survey_plan(_plan(crawl, overrides or {}))
        warm_up(plan)
        folder = open_survey(crawl, output or survey_path(path, on_topic), plan, restart, on_topic)
    with folder, closing(WorkerPool(plan.fetch, plan.crawl.processes)) as pool:
        setup = SurveySetup(folder, plan, goal)
        yield OpenSurvey(path, folder, LiveCrawl(SurveyLedger(folder, plan, setup), pool), setup)


def live_survey(
    path: str | Path,
    goal: SurveyGoal | None = None,
    *,
    output: str | Path | None = None,
    restart: bool = False,
    on_topic: bool = False,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    watch: Callable[[FixedWalks], None] | None = None,
    stop: StopRequest | None = None,
) -> SurveyReport:
    """Measure how complete a crawl is; a second call resumes an unfinished survey.

    With `on_topic` it is measured for a surfer who starts from the pages on the topic of the crawl. `settings` are
    tables as in crawl.toml that override those of the crawl. `watch` is called regularly while it runs;
    `stop` may be asked to end it.
    """
    folder = None if output is None else Path(output)
    with open_live_survey(Path(path), goal or SurveyGoal(), folder, restart, settings, on_topic) as survey:
        (stop or StopRequest()).attach(survey.live)
        return survey.run(watch)


def _plan(crawl: FolderView, overrides: Tables) -> CrawlPlan:
    """Return the plan of the crawl with overrides, which may not change its identity."""
    stored = CrawlPlan.of_folder(crawl)
    expect_allowed(crawl.path, stored, overrides)
    if stored.crawl.access:
        names = ", ".join(stored.crawl.access)
        raise InputError(f"{crawl.path}: it has access to {names}; a survey cannot log in there yet")
    tables = {part.name: to_table(getattr(stored, part.name)) for part in fields(stored)}
    return stored.continued(CrawlPlan.of_tables(merged(tables, overrides), "settings"))
