"""The neighborhood of a crawled domain, as its own crawl folder in DIR/outside: links only, nothing is archived.

It begins as a copy of the domain (`local_web`), whose pages are replayed as if they had just been fetched. From then on
`Rounds` selects pages, and everything else is as in any crawl: politeness, robots.txt, retries, `kill -9`.

The neighborhood belongs to one state of the domain. Once the crawl has continued, it must be fetched again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.crawl.crawl import Crawl
from orienteer.errors import InputError
from orienteer.graph.growing_graph import PageHosts
from orienteer.inspect.snapshot import LocalWeb, local_web, url_batches
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.scope import ScopeSettings
from orienteer.ledger.setup import CrawlSetup
from orienteer.neighborhood.rounds import EstimateSettings, Rounds
from orienteer.pages.states import PageState
from orienteer.policies.policy import TrustedPages
from orienteer.store.database import Database
from orienteer.store.failures import damaged
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_files import FolderFiles
from orienteer.store.history import DonePages, KnownPages
from orienteer.store.page_row import PageRow
from orienteer.store.store_settings import StoreSettings

_LOCAL, _ROUNDS = "local", "rounds"  # keys in the database: the domain that was copied; the sizes of the rounds


def neighborhood_plan(plan: CrawlPlan) -> CrawlPlan:
    """Return the plan to fetch the neighborhood of a crawl: as politely as its pages, on any host."""
    links_only: dict[str, Any] = {"duplicates": "off", "near_duplicates": "off", "archive": False}
    links_only |= {"sitemaps": False, "feeds": False, "languages": False}
    crawl = replace(plan.crawl, policy="breadth-first", until=None, budget=None, hooks=(), **links_only)
    return replace(plan, crawl=crawl, scope=ScopeSettings("web"), store=StoreSettings())


def open_neighborhood(crawl: CrawlFolder, plan: CrawlPlan) -> CrawlFolder:
    """Open or create the folder of a crawl's neighborhood, for writing."""
    folder = CrawlFolder.open_or_create(neighborhood_folder(crawl.path), plan.to_toml())
    try:
        source = folder.database.get(_LOCAL)
        if source is None:
            _fill(folder, crawl.database)
        elif source.get("position") != crawl.database.next_position():
            why = "the crawl has continued since its neighborhood was fetched; use --restart to fetch it again"
            raise InputError(f"{crawl.path}: {why}")
    except BaseException:
        folder.close()
        raise
    return folder


def neighborhood_folder(path: Path) -> Path:
    """Return the path of the neighborhood in a crawl folder."""
    return path / "outside"


def _fill(folder: CrawlFolder, local: Database) -> None:
    """Copy the domain, all of it in one transaction."""
    web = local_web(local)
    database = folder.database
    n_urls = 0
    for pages in (web.pages, web.others):
        for urls in url_batches(local, pages):
            database.add_urls(n_urls, urls)
            n_urls += len(urls)
    for row in _rows(web):
        database.add_page(row)
    database.set(_LOCAL, {"n_pages": web.n_local, "n_names": len(web.others), "position": local.next_position()})
    folder.acknowledge()


def _rows(web: LocalWeb) -> Iterator[PageRow]:
    for page in range(web.n_local):
        links = web.links[web.offsets[page] : web.offsets[page + 1]]
        yield PageRow(page, page, PageState.FETCHED, "local", links=links)
    for k, target in enumerate(web.named.tolist()):
        page, position = len(web.pages) + k, web.n_local + k
        links = np.array([target], np.uint32)
        yield PageRow(page, position, PageState.FETCHED, "local name", redirect_to=target, links=links)


class NeighborhoodSetup(CrawlSetup):
    """The setup of a neighborhood, with `rounds` as its policy. Links to other names of a page count for that page."""

    uses_checkpoints = False  # the replay of all rounds is quick

    def __init__(self, folder: FolderFiles, plan: CrawlPlan, settings: EstimateSettings) -> None:
        super().__init__(folder, plan)
        source = folder.database.get(_LOCAL)
        self.settings = settings
        self.n_local, self._n_names = int(source["n_pages"]), int(source["n_names"])
        self._sizes = _sizes(folder.database)
        self._names: dict[int, int] = {}

    def new_crawl(self, hosts: PageHosts) -> Crawl:
        trusted = TrustedPages(np.arange(self.n_local, dtype=np.uint32), np.full(self.n_local, 1.0 / self.n_local))
        self.rounds = Rounds(self.settings, list(self._sizes), self.plan.crawl.damping)
        return Crawl(self.rounds, trusted, None, self.plan.politeness, hosts)

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
                yield _select(events, selected)

    def linked(self, pages: NDArray[np.uint32]) -> NDArray[np.uint32]:
        return np.array([self._names.get(page, page) for page in pages.tolist()], np.uint32)

    def save(self, database: Database) -> bool:
        """Store the sizes of the rounds, so that a replay selects the same pages."""
        if len(self.rounds.sizes) == len(self._sizes):
            return False
        self._sizes = list(self.rounds.sizes)
        database.set(_ROUNDS, self._sizes)
        return True


def _select(events: DonePages, selected: NDArray[np.bool_]) -> DonePages:
    n_links = np.diff(events.link_offsets)
    return DonePages(
        events.positions[selected], events.pages[selected], events.states[selected], events.redirects[selected],
        np.concatenate(([0], np.cumsum(n_links[selected]))), events.links[np.repeat(selected, n_links)],
        events.requested[selected], events.relevance[selected], events.n_unknown[selected],
    )  # fmt: skip


def _sizes(database: Database) -> list[int]:
    sizes = database.get(_ROUNDS, [])
    if not isinstance(sizes, list) or not all(isinstance(size, int) and size > 0 for size in sizes):
        raise damaged(database.path, "the sizes of rounds are invalid")
    return sizes
