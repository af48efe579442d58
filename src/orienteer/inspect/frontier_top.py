"""The pages that a crawl would fetch next, and why.

The frontier is not stored in the database. A running crawl writes its top into its folder now and then (`TopWriter`),
for a bounded share of its time. Where that is out of date, because the crawl was killed, all events are replayed
(`replayed_top`), which takes as long as to resume the crawl.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orienteer.graph.growing_graph import sources_of
from orienteer.graph.pagerank import pagerank
from orienteer.inspect.figures import record_of
from orienteer.inspect.survey_progress import walk_of
from orienteer.ledger.event_replay import EventReplay
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan
from orienteer.store.folder_view import FolderView

N_PAGES = 25
_TOLERANCE = 0.01  # of ranks, which only select the strongest source
_SHARE = 0.01  # of the time may go into it
_EVERY_S = 2.0


@dataclass(frozen=True)
class WaitingPage:
    """A page of the frontier. `priority` is None for a page that no page links to: it comes after all others.

    It is None, too, for a page that a `walk` of the survey needs, which is counted from 1: it comes before all others.
    `n_sources` fetched pages link to it; `strongest_source` passes on the most mass to it, by the rank in the known
    web. `depth` counts links from a seed. In a refresh a page may be due.
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

    `position` is that of the next event; priorities are those of the `policy`.
    """

    epoch: int
    position: int
    policy: str
    n_frontier: int
    pages: tuple[WaitingPage, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def top_of(replayed: EventReplay, n_pages: int = N_PAGES) -> FrontierTop:
    """Return the best pages of a crawl. Reads all links, some twenty times."""
    crawl, epoch = replayed.crawl, replayed.epoch
    best = crawl.frontier.best_first(n_pages)
    ids = np.array([page for page, _ in best], np.int64)
    trust = crawl.trusted.vector(crawl.web.n_pages)
    rank = pagerank(crawl.web.freeze(), trust, crawl.coverage.damping, _TOLERANCE)
    sources = sources_of(crawl.web, ids, rank)
    seeds = set(crawl.trusted.pages.tolist())
    is_due = np.isin(ids, [] if epoch is None else epoch.due)
    return FrontierTop(
        epoch=replayed.epoch_number,
        position=replayed.position,
        policy=replayed.plan.crawl.policy,
        n_frontier=len(crawl.frontier),
        pages=tuple(
            WaitingPage(
                url=replayed.url(page),
                host=replayed.seen.host_name(replayed.host(page)),
                priority=priority if math.isfinite(priority) and walk_of(priority) is None else None,
                depth=replayed.depth(page),
                is_seed=page in seeds,
                is_due=bool(is_due[k]),
                n_sources=int(sources.counts[k]),
                strongest_source=replayed.url(int(sources.strongest[k])) if sources.counts[k] else None,
                walk=walk_of(priority),
            )
            for k, (page, priority) in enumerate(best)
        ),
    )


class TopWriter:
    """Writes the top of a running crawl's frontier into its folder, for at most `_SHARE` of the time."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._next = 0.0
        self._written: int | None = None  # the position of the last one

    def write_if_due(self, now: float, at_once: bool = False) -> None:
        """Write the top if it is due; `now` is the time of a monotonic clock."""
        if (now < self._next and not at_once) or self._written == self._ledger.position:
            return
        started = time.perf_counter()
        self._ledger.folder.write_frontier(top_of(self._ledger).as_dict())
        self._written = self._ledger.position
        self._next = now + max(_EVERY_S, (time.perf_counter() - started) / _SHARE)


def written_top(path: Path) -> FrontierTop | None:
    """Read the top of the frontier of the crawl in this folder; None where none was written."""
    with FolderView.open(path) as folder:
        return record_of(FrontierTop, folder.read_frontier())


def replayed_top(path: Path) -> FrontierTop:
    """Compute the top by replaying all events; it takes as much time and memory as resuming the crawl."""
    with FolderView.open(path) as folder:
        plan = CrawlPlan.of_folder(folder)
        return top_of(EventReplay(folder, plan))
