"""The surroundings of a crawled domain, as a crawl folder of their own in DIR/outside: links only, nothing is archived.

It begins as a copy of the domain (`local_web`): its pages are told to the Crawl as if they had just been fetched. From
then on the `Rounds` choose, and everything else is as in any crawl: politeness, robots.txt, retries, `kill -9`.

What is fetched belongs to the domain as it was then. Once the crawl has gone on, its surroundings must begin anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.around.rounds import EstimateSettings, Rounds
from orienteer.crawl.crawl import Crawl
from orienteer.errors import InputError
from orienteer.graph.page_hosts import PageHosts
from orienteer.inspect.local_web import LocalWeb, local_web, url_batches
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.scope import ScopeSettings
from orienteer.ledger.setup import CrawlSetup
from orienteer.pages.states import PageState
from orienteer.policies.policy import TrustedPages
from orienteer.store.database import Database
from orienteer.store.failures import damaged
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_files import FolderFiles
from orienteer.store.history import DonePages, KnownPages
from orienteer.store.page_row import PageRow
from orienteer.store.store_settings import StoreSettings

_LOCAL, _ROUNDS = "local", "rounds"  # in the database: the domain it was made for; the sizes of the rounds


def around_plan(plan: CrawlPlan) -> CrawlPlan:
    """How the surroundings of a crawl are fetched: as politely as its pages, wherever they are."""
    links_only: dict[str, Any] = {"duplicates": "off", "near_duplicates": "off", "archive": False}
    links_only |= {"sitemaps": False, "feeds": False, "languages": False}
    crawl = replace(plan.crawl, policy="breadth-first", until=None, budget=None, hooks=(), **links_only)
    return replace(plan, crawl=crawl, scope=ScopeSettings("web"), store=StoreSettings())


def opened_outside(crawl: CrawlFolder, plan: CrawlPlan) -> CrawlFolder:
    """The folder of the surroundings of a crawl, for writing, made if need be."""
    folder = CrawlFolder.open_or_create(outside_of(crawl.path), plan.to_toml())
    try:
        made_for = folder.database.get(_LOCAL)
        if made_for is None:
            _fill(folder, crawl.database)
        elif made_for.get("position") != crawl.database.next_position():
            why = "the crawl has continued since its surroundings were fetched; use --again to fetch them again"
            raise InputError(f"{crawl.path}: {why}")
    except BaseException:
        folder.close()
        raise
    return folder


def outside_of(path: Path) -> Path:
    """Where a crawl folder has the folder of its surroundings."""
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


class AroundSetup(CrawlSetup):
    """The surroundings: `rounds` choose what is fetched. Links to another name of a local page count for that page."""

    uses_checkpoints = False  # to go through the rounds again does not take long

    def __init__(self, folder: FolderFiles, plan: CrawlPlan, settings: EstimateSettings) -> None:
        super().__init__(folder, plan)
        made_for = folder.database.get(_LOCAL)
        self.settings = settings
        self.n_local, self._n_names = int(made_for["n_pages"]), int(made_for["n_names"])
        self._sizes = _sizes(folder.database)
        self._names: dict[int, int] = {}

    def new_crawl(self, hosts: PageHosts) -> Crawl:
        trusted = TrustedPages(np.arange(self.n_local, dtype=np.uint32), np.full(self.n_local, 1.0 / self.n_local))
        self.rounds = Rounds(self.settings, list(self._sizes), self.plan.crawl.damping)
        return Crawl(self.rounds, trusted, None, self.plan.politeness, hosts)

    def history(self, database: Database) -> Iterator[DonePages | KnownPages]:
        """Without the other names of local pages, which are for numbering links."""
        is_name = range(self.n_local, self.n_local + self._n_names)
        for events in super().history(database):
            if not isinstance(events, DonePages) or events.positions[0] >= is_name.stop:
                yield events
                continue
            kept = np.array([position not in is_name for position in events.positions.tolist()])
            for page, target in zip(events.pages[~kept].tolist(), events.redirects[~kept].tolist(), strict=True):
                self._names[page] = target
            if kept.any():
                yield _only(events, kept)

    def linked(self, pages: NDArray[np.uint32]) -> NDArray[np.uint32]:
        return np.array([self._names.get(page, page) for page in pages.tolist()], np.uint32)

    def save(self, database: Database) -> bool:
        """The sizes of the rounds, so that the same ones are chosen again."""
        if len(self.rounds.sizes) == len(self._sizes):
            return False
        self._sizes = list(self.rounds.sizes)
        database.set(_ROUNDS, self._sizes)
        return True


def _only(events: DonePages, kept: NDArray[np.bool_]) -> DonePages:
    n_links = np.diff(events.link_offsets)
    return DonePages(
        events.positions[kept], events.pages[kept], events.states[kept], events.redirects[kept],
        np.concatenate(([0], np.cumsum(n_links[kept]))), events.links[np.repeat(kept, n_links)], events.asked[kept],
        events.relevance[kept], events.n_unknown[kept],
    )  # fmt: skip


def _sizes(database: Database) -> list[int]:
    sizes = database.get(_ROUNDS, [])
    if not isinstance(sizes, list) or not all(isinstance(size, int) and size > 0 for size in sizes):
        raise damaged(database.path, "the sizes of rounds are none")
    return sizes
