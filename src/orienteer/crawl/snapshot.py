"""The link graph of a crawl folder, as far as it is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.hosts import host_ids
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.url_table import GrowingUrlTable
from orienteer.store.folder import settings_of_folder
from orienteer.store.history import DonePages
from orienteer.store.survey import Survey


def is_crawl_folder(path: Path) -> bool:
    return path.is_dir() and settings_of_folder(path) is not None


def graph_of_crawl(path: Path) -> LinkGraph:
    """The known pages inside the scope, in order of discovery, and their links.

    A redirect is a page with one link. Pages that were not fetched have no links here. Another process may go on
    crawling meanwhile.
    """
    web = GrowingGraph()
    urls = GrowingUrlTable()
    with Survey(path / "crawl.db") as database:
        for block in database.url_blocks():
            urls.intern(block.split(b"\n"))
        web.know(len(urls))
        is_inside = np.zeros(len(urls), np.bool_)
        for events in database.pages_after():
            is_inside[events.pages] = True
            if isinstance(events, DonePages):
                is_inside[events.links] = True
                web.add_batch(events.pages, events.link_offsets, events.links)
    inside = np.flatnonzero(is_inside)
    offsets, targets = web.batch(inside)
    table = urls.freeze().taken(inside)
    new_ids = np.cumsum(is_inside) - 1
    return LinkGraph(offsets, new_ids[targets].astype(np.uint32), host_ids(table)[0], table)
