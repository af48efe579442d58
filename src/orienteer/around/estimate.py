"""The global rank of a crawled domain: fetch around it, estimate, write down what its pages are worth in the web."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.around.rounds import EstimateSettings
from orienteer.around.surroundings import AroundLedger, around_plan, opened_outside
from orienteer.fetch.libcurl import Fetcher
from orienteer.graph.estimation.history import Round
from orienteer.graph.estimation.outlook import Outlook
from orienteer.graph.estimation.outside import View
from orienteer.inspect.local_web import local_pages
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.live_crawl import LiveCrawl
from orienteer.live.warm_up import warm_up
from orienteer.pages.stop_reason import StopReason
from orienteer.store.folder import CrawlFolder, remove_crawl
from orienteer.store.survey import Survey

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


@contextmanager
def opened_estimate(
    path: Path, plan: CrawlPlan, settings: EstimateSettings, again: bool = False
) -> Iterator[tuple[LiveCrawl, AroundLedger]]:
    """The surroundings of the crawl in this folder, ready to be fetched; `again`: those fetched before are removed."""
    around = around_plan(plan)
    if again:
        remove_crawl(path / "outside")
    warm_up(around)
    with opened_outside(path, around) as folder, Fetcher(around.fetch) as fetcher:
        ledger = AroundLedger(folder, around, settings)
        yield LiveCrawl(ledger, fetcher), ledger


def live_estimate(
    path: str | Path,
    settings: EstimateSettings | None = None,
    *,
    again: bool = False,
    watch: Callable[[Round], None] | None = None,
) -> EstimateReport:
    """Estimate the global rank of a crawl's pages; run again, it goes on where it was.

    `watch` hears of every round when it is over.
    """
    folder = Path(path)
    with CrawlFolder.open(folder, read_only=True) as crawl:
        plan = CrawlPlan.parse(crawl.settings_text, str(crawl.settings_path))
    with opened_estimate(folder, plan, settings or EstimateSettings(), again) as (live, ledger):
        return run_estimate(folder, live, ledger, watch)


def run_estimate(
    folder: Path, live: LiveCrawl, ledger: AroundLedger, watch: Callable[[Round], None] | None = None
) -> EstimateReport:
    """Fetch until it is enough, or somebody asks it to stop; what came of it."""
    told = _Told(ledger, watch)
    started = time.monotonic()
    why = live.run(told)
    told()
    return _reported(folder, live, ledger, why, time.monotonic() - started)


class _Told:
    """Tells of each round once, as they come to their end."""

    def __init__(self, ledger: AroundLedger, watch: Callable[[Round], None] | None) -> None:
        self._ledger = ledger
        self._watch = watch
        self._n_told = 0

    def __call__(self) -> None:
        estimation = self._ledger.rounds.estimation
        for past in () if estimation is None else estimation.history[self._n_told :]:
            self._n_told += 1
            if self._watch is not None:
                self._watch(past)


def _reported(path: Path, live: LiveCrawl, ledger: AroundLedger, why: StopReason, elapsed_s: float) -> EstimateReport:
    """The report of a run that has ended; the ranks are written into the crawl folder."""
    rounds = ledger.rounds
    estimation = rounds.estimation
    assert estimation is not None  # the local pages are in before anything is fetched
    with Survey(path / "crawl.db") as survey:
        pages = local_pages(survey).astype(np.uint32)
        position = survey.next_position()
    view = View.of(estimation, _KEPT_PAGES)
    named = [*range(ledger.n_local), *(page.page for page in view.outside)]
    report = EstimateReport(
        folder=path,
        view=view,
        outlook=estimation.outlook(),
        n_fetched=estimation.n_fetched,
        n_failed=rounds.n_asked - estimation.n_fetched,
        budget=rounds.budget,
        stopped_because=why if why == StopReason.INTERRUPTED else rounds.stopped_because or why,
        goal_reached=why != StopReason.INTERRUPTED,
        settings=ledger.settings,
        history=tuple(estimation.history),
        pages=pages,
        urls=dict(zip(named, ledger.database.urls(named), strict=True)),
        outcomes=dict(live.intake.outcomes.most_common()),
        elapsed_s=elapsed_s,
        position=position,
    )
    with CrawlFolder.open(path, read_only=True) as folder:
        folder.write_ranks({"pages": pages, "global": view.rank, "local": view.rank_inside})
        folder.write_estimate(report.kept())
    return report
