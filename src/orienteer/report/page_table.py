"""The facts of all URLs of a crawl that a report needs, as arrays by id, from a single pass over the database.

The state of a link is that of its target:

fine          there is a page or a file
broken        there is none: 404 and other errors, no such host, redirects that lead nowhere
refused       there may be a page, but the crawler may not fetch it: robots.txt, a login, 403
host_gone     not requested, since the crawl abandoned the host
not_checked   not requested: out of scope, too deep, or the crawl stopped before

Texts of links, descriptions, insecure assets and response times are read from the archived pages (`pages_read`), in
order, by several processes if there are many. Texts of links are read only on pages with findings, since this doubles
the time for a page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.assets import asset_urls
from orienteer.extract.page import Page, extract_page
from orienteer.graph.hosts import host_ids
from orienteer.graph.url_table import UrlTable
from orienteer.inspect.archived_page import MAX_BYTES, ArchivedPosition, archive_to_read, archived_page, warn_skipped
from orienteer.inspect.changes import MissingPage, missing_pages
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.processes.pool import Failed, in_order
from orienteer.progress import Progress
from orienteer.responses.reading import is_html
from orienteer.responses.response import charset_in
from orienteer.responses.verdict import NO_PAGE
from orienteer.search.page_columns import CrawlRanks, repetition_groups
from orienteer.store.archive import Archive
from orienteer.store.database import DatabaseView
from orienteer.store.page_row import PageRow
from orienteer.wording import moment

MAX_HOPS = 64  # of a redirect chain; no crawl follows more
NO_TITLE = 0
_NOT_THERE = frozenset(f"http {status}" for status in NO_PAGE)


_REFUSALS = frozenset((401, 402, 403, 407, 429, 451))  # the 4xx with which other clients may get the page
_MAX_TEXTS = 3  # of links to one address on one page
_MAX_ASSETS = 5


class LinkState(IntEnum):
    NOT_CHECKED = 0
    FINE = 1
    BROKEN = 2
    REFUSED = 3
    HOST_GONE = 4


LINK_STATE_OF_BLOCKED = {
    Outcome.TIMED_OUT: LinkState.BROKEN,
    Outcome.NO_ADDRESS: LinkState.BROKEN,
    Outcome.NO_CONNECTION: LinkState.BROKEN,
    Outcome.TLS_FAILED: LinkState.BROKEN,
    Outcome.BROKEN: LinkState.BROKEN,
    Outcome.LEADS_NOWHERE: LinkState.BROKEN,
    Outcome.REDIRECT_LOOP: LinkState.BROKEN,
    Outcome.TOO_MANY_REDIRECTS: LinkState.BROKEN,
    Outcome.ROBOTS: LinkState.REFUSED,
    Outcome.ROBOTS_UNREACHABLE: LinkState.REFUSED,
    Outcome.ASKS_FOR_LOGIN: LinkState.REFUSED,
    Outcome.HOST_ABANDONED: LinkState.HOST_GONE,
    # Browsers can display these, though the crawler cannot.
    Outcome.TOO_LARGE: LinkState.FINE,
    Outcome.UNREADABLE: LinkState.FINE,
    Outcome.UNWANTED_TYPE: LinkState.FINE,
    Outcome.NOT_MODIFIED: LinkState.FINE,
    # Decisions of the crawl, or outcomes without information about the page.
    Outcome.OK: LinkState.NOT_CHECKED,
    Outcome.REDIRECT: LinkState.NOT_CHECKED,
    Outcome.FORBIDDEN_ADDRESS: LinkState.NOT_CHECKED,
    Outcome.NO_RESPONSE: LinkState.NOT_CHECKED,
    Outcome.LOST: LinkState.NOT_CHECKED,
    Outcome.CANCELLED: LinkState.NOT_CHECKED,
    Outcome.LOGGED_OUT: LinkState.NOT_CHECKED,
    Outcome.TOO_DEEP: LinkState.NOT_CHECKED,
    Outcome.WOULD_LOG_OUT: LinkState.NOT_CHECKED,
    Outcome.LEAVES_SCOPE: LinkState.NOT_CHECKED,
}


def link_state(state: int, outcome: str) -> LinkState:
    """Return the state of links to a page, by the state of the page and the outcome of its fetch.

    >>> link_state(PageState.BLOCKED, "http 403").name, link_state(PageState.BLOCKED, "http 500").name
    ('REFUSED', 'BROKEN')
    """
    if state in (PageState.FETCHED, PageState.SKIPPED):
        return LinkState.FINE
    if state == PageState.FAILED:
        return LinkState.BROKEN
    if state != PageState.BLOCKED:
        return LinkState.NOT_CHECKED
    if outcome.startswith("http "):
        return LinkState.REFUSED if outcome[5:].isdigit() and int(outcome[5:]) in _REFUSALS else LinkState.BROKEN
    try:
        return LINK_STATE_OF_BLOCKED[Outcome(outcome)]
    except (ValueError, KeyError):  # the database may be from another version
        return LinkState.NOT_CHECKED


class PageTable:
    """Arrays by URL. A `page` was fetched under this URL: it is no redirect, and not merged with another page.

    `moved_to` is the target of a redirect, else -1. `titles` are hashes of titles.
    """

    def __init__(self, database: DatabaseView, ranks: CrawlRanks, progress: Progress) -> None:
        n = database.urls.count()
        self.n_urls = n
        self.rank = np.zeros(n)
        self.rank[ranks.pages] = ranks.local[ranks.pages]
        self.is_page = np.zeros(n, np.bool_)
        self.is_page[ranks.pages] = True
        self.is_html, self.is_noindex, self.is_archived = np.zeros((3, n), np.bool_)
        self.states, self.own_link_states = np.zeros((2, n), np.uint8)
        self.status = np.zeros(n, np.int16)
        self.moved_to = np.full(n, -1, np.int64)
        self.repeats = np.arange(n)
        self.titles = np.zeros(n, np.uint64)
        self.outcomes: dict[int, str] = {}  # of pages that were not fetched, or are missing now
        n_all = database.pages.counts().n_pages
        for n_done, row in enumerate(database.pages.rows(), 1):
            self._add(row)
            progress("reading the pages", n_done, n_all)
        for missing in missing_pages(database):
            self._add_missing(missing)

    def _add_missing(self, missing: MissingPage) -> None:
        """Links to a page that the last refresh did not find are broken, though the page is not deleted yet."""
        if missing.outcome in _NOT_THERE:
            self.own_link_states[missing.page] = LinkState.BROKEN
            self.moved_to[missing.page] = -1
            self.outcomes[missing.page] = f"{missing.outcome}, missing since {moment(missing.since)}"

    def _add(self, row: PageRow) -> None:
        page = row.id
        self.states[page] = row.state
        self.status[page] = min(max(row.status, 0), 999)
        self.own_link_states[page] = link_state(row.state, row.outcome)
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
        """The target of each URL after all redirects, and the number of redirects."""
        ends, hops = np.arange(self.n_urls), np.zeros(self.n_urls, np.uint8)
        moving = np.flatnonzero(self.moved_to >= 0)
        for _ in range(MAX_HOPS):
            ends[moving] = self.moved_to[ends[moving]]
            hops[moving] += 1
            moving = moving[self.moved_to[ends[moving]] >= 0]
        return ends, hops

    @property
    def ends(self) -> NDArray[np.int64]:
        """The URL at the end of all redirects; a URL that is no redirect is its own end."""
        return self._followed[0]

    @property
    def hops(self) -> NDArray[np.uint8]:
        """The number of redirects to that end."""
        return self._followed[1]

    @cached_property
    def link_states(self) -> NDArray[np.uint8]:
        """The state of links to each URL, after redirects (`LinkState`)."""
        link_states = self.own_link_states[self.ends]
        link_states[self.moved_to[self.ends] >= 0] = LinkState.BROKEN  # redirect loops
        return link_states

    def redirect_chain(self, page: int) -> list[int]:
        """Return the URLs of a redirect chain after the first, with its end; empty if the page is no redirect."""
        chain: list[int] = []
        while self.moved_to[page] >= 0 and len(chain) < MAX_HOPS:
            page = int(self.moved_to[page])
            chain.append(page)
        return chain

    def outcome(self, page: int) -> str:
        """Return why a URL is not a page; "" if it is one, or was not requested."""
        return self.outcomes.get(page, "")

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """The first duplicate or near duplicate of each URL; the URL itself if there is none."""
        return repetition_groups(np.arange(self.n_urls), self.repeats)


class Hosts:
    """The host of every URL, and which URLs are of the hosts that the report covers."""

    def __init__(self, database: DatabaseView, selected: tuple[str, ...]) -> None:
        n_urls = database.urls.count()
        self.ids = np.zeros(n_urls, np.int64)
        numbers: dict[str, int] = {}
        start = 0
        for block in database.urls.blocks():
            ids, names = host_ids(UrlTable.of(block.split(b"\n")))
            known = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
            self.ids[start : start + len(ids)] = known[ids]
            start += len(ids)
        self.names = list(numbers)
        is_selected = np.array([not selected or name in selected for name in self.names], np.bool_)
        self.is_selected = is_selected[self.ids] if n_urls else np.zeros(0, np.bool_)


def _number_of(title: str) -> int:
    """Hash a title, ignoring case and white space; never NO_TITLE."""
    text = " ".join(title.split()).casefold()
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()) | 1


class LinkSearch(NamedTuple):
    """A page in the archive, and the URLs whose link texts are needed."""

    page: ArchivedPosition
    linked: tuple[str, ...]


class PageReport(NamedTuple):
    """The facts of a page. `words` are texts of links by URL; `insecure` are some of the assets loaded by http."""

    words: dict[str, str]
    has_description: bool
    insecure: tuple[str, ...]
    n_insecure: int
    duration_s: float | None


def pages_read(
    database: DatabaseView,
    folder: Path,
    is_selected: NDArray[np.bool_],
    linked: Mapping[int, tuple[str, ...]],
    processes: int | None,
    progress: Progress,
) -> Iterator[tuple[int, PageReport]]:
    """Read the selected pages, and those with links to find, in the order of fetching. `folder` is that of the archive.

    Unreadable pages are skipped with a warning.
    """
    rendered = database.rendered.documents()
    n_done, n_all = 0, int(is_selected.sum())

    def to_read() -> Iterator[tuple[tuple[int, str], LinkSearch]]:
        for rows in database.pages.readable():
            for row in rows:
                place = row.archived
                if place is not None and (row.id in linked or (is_selected[row.id] and is_html(row.content_type))):
                    url = database.urls.of(row.id)
                    page = ArchivedPosition(place, row.content_type, url, rendered.get(row.id))
                    yield (row.id, url), LinkSearch(page, linked.get(row.id, ()))

    with in_order(_reading, (folder,), to_read(), processes) as read:
        for (page, url), found in read:
            n_done += 1
            progress("reading the archive", min(n_done, n_all), n_all)
            if isinstance(found, Failed):
                warn_skipped(url, found)
            else:
                yield page, found


@contextmanager
def _reading(folder: Path) -> Iterator[Callable[[LinkSearch], PageReport]]:
    """Open the archive in this folder, and yield the function that reads a page; for `in_order`."""
    archive = archive_to_read(folder)
    try:
        yield lambda search: _read(archive, search)
    finally:
        archive.close()


def _read(archive: Archive, search: LinkSearch) -> PageReport:
    page = search.page
    archived = archive.read(page.location)
    headers = archived.headers
    body = archived.content(MAX_BYTES)
    charset = charset_in(headers)
    if page.rendered is not None or not is_html(page.content_type):
        content = archived_page(archive, page)
    else:
        refresh = headers.get("refresh") or ""
        content = extract_page(body, page.url, charset, with_text=bool(search.linked), refresh_header=refresh)
    insecure: list[str] = []
    if page.url.startswith("https:") and is_html(page.content_type):
        found = asset_urls(body, page.url, page.content_type or "text/html", charset)
        insecure = [asset for asset in found if asset.startswith("http:")]
    return PageReport(
        _words(content, search.linked), bool(content.description.strip()), tuple(insecure[:_MAX_ASSETS]), len(insecure),
        archived.duration_s,
    )  # fmt: skip


def _words(page: Page, linked: tuple[str, ...]) -> dict[str, str]:
    """Return the texts of the links to these URLs; "" for a link without text."""
    words: dict[str, dict[str, None]] = {url: {} for url in linked}
    for url, text in page.anchors:
        if text and url in words and len(words[url]) < _MAX_TEXTS:
            words[url][text] = None
    return {url: " / ".join(found) for url, found in words.items()}
