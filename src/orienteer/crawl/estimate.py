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

from orienteer.crawl.around import AroundLedger, around_plan, opened_outside
from orienteer.crawl.live import LiveCrawl
from orienteer.crawl.local_web import local_web
from orienteer.crawl.plan import CrawlPlan
from orienteer.crawl.rounds import EstimateSettings
from orienteer.crawl.warm_up import warm_up
from orienteer.fetch.fetcher import Fetcher
from orienteer.graph.estimation.history import Round
from orienteer.graph.estimation.outlook import Outlook
from orienteer.graph.estimation.outside import OutsidePage, Standing, outside_influence, rank_at_home, standings
from orienteer.store.folder import CrawlFolder, remove_crawl
from orienteer.store.survey import Survey


@dataclass(frozen=True)
class EstimateReport:
    """What came of an estimate.

    `pages` are the local pages by their ids in the crawl; `rank` is what the world makes of them, `rank_inside` what
    they make of each other; both sum to 1. `standings` has all of them, `outside` the outside pages that matter most;
    `urls` names the pages of both. `outlook` is how far off it may still be, by experience.
    """

    folder: Path
    n_local: int
    n_fetched: int
    n_failed: int
    budget: int
    stopped_because: str
    goal_reached: bool
    settings: EstimateSettings
    history: tuple[Round, ...]
    outlook: Outlook
    pages: NDArray[np.uint32]
    rank: NDArray[np.float64]
    rank_inside: NDArray[np.float64]
    standings: list[Standing]
    outside: list[OutsidePage]
    urls: dict[int, str]
    outcomes: dict[str, int]
    elapsed_s: float

    def as_dict(self, n: int = 20) -> dict[str, Any]:
        """All but the ranks of all pages; of pages that are valued otherwise, n each."""
        more, less = valued_otherwise(self.standings, n)
        return {
            "folder": str(self.folder),
            "n_local": self.n_local,
            "n_fetched": self.n_fetched,
            "n_failed": self.n_failed,
            "budget": self.budget,
            "stopped_because": self.stopped_because,
            "goal_reached": self.goal_reached,
            "settings": asdict(self.settings),
            "history": [asdict(past) for past in self.history],
            "outlook": asdict(self.outlook) | {"text": str(self.outlook)},
            "top": [self._standing(standing) for standing in self.standings[:n]],
            "valued_more": [self._standing(standing) for standing in more],
            "valued_less": [self._standing(standing) for standing in less],
            "outside": [
                {
                    "url": self.urls[page.page],
                    "worth": page.worth,
                    "impact": page.impact,
                    "n_links": page.n_links,
                    "links": [self.urls[target] for target in page.links.tolist()],
                }
                for page in self.outside
            ],
            "outcomes": self.outcomes,
            "elapsed_s": self.elapsed_s,
        }

    def _standing(self, standing: Standing) -> dict[str, Any]:
        return asdict(standing) | {"url": self.urls[standing.page]}


def valued_otherwise(found: list[Standing], n: int) -> tuple[list[Standing], list[Standing]]:
    """The n pages that the world values more than the community does, and the n that it values less."""
    ordered = sorted(found, key=lambda standing: (standing.inside - standing.outside, standing.page))
    more = [standing for standing in ordered if standing.outside > standing.inside]
    less = [standing for standing in reversed(ordered) if standing.outside < standing.inside]
    return more[:n], less[:n]


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
        told = Told(ledger, watch)
        started = time.monotonic()
        why = live.run(told)
        told()
        return reported(folder, live, ledger, why, time.monotonic() - started)


class Told:
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


def reported(path: Path, live: LiveCrawl, ledger: AroundLedger, why: str, elapsed_s: float) -> EstimateReport:
    """The report of a run that has ended; the ranks are written into the crawl folder."""
    rounds = ledger.rounds
    estimation = rounds.estimation
    assert estimation is not None  # the local pages are in before anything is fetched
    with Survey(path / "crawl.db") as survey:
        pages = local_web(survey).pages[: ledger.n_local].astype(np.uint32)
    rank, inside = estimation.rank(), rank_at_home(estimation)
    outside = outside_influence(estimation)
    named = [*range(ledger.n_local), *(page.page for page in outside)]
    report = EstimateReport(
        folder=path,
        n_local=ledger.n_local,
        n_fetched=estimation.n_fetched,
        n_failed=rounds.n_asked - estimation.n_fetched,
        budget=rounds.budget,
        stopped_because=why if why == "interrupted" else rounds.stopped_because or why,
        goal_reached=why != "interrupted",
        settings=ledger.settings,
        history=tuple(estimation.history),
        outlook=estimation.outlook(),
        pages=pages,
        rank=rank,
        rank_inside=inside,
        standings=standings(estimation),
        outside=outside,
        urls=dict(zip(named, ledger.database.urls(named), strict=True)),
        outcomes=dict(live.outcomes.most_common()),
        elapsed_s=elapsed_s,
    )
    with CrawlFolder.open(path, read_only=True) as folder:
        folder.write_ranks({"pages": pages, "global": rank, "local": inside})
    return report
