"""Begin an epoch: select its start pages and the pages to revisit.

    1. `web_of_crawl` builds the graph of the known pages, and `paper_value_of_crawl` values them: highest are those
       with links to pages that were never fetched.
    2. New seeds are selected that reach the most value within `hops` links.
    3. Pages that may have changed since the last visit are due (`revisiting`).

The epoch is stored before its first request, so an interrupted one resumes with the same pages.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.inspect.snapshot import web_of_crawl
from orienteer.inspect.tallies import FIRST_CRAWL
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.revisiting import due_pages
from orienteer.live.start_pages import paper_value_of_crawl
from orienteer.pages.states import PageState
from orienteer.progress import Progress, silent
from orienteer.seeds.select import select_seeds
from orienteer.store.database import Database
from orienteer.store.folder import CrawlFolder
from orienteer.store.visits import EpochRow, VisitKind


def begin_epoch(
    folder: CrawlFolder, plan: CrawlPlan, now: float | None = None, progress: Progress = silent
) -> EpochRow:
    """Return the epoch to run: the last one if it was interrupted, else a new one, which is durable.

    `now` is the time by which pages are due, in seconds since 1970.
    """
    last = folder.database.epochs.last()
    if last is not None and last.ended is None:
        return last
    epoch = new_epoch(folder.database, plan, time.time() if now is None else now, progress)
    if last is None:
        folder.database.meta.set(FIRST_CRAWL, _first_crawl(folder.database))
    folder.database.epochs.add(epoch)
    folder.acknowledge()
    return epoch


def new_epoch(database: Database, plan: CrawlPlan, now: float, progress: Progress = silent) -> EpochRow:
    """Return the next epoch of a crawl, which is not stored yet."""
    last = database.epochs.last()
    seen = database.visits.seen_pages()
    if len(seen.pages) == 0:
        raise InputError(
            "there is nothing to refresh: the crawl has fetched no page yet; resume it with orienteer crawl"
        )
    hops: int | None
    if plan.refresh.start == "selected":
        seeds = _selected(database, plan, progress)
        trust, hops = np.full(len(seeds), 1.0 / len(seeds)), plan.refresh.hops
    else:
        seeds, trust = np.arange(len(plan.crawl.seeds), dtype=np.uint32), plan.crawl.seed_trust()
        hops = plan.scope.max_depth
    return EpochRow(
        id=1 if last is None else last.id + 1,
        began=now,
        ended=None,
        position=database.history.next_position(),
        hops=hops,
        seeds=seeds,
        trust=trust,
        due=due_pages(seen, now, plan.refresh.revisit_chance),
    )


def _first_crawl(database: Database) -> dict[str, int]:
    """Return the counts of the first crawl, whose rows change in later epochs."""
    n_pages = database.pages.counts().by_state
    n_new = n_pages.get(PageState.FETCHED, 0)
    return {VisitKind.NEW.words: n_new, VisitKind.NOTHING.words: sum(n_pages.values()) - n_new}


def _selected(database: Database, plan: CrawlPlan, progress: Progress) -> NDArray[np.uint32]:
    """Return the ids of the selected seeds, in increasing order."""
    web = web_of_crawl(database)
    n_seeds = min(plan.refresh.n_seeds, web.graph.n_pages)
    value = paper_value_of_crawl(web)
    chosen = select_seeds(web.graph, n_seeds, plan.refresh.hops, plan.refresh.method, value, progress=progress)
    return np.sort(web.pages[chosen]).astype(np.uint32)
