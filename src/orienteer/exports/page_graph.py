"""The pages of a crawl as a graph with columns of properties.

Nodes are the fetched pages; links to a redirect count for its target. So the local rank is the PageRank of exactly this
graph, unless a filter removes pages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.exports.exported_crawl import ExportedCrawl, none_for_nan
from orienteer.graph.formats.node_columns import NodeColumn
from orienteer.graph.hosts import host_ids
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.url_table import GrowingUrlTable

_URLS_PER_BLOCK = 50_000


class PageGraph(NamedTuple):
    """A graph with URLs; `columns` are titles, host names, ranks and relevance, as far as they are known."""

    graph: LinkGraph
    columns: tuple[NodeColumn, ...]


def page_graph(crawl: ExportedCrawl) -> PageGraph:
    """Return the graph of the selected pages."""
    whole, local = crawl.ranks.graph, crawl.ranks.pages
    is_selected = crawl.pages[local]
    pages = local[is_selected]
    if not len(pages):
        raise InputError(f"{crawl.path}: none of the pages is in the graph; there is nothing to export")
    new_ids = np.cumsum(is_selected) - 1
    sources, targets = whole.sources(), whole.targets
    is_included = is_selected[sources] & is_selected[targets]
    urls = GrowingUrlTable()
    for start in range(0, len(pages), _URLS_PER_BLOCK):
        urls.intern(crawl.database.urls(pages[start : start + _URLS_PER_BLOCK].tolist()))
    links = (new_ids[sources[is_included]], new_ids[targets[is_included]])
    graph = LinkGraph.from_links(len(pages), *links, urls=urls.freeze())
    return PageGraph(graph, _columns(crawl, pages, graph))


def _columns(crawl: ExportedCrawl, pages: NDArray[np.int64], graph: LinkGraph) -> tuple[NodeColumn, ...]:
    assert graph.urls is not None
    hosts, host_names = host_ids(graph.urls)
    columns = [
        NodeColumn("title", "string", lambda start, end: crawl.database.titles(pages[start:end].tolist())),
        NodeColumn("host", "string", lambda start, end: [host_names[host] for host in hosts[start:end].tolist()]),
        _numbers("local_rank", crawl.ranks.local[pages]),
    ]
    if crawl.has_global_rank:
        outside = crawl.ranks.outside[pages]
        columns.append(_numbers("global_rank", np.where(outside > 0, outside, np.nan)))
    if crawl.has_topic:
        columns.append(_numbers("relevance", crawl.relevance[pages]))
    return tuple(columns)


def _numbers(name: str, values: NDArray[np.float64]) -> NodeColumn:
    return NodeColumn(name, "double", lambda start, end: none_for_nan(values[start:end]))
