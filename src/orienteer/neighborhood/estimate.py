"""Estimate the global rank of a crawled domain: fetch its neighborhood, and store the ranks of its pages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.fetch.settings import FetchSettings
from orienteer.graph.estimation.history import EstimateRound, SettlingForecast
from orienteer.graph.estimation.neighborhood_view import NeighborhoodView
from orienteer.inspect.snapshot import local_pages
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.permission import Tables, expect_allowed
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.live_crawl import LiveCrawl
from orienteer.live.warm_up import warm_up
from orienteer.neighborhood.neighborhood_crawl import (
    NeighborhoodSetup,
    neighborhood_folder,
    neighborhood_plan,
    open_neighborhood,
)
from orienteer.neighborhood.rounds import EstimateSettings
from orienteer.pages.stop_reason import StopReason
from orienteer.settings import from_table, merged, to_table
from orienteer.store.folder import CrawlFolder, remove_crawl
from orienteer.workers.worker_pool import WorkerPool

_STORED_PAGES = 100  # of each kind, in the report that stays in the folder
_STORED_LINKS = 10  # of each page outside


@dataclass(frozen=True)
class EstimateReport:
    """The result of an estimate.

    `view` has the ranks of the domain, `forecast` their likely error, by experience. `pages` are the local pages, in
    the order of the view, by their ids in the crawl; `urls` has all pages of the view by their ids there. Of the
    neighborhood `n_fetched` pages were fetched, `n_failed` do not exist. `position` is that of the crawl.
    """

    folder: Path
    view: NeighborhoodView
    forecast: SettlingForecast
    n_fetched: int
    n_failed: int
    budget: int
    stopped_because: StopReason
    goal_reached: bool
    settings: EstimateSettings
    history: tuple[EstimateRound, ...]
    pages: NDArray[np.uint32]
    urls: dict[int, str]
    outcomes: dict[str, int]
    elapsed_s: float
    position: int

    def as_dict(self, n: int = 20) -> dict[str, Any]:
        """Return the report with n pages of each kind; the ranks of all pages are in the folder."""
        return {
            "folder": str(self.folder),
            "n_local": len(self.pages),
            "n_fetched": self.n_fetched,
            "n_failed": self.n_failed,
            "budget": self.budget,
            "stopped_because": self.stopped_because,
            "goal_reached": self.goal_reached,
            "settings": asdict(self.settings),
            "history": [asdict(one) for one in self.history],
            "outlook": asdict(self.forecast) | {"text": str(self.forecast)},
            **self.view.as_dict(self.urls.get, n),
            "outcomes": self.outcomes,
            "elapsed_s": self.elapsed_s,
            "position": self.position,
        }

    def as_stored(self) -> dict[str, Any]:
        """Return the report as stored in the folder, enough to display it again."""
        report_rounds = self.as_dict(_STORED_PAGES)
        for page in report_rounds["outside"]:
            page["links"] = page["links"][:_STORED_LINKS]
        return report_rounds | {"time": time.time()}


class OpenEstimate(NamedTuple):
    """An estimate that is ready to run: the crawl folder, locked, and the crawl of its neighborhood."""

    folder: CrawlFolder
    live: LiveCrawl
    setup: NeighborhoodSetup

    def run(self, watch: Callable[[EstimateRound], None] | None = None) -> EstimateReport:
        """Fetch until the estimate has settled or is interrupted; the result is written into the folder."""
        report_rounds = _RoundReporter(self.setup, watch)
        started = time.monotonic()
        why = self.live.run(report_rounds)
        report_rounds()
        return _report(self, why, time.monotonic() - started)


@contextmanager
def open_estimate(
    path: Path, settings: EstimateSettings, restart: bool = False, overrides: Tables | None = None
) -> Iterator[OpenEstimate]:
    """Open the neighborhood of the crawl in this folder, ready to be fetched; `restart` removes an earlier one.

    It is fetched with the settings of the crawl, changed by `overrides`, as tables of crawl.toml. The folder is locked
    meanwhile, since the estimate belongs to the present state of the crawl.
    """
    with CrawlFolder.open(path) as crawl:
        stored = CrawlPlan.of_folder(crawl)
        expect_allowed(path, stored, overrides or {})
        tables = merged({"fetch": to_table(stored.fetch)}, overrides or {})
        fetch = from_table(FetchSettings, tables["fetch"], "settings")
        plan = neighborhood_plan(replace(stored, fetch=fetch))
        if restart:
            remove_crawl(neighborhood_folder(path))
        warm_up(plan)
        with open_neighborhood(crawl, plan) as folder, closing(WorkerPool(plan.fetch, plan.crawl.processes)) as pool:
            setup = NeighborhoodSetup(folder, plan, settings)
            yield OpenEstimate(crawl, LiveCrawl(Ledger(folder, plan, setup), pool), setup)


def live_estimate(
    path: str | Path,
    settings: EstimateSettings | None = None,
    *,
    restart: bool = False,
    fetch: Mapping[str, Any] | None = None,
    watch: Callable[[EstimateRound], None] | None = None,
) -> EstimateReport:
    """Estimate the global rank of a crawl's pages; a second call resumes an unfinished estimate.

    `fetch` are settings of the table [fetch] of crawl.toml that override those of the crawl. `watch` is called after
    every round.
    """
    overrides = {"fetch": fetch or {}}
    with open_estimate(Path(path), settings or EstimateSettings(), restart, overrides) as estimate:
        return estimate.run(watch)


class _RoundReporter:
    """Calls `watch` once for each round that has ended."""

    def __init__(self, setup: NeighborhoodSetup, watch: Callable[[EstimateRound], None] | None) -> None:
        self._setup = setup
        self._watch = watch
        self._n_reported = 0

    def __call__(self) -> None:
        estimation = self._setup.rounds.estimation
        for one in () if estimation is None else estimation.history[self._n_reported :]:
            self._n_reported += 1
            if self._watch is not None:
                self._watch(one)


def _report(opened: OpenEstimate, why: StopReason, elapsed_s: float) -> EstimateReport:
    """Report on a run that has ended, and write the ranks into the crawl folder."""
    crawl, live, setup = opened
    rounds = setup.rounds
    estimation = rounds.estimation
    assert estimation is not None  # local pages are replayed before anything is fetched
    pages = local_pages(crawl.database).astype(np.uint32)
    view = NeighborhoodView.of(estimation, _STORED_PAGES)
    named = [*range(setup.n_local), *(page.page for page in view.referrers)]
    report = EstimateReport(
        folder=crawl.path,
        view=view,
        forecast=estimation.forecast(),
        n_fetched=estimation.n_fetched,
        n_failed=rounds.n_requested - estimation.n_fetched,
        budget=rounds.budget,
        stopped_because=why if why == StopReason.INTERRUPTED else rounds.stopped_because or why,
        goal_reached=why != StopReason.INTERRUPTED,
        settings=setup.settings,
        history=tuple(estimation.history),
        pages=pages,
        urls=dict(zip(named, live.ledger.database.urls(named), strict=True)),
        outcomes=dict(live.intake.outcomes.most_common()),
        elapsed_s=elapsed_s,
        position=crawl.database.next_position(),
    )
    crawl.write_ranks({"pages": pages, "global": view.rank, "local": view.local_rank})
    crawl.write_estimate(report.as_stored())
    return report
