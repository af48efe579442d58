"""The survey of a crawl: fetch the pages outside that walks need, until it is known how complete the crawl is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from orienteer.audit.survey_folder import opened_survey, survey_of, survey_plan
from orienteer.audit.survey_report import N_GAPS, Names, Surveyed, SurveyReport, survey_report
from orienteer.audit.survey_setup import SurveyLedger, SurveySetup
from orienteer.errors import InputError
from orienteer.graph.survey.fixed_walks import FixedWalks, SurveyGoal
from orienteer.ledger.permission import Tables, expect_allowed
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.live_crawl import LiveCrawl
from orienteer.live.warm_up import warm_up
from orienteer.settings import merged, to_table
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import FolderView
from orienteer.workers.crew import Crew


class OpenSurvey(NamedTuple):
    """A survey that is ready to run: its folder, locked, and the crawl of the pages outside."""

    source: Path
    folder: CrawlFolder
    live: LiveCrawl
    setup: SurveySetup

    def run(self, watch: Callable[[FixedWalks], None] | None = None, n_gaps: int = N_GAPS) -> SurveyReport:
        """Fetch until it is enough, or somebody asks it to stop. What came of it is in the folder as report.json."""
        walks = self.setup.walks

        def tick() -> None:
            if walks.stopped_because is not None:
                self.live.stop_wanted = max(self.live.stop_wanted, 1)  # pages that wait are not needed any more
            elif watch is not None:
                watch(walks)

        began = time.monotonic()
        if walks.stopped_because is None:
            self.live.run(tick)
        self.live.ledger.acknowledge()
        of = Surveyed(
            str(self.source), self.setup.made_for.n_pages, time.monotonic() - began,
            dict(self.live.intake.outcomes.most_common()),
        )  # fmt: skip
        report = survey_report(walks, of, Names.of_urls(self.live.ledger.database.urls), n_gaps)
        self.folder.write_report(report.as_dict())
        return report


@contextmanager
def opened_live_survey(
    path: Path, goal: SurveyGoal, place: Path | None = None, again: bool = False, given: Tables | None = None,
    on_topic: bool = False,
) -> Iterator[OpenSurvey]:  # fmt: skip
    """The survey of the crawl in this folder, ready to run; `again`: what was walked before is removed.

    Pages are fetched as the crawl's own are, but for the settings that are `given`, as tables of crawl.toml. The survey
    has a folder of its own, `place`, or DIR/survey. Nothing else in the crawl folder changes. With `on_topic` the
    surfer starts from the pages on the topic of the crawl, all trusted alike.
    """
    with FolderView.open(path) as crawl:
        plan = survey_plan(_plan(crawl, given or {}))
        warm_up(plan)
        folder = opened_survey(crawl, place or survey_of(path, on_topic), plan, again, on_topic)
    with folder, closing(Crew(plan.fetch, plan.crawl.processes)) as crew:
        setup = SurveySetup(folder, plan, goal)
        yield OpenSurvey(path, folder, LiveCrawl(SurveyLedger(folder, plan, setup), crew), setup)


def live_survey(
    path: str | Path,
    goal: SurveyGoal | None = None,
    *,
    place: str | Path | None = None,
    again: bool = False,
    on_topic: bool = False,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    watch: Callable[[FixedWalks], None] | None = None,
) -> SurveyReport:
    """Measure how complete a crawl is; run again, it goes on where it was.

    With `on_topic` it is measured for a surfer who starts from the pages on the topic of the crawl.
    `settings` are tables as in crawl.toml, where they are to be others than the crawl's. `watch` is called again and
    again while it runs.
    """
    folder = None if place is None else Path(place)
    with opened_live_survey(Path(path), goal or SurveyGoal(), folder, again, settings, on_topic) as opened:
        return opened.run(watch)


def _plan(crawl: FolderView, given: Tables) -> CrawlPlan:
    """The plan of the crawl, with the settings that are given now; what the crawl is stays as it was."""
    stored = CrawlPlan.of_folder(crawl)
    expect_allowed(crawl.path, stored, given)
    if stored.crawl.access:
        names = ", ".join(stored.crawl.access)
        raise InputError(f"{crawl.path}: it has access to {names}; a survey cannot log in there yet")
    tables = {part.name: to_table(getattr(stored, part.name)) for part in fields(stored)}
    return stored.continued(CrawlPlan.of_tables(merged(tables, given), "settings"))
