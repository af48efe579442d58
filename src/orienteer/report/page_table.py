"""What a report needs to know of every URL of a crawl, as arrays over their ids: read in one sweep."""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from orienteer.answers.reading import is_html
from orienteer.graph.hosts import host_ids
from orienteer.graph.url_table import UrlTable
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.progress import Progress
from orienteer.report.fates import Fate, fate_of
from orienteer.search.column_writing import CrawlRanks, repetition_groups
from orienteer.store.database_view import DatabaseView
from orienteer.store.page_row import PageRow

MOST_HOPS = 64  # redirects in a row that are followed; no crawl follows more
NO_TITLE = 0
_STAGE = "reading the pages"


class PageTable:
    """Arrays by URL. A `page` was fetched and stands under this URL: it is no redirect, and not merged with another.

    `moved_to` is where a redirect leads, -1 for all else. `titles` are numbers that are the same for the same title.
    """

    def __init__(self, database: DatabaseView, ranks: CrawlRanks, progress: Progress) -> None:
        n = database.n_urls()
        self.n_urls = n
        self.rank = np.zeros(n)
        self.rank[ranks.pages] = ranks.local[ranks.pages]
        self.is_page = np.zeros(n, np.bool_)
        self.is_page[ranks.pages] = True
        self.is_html, self.is_noindex, self.is_archived = np.zeros((3, n), np.bool_)
        self.states, self.own_fates = np.zeros((2, n), np.uint8)
        self.status = np.zeros(n, np.int16)
        self.moved_to = np.full(n, -1, np.int64)
        self.repeats = np.arange(n)
        self.titles = np.zeros(n, np.uint64)
        self.outcomes: dict[int, str] = {}  # of what is not fetched
        n_all = database.counts().n_pages
        for n_done, row in enumerate(database.done_rows(), 1):
            self._take(row)
            progress(_STAGE, n_done, n_all)

    def _take(self, row: PageRow) -> None:
        page = row.id
        self.states[page] = row.state
        self.status[page] = min(max(row.status, 0), 999)
        self.own_fates[page] = fate_of(row.state, row.outcome)
        self.is_html[page] = is_html(row.content_type)
        self.is_noindex[page] = row.noindex
        self.is_archived[page] = row.archived is not None
        if row.outcome == Outcome.REDIRECT and row.redirect_to is not None:
            self.moved_to[page] = min(row.redirect_to, self.n_urls - 1)
        elif row.outcome == Outcome.LEAVES_SCOPE and len(row.outside):
            self.moved_to[page] = min(int(row.outside[0]), self.n_urls - 1)
        if row.repeats is not None and row.repeats < self.n_urls:
            self.repeats[page] = row.repeats
        if row.state != PageState.FETCHED:
            self.outcomes[page] = row.outcome
        if row.title.strip():
            self.titles[page] = _number_of(row.title)

    @cached_property
    def _followed(self) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Where each URL ends up by redirects, and by how many."""
        ends, hops = np.arange(self.n_urls), np.zeros(self.n_urls, np.uint8)
        moving = np.flatnonzero(self.moved_to >= 0)
        for _ in range(MOST_HOPS):
            ends[moving] = self.moved_to[ends[moving]]
            hops[moving] += 1
            moving = moving[self.moved_to[ends[moving]] >= 0]
        return ends, hops

    @property
    def ends(self) -> NDArray[np.int64]:
        """The URL at the end of all redirects; itself where it is no redirect."""
        return self._followed[0]

    @property
    def hops(self) -> NDArray[np.uint8]:
        """How many redirects lead there."""
        return self._followed[1]

    @cached_property
    def fates(self) -> NDArray[np.uint8]:
        """What becomes of who follows a link to a URL (`Fate`)."""
        fates = self.own_fates[self.ends]
        fates[self.moved_to[self.ends] >= 0] = Fate.BROKEN  # they go on for ever
        return fates

    def way(self, page: int) -> list[int]:
        """The URLs that a redirect leads through, and the one at its end; none for what is no redirect."""
        way: list[int] = []
        while self.moved_to[page] >= 0 and len(way) < MOST_HOPS:
            page = int(self.moved_to[page])
            way.append(page)
        return way

    def outcome(self, page: int) -> str:
        """Why something is not a page; "" where it is one, or nobody has looked."""
        return self.outcomes.get(page, "")

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """For each URL the first page that says the same, or nearly; itself where there is none."""
        return repetition_groups(np.arange(self.n_urls), self.repeats)


class Hosts:
    """The host of every URL, and which hosts a report is about."""

    def __init__(self, database: DatabaseView, wanted: tuple[str, ...]) -> None:
        n_urls = database.n_urls()
        self.ids = np.zeros(n_urls, np.int64)
        numbers: dict[str, int] = {}
        start = 0
        for block in database.url_blocks():
            ids, names = host_ids(UrlTable.of(block.split(b"\n")))
            known = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
            self.ids[start : start + len(ids)] = known[ids]
            start += len(ids)
        self.names = list(numbers)
        is_wanted = np.array([not wanted or name in wanted for name in self.names], np.bool_)
        self.is_wanted = is_wanted[self.ids] if n_urls else np.zeros(0, np.bool_)


def _number_of(title: str) -> int:
    """Titles that a reader takes for the same have the same number, which is not that of no title."""
    text = " ".join(title.split()).casefold()
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()) | 1
