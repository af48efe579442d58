"""Estimate the global rank of a crawled domain: fetch its neighborhood, and store the ranks of its pages.

The neighborhood is a side crawl in DIR/outside: links only, nothing is archived. It begins as a copy of the domain
(`local_web`). From then on `Rounds` selects pages.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.crawl.crawl import Crawl
from orienteer.graph.estimation.history import EstimateRound, SettlingForecast
from orienteer.graph.estimation.neighborhood_view import NeighborhoodView
from orienteer.graph.growing_graph import PageHosts
from orienteer.inspect.snapshot import LocalWeb, local_pages, local_web, url_batches
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.settings import EstimateSettings, ScopeSettings
from orienteer.live.live_crawl import LiveCrawl, StopRequest
from orienteer.notebook import rows_html
from orienteer.pages.states import PageState
from orienteer.pages.stop_reason import StopReason
from orienteer.policies.policy import TrustedPages
from orienteer.settings import Tables
from orienteer.side_crawls.estimate_rounds import Rounds
from orienteer.side_crawls.side_crawl import (
    ONLY_SELECTED,
    SideCrawlSetup,
    changed_plan,
    expect_position,
    live_side_crawl,
    open_side_folder,
)
from orienteer.store.database import Database
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import FolderFiles
from orienteer.store.history import DonePages, KnownPages
from orienteer.store.object_store import StoreSettings
from orienteer.store.page_row import PageRow

_LOCAL, _ROUNDS = "local", "rounds"  # keys in the database: the domain that was copied; the sizes of the rounds
_STORED_PAGES = 100  # of each kind, in the report that stays in the folder
_STORED_LINKS = 10  # of each page outside


class NeighborhoodSetup(SideCrawlSetup):
    """The setup of a neighborhood, with `rounds` as its policy. Links to other names of a page count for that page."""

    selections_key = _ROUNDS

    def __init__(self, folder: FolderFiles, plan: CrawlPlan, settings: EstimateSettings) -> None:
        super().__init__(folder, plan, range(1, sys.maxsize), "the sizes of rounds are invalid")
        source = folder.database.meta.get(_LOCAL)
        self.settings = settings
        self.n_local, self._n_names = int(source["n_pages"]), int(source["n_names"])
        self._names: dict[int, int] = {}

    def new_crawl(self, hosts: PageHosts) -> Crawl:
        trusted = TrustedPages(np.arange(self.n_local, dtype=np.uint32), np.full(self.n_local, 1.0 / self.n_local))
        self.rounds = Rounds(self.settings, list(self.stored_selections), self.plan.crawl.damping)
        return self.crawl_with(self.rounds, trusted, hosts)

    def history(self, database: Database) -> Iterator[DonePages | KnownPages]:
        """Yield the events without other names of local pages, which only serve to number links."""
        is_name = range(self.n_local, self.n_local + self._n_names)
        for events in super().history(database):
            if not isinstance(events, DonePages) or events.positions[0] >= is_name.stop:
                yield events
                continue
            selected = np.array([position not in is_name for position in events.positions.tolist()])
            names = events.pages[~selected].tolist(), events.redirects[~selected].tolist()
            for page, target in zip(*names, strict=True):
                self._names[page] = target
            if selected.any():
                yield events.where(selected)

    def linked(self, pages: NDArray[np.uint32]) -> NDArray[np.uint32]:
        return np.array([self._names.get(page, page) for page in pages.tolist()], np.uint32)

    def selections(self) -> list[int]:
        return self.rounds.sizes


def _neighborhood_plan(plan: CrawlPlan) -> CrawlPlan:
    """Return the plan to fetch the neighborhood of a crawl: as politely as its pages, on any host."""
    crawl = replace(plan.crawl, until=None, budget=None, hooks=(), duplicates="off", archive=False, **ONLY_SELECTED)
    return replace(plan, crawl=crawl, scope=ScopeSettings("web"), store=StoreSettings())


def _begin(folder: CrawlFolder, crawl: CrawlFolder) -> None:
    """Copy the domain into a new folder; check that another one belongs to the crawl."""
    source = folder.database.meta.get(_LOCAL)
    if source is None:
        _fill(folder, crawl.database)
    else:
        expect_position(crawl, source.get("position"), "neighborhood was fetched; use --restart to fetch it again")


def _fill(folder: CrawlFolder, local: Database) -> None:
    """Copy the domain, all of it in one transaction."""
    web = local_web(local)
    database = folder.database
    n_urls = 0
    for pages in (web.pages, web.others):
        for urls in url_batches(local, pages):
            database.urls.add(n_urls, urls)
            n_urls += len(urls)
    for row in _rows(web):
        database.pages.add(row)
    database.meta.set(
        _LOCAL, {"n_pages": web.n_local, "n_names": len(web.others), "position": local.history.next_position()}
    )
    folder.acknowledge()


def _rows(web: LocalWeb) -> Iterator[PageRow]:
    for page in range(web.n_local):
        links = web.links[web.offsets[page] : web.offsets[page + 1]]
        yield PageRow(page, page, PageState.FETCHED, "local", links=links)
    for k, target in enumerate(web.named.tolist()):
        page, position = len(web.pages) + k, web.n_local + k
        links = np.array([target], np.uint32)
        yield PageRow(page, position, PageState.FETCHED, "local name", redirect_to=target, links=links)


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
            "forecast": asdict(self.forecast) | {"text": str(self.forecast)},
            **self.view.as_dict(self.urls.get, n),
            "outcomes": self.outcomes,
            "elapsed_s": self.elapsed_s,
            "position": self.position,
        }

    def __repr__(self) -> str:
        pages = f"{len(self.pages):,} pages of the domain, {self.n_fetched:,} fetched outside"
        return f"<EstimateReport: {pages}; {self.forecast}>"

    def _repr_html_(self) -> str:
        ranks = self.view.page_ranks
        rows = [(one.position_outside, one.position_inside, one.outside, self.urls.get(one.page)) for one in ranks[:10]]
        columns = ("place in the web", "place inside", "rank", "page")
        return rows_html(f"Global rank; {self.forecast}", columns, rows, len(ranks) - len(rows))

    def as_stored(self) -> dict[str, Any]:
        """Return the report as stored in the folder, enough to display it again."""
        facts = self.as_dict(_STORED_PAGES)
        for page in facts["outside"]:
            page["links"] = page["links"][:_STORED_LINKS]
        return facts | {"time": time.time()}


class OpenEstimate(NamedTuple):
    """An estimate that is ready to run: the crawl folder, locked, and the crawl of its neighborhood."""

    folder: CrawlFolder
    live: LiveCrawl
    setup: NeighborhoodSetup

    def run(self, watch: Callable[[EstimateRound], None] | None = None) -> EstimateReport:
        """Fetch until the estimate has settled or is interrupted; the result is written into the folder."""
        n_watched = 0

        def tick() -> None:
            """Call `watch` once for each round that has ended."""
            nonlocal n_watched
            estimation = self.setup.rounds.estimation
            for one in () if estimation is None else estimation.history[n_watched:]:
                n_watched += 1
                if watch is not None:
                    watch(one)

        started = time.monotonic()
        why = self.live.run(tick)
        tick()
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
        plan = _neighborhood_plan(changed_plan(crawl, overrides or {}))
        with open_side_folder(path / "outside", plan, restart, lambda folder: _begin(folder, crawl)) as folder:
            setup = NeighborhoodSetup(folder, plan, settings)
            with live_side_crawl(folder, setup) as live:
                yield OpenEstimate(crawl, live, setup)


def live_estimate(
    path: str | Path,
    settings: EstimateSettings | None = None,
    *,
    restart: bool = False,
    fetch: Mapping[str, Any] | None = None,
    watch: Callable[[EstimateRound], None] | None = None,
    stop: StopRequest | None = None,
) -> EstimateReport:
    """Estimate the global rank of a crawl's pages; a second call resumes an unfinished estimate.

    `fetch` are settings of the table [fetch] of crawl.toml that override those of the crawl. `watch` is called after
    every round; `stop` may be asked to end it.
    """
    overrides = {"fetch": fetch or {}}
    with open_estimate(Path(path), settings or EstimateSettings(), restart, overrides) as estimate:
        (stop or StopRequest()).attach(estimate.live)
        return estimate.run(watch)


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
        urls=dict(zip(named, live.ledger.database.urls.of_all(named), strict=True)),
        outcomes=dict(live.intake.outcomes.most_common()),
        elapsed_s=elapsed_s,
        position=crawl.database.history.next_position(),
    )
    crawl.write_ranks({"pages": pages, "global": view.rank, "local": view.local_rank})
    crawl.write_estimate(report.as_stored())
    return report
