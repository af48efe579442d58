"""The global rank of a crawled domain: fetch around it, estimate, write down what its pages are worth in the web."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.around.rounds import EstimateSettings
from orienteer.around.surroundings import AroundSetup, around_plan, opened_outside, outside_of
from orienteer.fetch.settings import FetchSettings
from orienteer.graph.estimation.history import Round
from orienteer.graph.estimation.outlook import Outlook
from orienteer.graph.estimation.outside import View
from orienteer.inspect.local_web import local_pages
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.permission import Tables, expect_allowed
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.live_crawl import LiveCrawl
from orienteer.live.warm_up import warm_up
from orienteer.pages.stop_reason import StopReason
from orienteer.settings import from_table, merged, to_table
from orienteer.store.folder import CrawlFolder, remove_crawl
from orienteer.workers.crew import Crew

_KEPT_PAGES = 100  # of each kind, in the report that stays in the folder
_KEPT_LINKS = 10  # of each page outside


@dataclass(frozen=True)
class EstimateReport:
    """What came of an estimate.

    `view` is what the world makes of the domain, `outlook` how far off that may still be, by experience. `pages` are
    the local pages, in the order of the view, by their ids in the crawl; `urls` names all pages of the view by theirs.
    `n_fetched` pages around the domain were there, `n_failed` were not. `position` is where the crawl was.
    """

    folder: Path
    view: View
    outlook: Outlook
    n_fetched: int
    n_failed: int
    budget: int
    stopped_because: StopReason
    goal_reached: bool
    settings: EstimateSettings
    history: tuple[Round, ...]
    pages: NDArray[np.uint32]
    urls: dict[int, str]
    outcomes: dict[str, int]
    elapsed_s: float
    position: int

    def as_dict(self, n: int = 20) -> dict[str, Any]:
        """All but the ranks of all pages, which are in the folder; n pages of each kind."""
        return {
            "folder": str(self.folder),
            "n_local": len(self.pages),
            "n_fetched": self.n_fetched,
            "n_failed": self.n_failed,
            "budget": self.budget,
            "stopped_because": self.stopped_because,
            "goal_reached": self.goal_reached,
            "settings": asdict(self.settings),
            "history": [asdict(past) for past in self.history],
            "outlook": asdict(self.outlook) | {"text": str(self.outlook)},
            **self.view.as_dict(self.urls.get, n),
            "outcomes": self.outcomes,
            "elapsed_s": self.elapsed_s,
            "position": self.position,
        }

    def kept(self) -> dict[str, Any]:
        """What stays in the folder: enough to show it again."""
        told = self.as_dict(_KEPT_PAGES)
        for page in told["outside"]:
            page["links"] = page["links"][:_KEPT_LINKS]
        return told | {"time": time.time()}


class OpenEstimate(NamedTuple):
    """An estimate that is ready to run: the crawl folder, locked, and the crawl of its surroundings."""

    folder: CrawlFolder
    live: LiveCrawl
    setup: AroundSetup

    def run(self, watch: Callable[[Round], None] | None = None) -> EstimateReport:
        """Fetch until it is enough, or somebody asks it to stop; what came of it is written into the folder."""
        told = _Told(self.setup, watch)
        started = time.monotonic()
        why = self.live.run(told)
        told()
        return _reported(self, why, time.monotonic() - started)


@contextmanager
def opened_estimate(
    path: Path, settings: EstimateSettings, again: bool = False, given: Tables | None = None
) -> Iterator[OpenEstimate]:
    """The surroundings of the crawl in this folder, ready to be fetched; `again`: those fetched before are removed.

    They are fetched as the crawl's own pages are, but for the settings that are `given`, as tables of crawl.toml.
    The folder is locked meanwhile: what is estimated belongs to the crawl as it is now.
    """
    with CrawlFolder.open(path) as crawl:
        stored = CrawlPlan.of_folder(crawl)
        expect_allowed(path, stored, given or {})
        fetch = from_table(FetchSettings, merged({"fetch": to_table(stored.fetch)}, given or {})["fetch"], "settings")
        plan = around_plan(replace(stored, fetch=fetch))
        if again:
            remove_crawl(outside_of(path))
        warm_up(plan)
        with opened_outside(crawl, plan) as folder, closing(Crew(plan.fetch, plan.crawl.processes)) as crew:
            setup = AroundSetup(folder, plan, settings)
            yield OpenEstimate(crawl, LiveCrawl(Ledger(folder, plan, setup), crew), setup)


def live_estimate(
    path: str | Path,
    settings: EstimateSettings | None = None,
    *,
    again: bool = False,
    fetch: Mapping[str, Any] | None = None,
    watch: Callable[[Round], None] | None = None,
) -> EstimateReport:
    """Estimate the global rank of a crawl's pages; run again, it goes on where it was.

    `fetch` are settings as in the table [fetch] of crawl.toml, where they are to be others than the crawl's. `watch`
    hears of every round when it is over.
    """
    given = {"fetch": fetch or {}}
    with opened_estimate(Path(path), settings or EstimateSettings(), again, given) as estimate:
        return estimate.run(watch)


class _Told:
    """Tells of each round once, as they come to their end."""

    def __init__(self, setup: AroundSetup, watch: Callable[[Round], None] | None) -> None:
        self._setup = setup
        self._watch = watch
        self._n_told = 0

    def __call__(self) -> None:
        estimation = self._setup.rounds.estimation
        for past in () if estimation is None else estimation.history[self._n_told :]:
            self._n_told += 1
            if self._watch is not None:
                self._watch(past)


def _reported(opened: OpenEstimate, why: StopReason, elapsed_s: float) -> EstimateReport:
    """The report of a run that has ended; the ranks are written into the crawl folder."""
    crawl, live, setup = opened
    rounds = setup.rounds
    estimation = rounds.estimation
    assert estimation is not None  # the local pages are in before anything is fetched
    pages = local_pages(crawl.database).astype(np.uint32)
    view = View.of(estimation, _KEPT_PAGES)
    named = [*range(setup.n_local), *(page.page for page in view.outside)]
    report = EstimateReport(
        folder=crawl.path,
        view=view,
        outlook=estimation.outlook(),
        n_fetched=estimation.n_fetched,
        n_failed=rounds.n_asked - estimation.n_fetched,
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
    crawl.write_ranks({"pages": pages, "global": view.rank, "local": view.rank_inside})
    crawl.write_estimate(report.kept())
    return report
