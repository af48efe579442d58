"""The known web of a crawl folder: its link graph, and which of the pages are done; its local domain,
and its certificate.

The local domain is that of an estimate of the crawl's global rank: the pages that the crawl has fetched, and all their
links. A redirect is another name of its target, and links to it count for that page; links to URLs without a page do
not count. All other links do, inside the scope or outside.

An epoch's own certificate is about the pages visited in that epoch, with the trust on its seeds. The certificate of the
library is about all pages in the folder, with the trust on the first seeds of the crawl, by the latest known links of
each page: it means the same after a refresh as the first crawl's certificate did before.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.coverage import Coverage
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.hosts import host_ids
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.proved import Certificate
from orienteer.graph.push import LinkRows
from orienteer.graph.url_table import GrowingUrlTable
from orienteer.ledger.plan import CrawlPlan
from orienteer.pages.states import COUNTS_AS_FETCHED, PageState
from orienteer.pages.unknown import UNKNOWN_COUNT
from orienteer.policies.policy import TrustedPages
from orienteer.progress import Progress, silent
from orienteer.store.database import Database, DatabaseView
from orienteer.store.failures import damaged
from orienteer.store.folder_view import settings_of_folder
from orienteer.store.history import DonePages

_NO_PAGE = -1


_NO_REDIRECT = -1


class CrawlWeb(NamedTuple):
    """The known pages inside the scope of a crawl, in order of discovery, and their links.

    `pages` are the ids of the graph's pages in the crawl, in increasing order. A page `is_done` when it was fetched,
    failed or blocked; it `is_duplicate` when it repeats another page, exactly or nearly. A redirect is a page with one
    link. Pages that are not done have no links here.
    """

    graph: LinkGraph
    pages: NDArray[np.int64]
    is_done: NDArray[np.bool_]
    is_duplicate: NDArray[np.bool_]

    @classmethod
    def of_graph(cls, graph: LinkGraph) -> CrawlWeb:
        """Wrap any other graph: all its pages count as done, and as no duplicates."""
        n_pages = graph.n_pages
        return cls(graph, np.arange(n_pages), np.ones(n_pages, np.bool_), np.zeros(n_pages, np.bool_))


def is_crawl_folder(path: Path) -> bool:
    return path.is_dir() and settings_of_folder(path) is not None


def web_at(path: Path, format: str | None = None, progress: Progress = silent) -> CrawlWeb:
    """Load the web of a crawl folder, or a graph from any other file or folder."""
    if format is None and is_crawl_folder(path):
        with DatabaseView(path / "crawl.db") as database:
            return web_of_crawl(database, progress)
    return CrawlWeb.of_graph(LinkGraph.load(path, format, progress=progress))


def graph_of_crawl(path: Path) -> LinkGraph:
    """Load the known graph of the crawl in this folder; another process may be crawling."""
    with DatabaseView(path / "crawl.db") as database:
        return web_of_crawl(database).graph


def web_of_crawl(database: Database, progress: Progress = silent) -> CrawlWeb:
    """Load the known web from an open database."""
    urls = _urls_of(database, progress)
    web = GrowingGraph()
    web.grow_to(len(urls))
    is_inside, is_done, is_duplicate = np.zeros((3, len(urls)), np.bool_)
    for events in database.history.pages_after():
        is_inside[events.pages] = True
        if isinstance(events, DonePages):
            is_done[events.pages] = True
            is_inside[events.links] = True
            web.add_batch(events.pages, events.link_offsets, events.links)
            progress("reading the links", int(events.positions[-1]), database.history.next_position())
    is_duplicate[database.pages.duplicates()] = True
    inside = np.flatnonzero(is_inside)
    offsets, targets = web.batch(inside)
    table = urls.freeze().taken(inside)
    new_ids = np.cumsum(is_inside) - 1
    graph = LinkGraph(offsets, new_ids[targets].astype(np.uint32), host_ids(table)[0], table)
    return CrawlWeb(graph, inside, is_done[inside], is_duplicate[inside])


def _urls_of(database: Database, progress: Progress) -> GrowingUrlTable:
    urls = GrowingUrlTable()
    n_urls = 0
    for block in database.urls.blocks():
        lines = block.split(b"\n")
        urls.intern(lines)
        n_urls += len(lines)
        progress("reading the URLs", n_urls, database.urls.count())
    if len(urls) < n_urls:
        raise damaged(database.path, "it has a URL twice")
    return urls


class LocalWeb(NamedTuple):
    """Pages by new ids: the local ones first, in the order they were fetched, then those they link to.

    `pages` are their ids in the crawl. The k-th local page links to `links[offsets[k] : offsets[k + 1]]`. `others` are
    other names of local pages, by their ids in the crawl; `named` are those pages.
    """

    n_local: int
    pages: NDArray[np.int64]
    offsets: NDArray[np.int64]
    links: NDArray[np.uint32]
    others: NDArray[np.int64]
    named: NDArray[np.uint32]


def local_web(database: Database) -> LocalWeb:
    """Return the local domain of the crawl in this database."""
    names = page_names(database)
    local: list[int] = []
    rows: list[NDArray[np.int64]] = []
    for page, links in database.pages.links():
        if names[page] == page:
            targets = names[links]
            targets = np.unique(targets[targets >= 0])
            local.append(page)
            rows.append(targets[targets != page])
    if not local:
        raise InputError("the crawl has fetched no page yet, so there is nothing to estimate")
    return _renumbered(np.array(local), rows, names)


def local_pages(database: Database) -> NDArray[np.int64]:
    """Return the ids of the local pages, in the order they were fetched."""
    names = page_names(database)
    fetched = (page for page, state, _ in database.pages.states() if state == PageState.FETCHED)
    return np.array([page for page in fetched if names[page] == page], np.int64)


def page_names(database: Database) -> NDArray[np.int64]:
    """Return for each URL the page that it is a name of; -1 if there is none."""
    n_urls = database.urls.count()
    names = np.arange(n_urls)
    for page, state, redirect_to in database.pages.states():
        if not (0 <= page < n_urls and (redirect_to is None or 0 <= redirect_to < n_urls)):
            raise damaged(database.path, f"page {page} or what it redirects to has no URL")
        if state in (PageState.FAILED, PageState.SKIPPED):
            names[page] = _NO_PAGE
        elif redirect_to is not None:
            names[page] = redirect_to
    names = np.append(names, _NO_PAGE)  # so that the name of no page is no page
    for _ in range(int(n_urls).bit_length()):
        names = names[names]
    # Whatever is not its own name by now is in a redirect loop.
    names[names[names] != names] = _NO_PAGE
    return np.asarray(names[:-1])


def _renumbered(local: NDArray[np.int64], rows: list[NDArray[np.int64]], names: NDArray[np.int64]) -> LocalWeb:
    targets = np.concatenate(rows)
    is_local = np.zeros(len(names) + 1, np.bool_)  # the last one for _NO_PAGE
    is_local[local] = True
    neighbors = targets[~is_local[targets]]
    _, first = np.unique(neighbors, return_index=True)
    pages = np.concatenate([local, neighbors[np.sort(first)]])  # in order of their first links
    new_ids = np.zeros(len(names), np.uint32)
    new_ids[pages] = np.arange(len(pages))
    offsets = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    others = np.flatnonzero(is_local[names] & (names != np.arange(len(names))))
    return LocalWeb(len(local), pages, offsets, new_ids[targets], others, new_ids[names[others]])


def url_batches(database: Database, pages: NDArray[np.int64], n_urls: int = 50_000) -> Iterator[list[str]]:
    """Yield the URLs of these pages, in order, in batches."""
    for start in range(0, len(pages), n_urls):
        yield database.urls.of_all(pages[start : start + n_urls].tolist())


def on_topic_certificate(database: Database, plan: CrawlPlan, threshold: float) -> Certificate | None:
    """Return the certificate for a surfer from the known pages on topic, all trusted alike; None if there are none."""
    pages = database.pages.relevant(threshold)
    if len(pages) == 0:
        return None
    return library_certificate(database, plan, TrustedPages(pages, np.full(len(pages), 1 / len(pages))))


def library_certificate(
    database: Database, plan: CrawlPlan, trusted: TrustedPages | None = None, tolerance: float = 1e-9,
    until: int | None = None, not_fetched: NDArray[np.int64] | None = None,
    links_unknown: NDArray[np.int64] | None = None,
) -> Certificate:  # fmt: skip
    """Return bounds on the share of a surfer's time, from the trusted pages, that is on pages the crawl has.

    The trusted pages default to the crawl's own seeds. `until` is a position: later events are ignored. The pages
    `not_fetched` count as such, and the links of the pages `links_unknown` as unknown, regardless of the database.
    """
    n_pages = database.urls.count()
    web = GrowingGraph()
    web.grow_to(n_pages)
    states = np.zeros(n_pages, np.uint8)
    redirects = np.full(n_pages, _NO_REDIRECT, np.int64)
    n_unknown = np.zeros(n_pages, np.int32)
    for events in database.history.pages_after():
        if isinstance(events, DonePages):
            events = events if until is None else events.before(until)
            states[events.pages] = events.states
            redirects[events.pages] = np.where(events.states == PageState.FETCHED, events.redirects, _NO_REDIRECT)
            n_unknown[events.pages] = events.n_unknown
            web.add_batch(events.pages, events.link_offsets, events.links)
    if not_fetched is not None:
        states[not_fetched], redirects[not_fetched], n_unknown[not_fetched] = PageState.KNOWN, _NO_REDIRECT, 0
    if links_unknown is not None:
        redirects[links_unknown], n_unknown[links_unknown] = _NO_REDIRECT, UNKNOWN_COUNT
    for page in _in_redirect_loops(redirects):  # of responses at different times: the target is unknown
        web.add(int(page), [])
        n_unknown[page] = UNKNOWN_COUNT
    is_lost = (states == PageState.BLOCKED) & (n_unknown != 0)  # redirects
    seeds = np.arange(len(plan.crawl.seeds), dtype=np.uint32)
    trusted = trusted or TrustedPages(seeds, plan.crawl.seed_trust())
    if int(trusted.pages.max()) >= n_pages:
        raise damaged(database.path, "a trusted page has no URL")
    coverage = Coverage(trusted.vector(n_pages), plan.crawl.damping)
    coverage.set_aliases((redirects >= 0) | is_lost)
    coverage.set_all_unknown(n_unknown)
    links = LinkRows.of(web)
    fetched = np.flatnonzero(np.isin(states, COUNTS_AS_FETCHED) | is_lost).astype(np.uint32)
    coverage.fetch(fetched, links)
    coverage.block(np.flatnonzero(states == PageState.BLOCKED))
    coverage.settle(links, tolerance)
    return coverage.certificate()


def _in_redirect_loops(redirects: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pages whose redirects never end, by pointer doubling."""
    ahead = np.where(redirects >= 0, redirects, np.arange(len(redirects)))
    for _ in range(len(redirects).bit_length()):
        ahead = ahead[ahead]
    return np.flatnonzero(redirects[ahead] >= 0)
