"""Compute the ranking columns of pages, and write them as `columns.npz` (see `page_columns`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.files.plain import replaced_inside
from orienteer.graph.link_graph import LinkGraph, reversed_graph
from orienteer.graph.pagerank import pagerank
from orienteer.inspect.snapshot import local_web
from orienteer.search.page_columns import FILE
from orienteer.store.database import Database
from orienteer.store.failures import map_disk_errors


def write_columns(
    folder: Path,
    database: Database,
    pages: NDArray[np.int64],
    relevance: NDArray[np.float64],
    repeats: NDArray[np.int64],
    times: NDArray[np.float64],
    ranks: CrawlRanks,
    n_by_stemmer: Mapping[str, int],
) -> None:
    """Compute the columns of `pages`, which must be in increasing order, and replace the old file.

    `repeats` has the page that each page duplicates, or its own id; `times` are fetch times. `n_by_stemmer` counts the
    pages by stemmer.
    """
    groups = repetition_groups(pages, repeats)
    arrays: dict[str, Any] = {
        "pages": pages,
        "relevance": relevance,
        "group": groups,
        "named": _named(database, pages, groups),
        "times": np.quantile(times, (0, 0.5, 1), method="lower") if len(times) else np.zeros(3),
        "position": np.array(database.history.next_position()),
        "has_outside": np.array(ranks.has_outside),
        "ways": np.array(sorted(n_by_stemmer)),
        "n_by_way": np.array([n_by_stemmer[stemmer] for stemmer in sorted(n_by_stemmer)]),
        "local": ranks.local[pages],
        "outside": ranks.outside[pages],
        **_link_arrays(ranks.graph, ranks.pages),
    }
    with map_disk_errors(folder / FILE), replaced_inside(folder / FILE) as new:
        np.savez(new, **arrays)


class CrawlRanks(NamedTuple):
    """The ranks of all URLs of a crawl, 0 where unknown, and the link graph of the local rank.

    `graph` has the local pages, that is, the fetched ones without redirects; `pages` are their ids in the crawl.
    """

    local: NDArray[np.float64]
    outside: NDArray[np.float64]
    graph: LinkGraph
    pages: NDArray[np.int64]
    has_outside: bool


def crawl_ranks(database: Database, estimated: dict[str, NDArray[Any]] | None) -> CrawlRanks:
    """Compute ranks by page. A redirect has the rank of its target. `estimated` is the content of ranks.npz."""
    n_urls = database.urls.count()
    inside, outside = np.zeros((2, n_urls))
    try:
        web = local_web(database)
    except InputError:  # nothing was fetched
        return CrawlRanks(
            inside, outside, LinkGraph.from_links(0, [], []), np.zeros(0, np.int64), estimated is not None
        )
    sources = np.repeat(np.arange(web.n_local), np.diff(web.offsets))
    is_inside = web.links < web.n_local
    graph = LinkGraph.from_links(web.n_local, sources[is_inside], web.links[is_inside])
    local = web.pages[: web.n_local]
    named = local[web.named]
    inside[local] = pagerank(graph)
    inside[web.others] = inside[named]
    if estimated is not None:
        known = estimated["pages"].astype(np.int64)
        outside[known[known < n_urls]] = estimated["global"][known < n_urls]
        outside[web.others] = outside[named]
    return CrawlRanks(inside, outside, graph, local, estimated is not None)


def _link_arrays(graph: LinkGraph, pages: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    back = reversed_graph(graph)
    return {
        "link_pages": pages,
        "offsets": graph.offsets,
        "targets": graph.targets,
        "source_offsets": back.offsets,
        "sources": back.targets,
    }


def _named(database: Database, pages: NDArray[np.int64], groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the duplicates that name each page as canonical; pages of other groups do not count."""
    named = np.zeros(len(pages), np.int64)
    pairs = np.array(list(database.details.canonicals()), np.int64).reshape(-1, 2)
    pairs = pairs[np.isin(pairs, pages).all(axis=1)]
    by, target = np.searchsorted(pages, pairs).T
    np.add.at(named, target[groups[by] == groups[target]], 1)
    return named


def repetition_groups(pages: NDArray[np.int64], repeats: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the page at the end of each chain of duplicates, which is the one that was seen first."""
    n = int(max(pages.max(initial=-1), repeats.max(initial=-1))) + 1
    first = np.arange(n)
    first[pages] = repeats
    for _ in range(n.bit_length()):
        first = first[first]
    return np.asarray(np.minimum(first[pages], pages))
