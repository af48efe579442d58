"""The local domain of a crawl for an estimate of its global rank: its pages, and all their links.

The local pages are those that the crawl has fetched. A redirect is another name of its target, and links to it count
for that page; links to URLs without a page do not count. All other links do, inside the scope or outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.pages.states import PageState
from orienteer.store.database import Database
from orienteer.store.failures import damaged

_NO_PAGE = -1


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
    for page, links in database.all_links():
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
    fetched = (page for page, state, _ in database.all_states() if state == PageState.FETCHED)
    return np.array([page for page in fetched if names[page] == page], np.int64)


def page_names(database: Database) -> NDArray[np.int64]:
    """Return for each URL the page that it is a name of; -1 if there is none."""
    n_urls = database.n_urls()
    names = np.arange(n_urls)
    for page, state, redirect_to in database.all_states():
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
        yield database.urls(pages[start : start + n_urls].tolist())
