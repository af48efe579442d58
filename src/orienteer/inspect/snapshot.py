"""The known web of a crawl folder: its link graph, and which of the pages are done."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.hosts import host_ids
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.url_table import GrowingUrlTable
from orienteer.progress import Progress, silent
from orienteer.store.database import Database
from orienteer.store.database_view import DatabaseView
from orienteer.store.failures import damaged
from orienteer.store.folder_files import settings_of_folder
from orienteer.store.history import DonePages


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
    for events in database.pages_after():
        _expect_urls(database, events.pages, len(urls))
        is_inside[events.pages] = True
        if isinstance(events, DonePages):
            _expect_urls(database, events.links, len(urls))
            is_done[events.pages] = True
            is_inside[events.links] = True
            web.add_batch(events.pages, events.link_offsets, events.links)
            progress("reading the links", int(events.positions[-1]), database.next_position())
    is_duplicate[database.duplicates()] = True
    inside = np.flatnonzero(is_inside)
    offsets, targets = web.batch(inside)
    table = urls.freeze().taken(inside)
    new_ids = np.cumsum(is_inside) - 1
    graph = LinkGraph(offsets, new_ids[targets].astype(np.uint32), host_ids(table)[0], table)
    return CrawlWeb(graph, inside, is_done[inside], is_duplicate[inside])


def _urls_of(database: Database, progress: Progress) -> GrowingUrlTable:
    urls = GrowingUrlTable()
    n_urls = 0
    for block in database.url_blocks():
        lines = block.split(b"\n")
        urls.intern(lines)
        n_urls += len(lines)
        progress("reading the URLs", n_urls, database.n_urls())
    if len(urls) < n_urls:
        raise damaged(database.path, "it has a URL twice")
    return urls


def _expect_urls(database: Database, pages: NDArray[np.uint32], n_urls: int) -> None:
    if len(pages) and int(pages.max()) >= n_urls:
        raise damaged(database.path, f"page {pages.max()} has no URL")
