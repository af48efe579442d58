"""Start pages for a crawl without named seeds, selected on the pages of an earlier crawl, or on any graph.

The reported coverage of the seeds refers to the web as it was known then, with all kinds of links. A crawl from them
reaches it if its scope is as wide, the web has not changed, and its maximum depth is at least `hops`.

The value of pages, by the rule of the paper, is estimated from a crawl: a page is worth 1, spam -10, a clicked page 10.
Each of its links to a page that is not done adds the probability that a newly crawled page of its site is no duplicate:
the share of unique pages among the done pages of the site, 1 where none is done. A page that is not done has no known
links, so nothing is added.

An epoch of a refresh (`begin_epoch`) selects its seeds by the same values; and the pages that may have changed since
the last visit are due (`ledger/revisiting`). It is stored before its first request, so that an interrupted one resumes
with the same pages.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.errors import InputError
from orienteer.graph.hosts import site_ids
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.page_names import pages_in_file
from orienteer.inspect.snapshot import CrawlWeb, is_crawl_folder, web_at, web_of_crawl
from orienteer.inspect.tallies import FIRST_CRAWL
from orienteer.kernel import allocating_kernel
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.revisiting import due_pages
from orienteer.ledger.settings import StartSettings
from orienteer.pages.states import PageState
from orienteer.progress import Progress, silent
from orienteer.seeds.select import SeedSelection, seed_selection, select_seeds
from orienteer.seeds.value import PAPER, Value, paper_value, unique_share
from orienteer.store.database import Database
from orienteer.store.folder import CrawlFolder
from orienteer.store.visits import EpochRow, VisitKind
from orienteer.url import canonical_url


class StartPages(NamedTuple):
    """Seeds as canonical URLs; their trust, in any unit, empty if it is uniform; and how they were chosen."""

    seeds: tuple[str, ...]
    trust: tuple[float, ...]
    selection: SeedSelection

    def behind(self, named: Sequence[str]) -> StartPages:
        """Put other named seeds in front of these pages; a named seed that is not among them gets the mean trust."""
        seeds = tuple(dict.fromkeys((*named, *self.seeds)))
        trust = dict(zip(self.seeds, self.trust, strict=False))
        mean = sum(self.trust) / len(self.seeds)
        return self._replace(seeds=seeds, trust=tuple(trust.get(seed, mean) for seed in seeds) if trust else ())


def start_pages(path: Path, settings: StartSettings | None = None, progress: Progress = silent) -> StartPages:
    """Select seeds on a crawl folder, or on a graph with URLs; fewer if more would add nothing."""
    settings = settings or StartSettings()
    graph, value = _valued(path, settings.value, progress)
    if graph.urls is None:
        raise InputError(f"{path}: the graph has no URLs, so no crawl can start from its pages")
    if graph.n_pages == 0:
        raise InputError(f"{path}: there is no page in it that a crawl could start from")
    n_seeds = min(settings.n_seeds, graph.n_pages)
    selection = seed_selection(graph, n_seeds, settings.hops, settings.method, value, progress=progress)
    by_value = settings.trust_by == "value"
    if by_value:
        selection = replace(selection, seeds=tuple(seed for seed in selection.seeds if seed.value > 0))
    if not selection.seeds:
        raise InputError(f"{path}: no page that {settings.method} names would add anything of value as a seed")
    worth: dict[str, float] = {}  # two pages of a graph may be one to a crawler
    for seed in selection.seeds:
        url = _canonical(path, graph.urls[seed.page])
        worth[url] = worth.get(url, 0.0) + seed.value
    return StartPages(tuple(worth), tuple(worth.values()) if by_value else (), selection)


def _valued(path: Path, value: str | None, progress: Progress) -> tuple[LinkGraph, Value]:
    """Return the graph, and the values of its pages."""
    if value is None and is_crawl_folder(path):
        value = PAPER
    web = web_at(path, progress=progress)
    return web.graph, paper_value_of_crawl(web) if value == PAPER else value


def _canonical(path: Path, text: str) -> str:
    url = canonical_url(text)
    if url is None:
        raise InputError(f"{path}: {text[:200]!r} was chosen, and is not a URL that a crawl could start from")
    return url


class PaperValues(NamedTuple):
    """The value of every page, and its components: named spam and clicked pages, links to pages that are not done."""

    values: NDArray[np.float64]
    n_spam: int
    n_clicked: int
    n_uncrawled_links: int


def paper_values(web: CrawlWeb, spam: Path | None = None, clicked: Path | None = None) -> PaperValues:
    """Return the values of the pages of the graph; `spam` and `clicked` are files that name pages, one per line."""
    is_spam, is_clicked = (
        np.zeros(web.graph.n_pages, np.bool_) if path is None else pages_in_file(web.graph, path)
        for path in (spam, clicked)
    )
    values = paper_value_of_crawl(web, is_spam, is_clicked)
    return PaperValues(values, int(is_spam.sum()), int(is_clicked.sum()), int(_uncrawled_links(web).sum()))


def paper_value_of_crawl(
    web: CrawlWeb, spam: ArrayLike | None = None, clicked: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return the values of the pages of the graph; `spam` and `clicked` are masks over them."""
    n_uncrawled = _uncrawled_links(web)
    share: ArrayLike = 1.0
    if web.graph.urls is not None and n_uncrawled.any():
        share = unique_share(site_ids(web.graph.urls)[0], web.is_duplicate, web.is_done)
    return paper_value(web.graph.n_pages, spam, clicked, n_uncrawled, share)


def _uncrawled_links(web: CrawlWeb) -> NDArray[np.int64]:
    """Return the number of links of each page to pages that are not done."""
    counts: NDArray[np.int64] = _links_to_others(web.graph.offsets, web.graph.targets, web.is_done)
    return counts


@allocating_kernel
def _links_to_others(offsets: Any, targets: Any, is_one: Any) -> Any:
    """Return the number of links of each page to pages outside the mask `is_one`."""
    counts = np.zeros(len(offsets) - 1, np.int64)
    for page in range(len(counts)):
        for k in range(offsets[page], offsets[page + 1]):
            counts[page] += not is_one[targets[k]]
    return counts


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
