"""The pages that a crawl would fetch next, and why.

The frontier is in no database. A running crawl writes its top into its folder now and then (`TopWriter`), for a bounded
share of its time. Where that is not of the present moment, because the crawl was killed, all that happened is told to a
Crawl once more (`retold_top`), which takes as long as to resume it.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orienteer.errors import InputError
from orienteer.graph.pagerank import pagerank
from orienteer.graph.sources import sources_of
from orienteer.inspect.surveyed import walk_of
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.retelling import Retelling
from orienteer.settings import from_table
from orienteer.store.folder_view import FolderView

N_PAGES = 25
_TOLERANCE = 0.01  # of ranks that only tell the strongest source from the others
_SHARE = 0.01  # of the time may go into it
_EVERY_S = 2.0


@dataclass(frozen=True)
class WaitingPage:
    """A page of the frontier. `priority` is None for a page that no page links to: it comes after all others.

    It is None, too, for a page that a `walk` of the survey needs, which is counted from 1: it comes before all others.
    `n_sources` fetched pages link to it; `strongest_source` passes on the most to it, by the rank in the web as it is
    known. `depth` counts links from a seed. In a refresh a page may be due to be refreshed.
    """

    url: str
    host: str
    priority: float | None
    depth: int
    is_seed: bool
    is_due: bool
    n_sources: int
    strongest_source: str | None
    walk: int | None = None


@dataclass(frozen=True)
class FrontierTop:
    """The best pages in order, and how many wait in all. Politeness delays are ignored.

    `position` is that of the next event; priorities are what the `policy` makes of pages.
    """

    epoch: int
    position: int
    policy: str
    n_frontier: int
    pages: tuple[WaitingPage, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_dict(cls, values: Any) -> FrontierTop | None:
        """None for what somebody else wrote, or another version."""
        try:
            pages = tuple(from_table(WaitingPage, page, "frontier") for page in values["pages"])
            numbers = [int(values[name]) for name in ("epoch", "position", "n_frontier")]
            return cls(numbers[0], numbers[1], str(values["policy"]), numbers[2], pages)
        except (InputError, KeyError, TypeError, ValueError, AttributeError):
            return None


def top_of(told: Retelling, n_pages: int = N_PAGES) -> FrontierTop:
    """The best pages of a crawl. Reads all links, some twenty times."""
    crawl, epoch = told.crawl, told.epoch
    best = crawl.frontier.best_first(n_pages)
    ids = np.array([page for page, _ in best], np.int64)
    trust = crawl.trusted.vector(crawl.web.n_pages)
    rank = pagerank(crawl.web.freeze(), trust, crawl.coverage.damping, _TOLERANCE)
    sources = sources_of(crawl.web, ids, rank)
    seeds = set(crawl.trusted.pages.tolist())
    is_due = np.isin(ids, [] if epoch is None else epoch.due)
    return FrontierTop(
        epoch=told.number,
        position=told.position,
        policy=told.plan.crawl.policy,
        n_frontier=len(crawl.frontier),
        pages=tuple(
            WaitingPage(
                url=told.url(page),
                host=told.seen.host_name(told.host(page)),
                priority=priority if math.isfinite(priority) and walk_of(priority) is None else None,
                depth=told.depth(page),
                is_seed=page in seeds,
                is_due=bool(is_due[k]),
                n_sources=int(sources.counts[k]),
                strongest_source=told.url(int(sources.strongest[k])) if sources.counts[k] else None,
                walk=walk_of(priority),
            )
            for k, (page, priority) in enumerate(best)
        ),
    )


class TopWriter:
    """Writes the top of a running crawl's frontier into its folder, rarely enough that it costs next to nothing."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._next = 0.0
        self._written: int | None = None  # the position of the last one

    def write_if_due(self, now: float, at_once: bool = False) -> None:
        """`now` is that of a clock that never goes back."""
        if (now < self._next and not at_once) or self._written == self._ledger.position:
            return
        started = time.perf_counter()
        self._ledger.folder.write_frontier(top_of(self._ledger).as_dict())
        self._written = self._ledger.position
        self._next = now + max(_EVERY_S, (time.perf_counter() - started) / _SHARE)


def written_top(path: Path) -> FrontierTop | None:
    """The top of the frontier of the crawl in this folder, as it was written last; None where it was not."""
    with FolderView.open(path) as folder:
        return FrontierTop.of_dict(folder.read_frontier())


def retold_top(path: Path) -> FrontierTop:
    """The same from all that has happened: as slow as to resume the crawl, and as much memory."""
    with FolderView.open(path) as folder:
        plan = CrawlPlan.of_folder(folder)
        return top_of(Retelling(folder, plan))
