"""The pages of a crawl as a graph: their links, and what is said of each besides its URL.

Nodes are the fetched pages; a redirect is another name of the page it leads to, and links to it count for that. So the
local rank is the PageRank of this very graph, as long as no filter takes pages away.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.exports.exported_crawl import ExportedCrawl, known
from orienteer.graph.formats.node_columns import NodeColumn
from orienteer.graph.hosts import host_ids
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.url_table import GrowingUrlTable

_URLS_PER_BLOCK = 50_000


class PageGraph(NamedTuple):
    """`graph` has URLs; `columns` are titles, names of hosts, ranks and relevance, as far as they are known."""

    graph: LinkGraph
    columns: tuple[NodeColumn, ...]


def page_graph(crawl: ExportedCrawl) -> PageGraph:
    """The graph of the pages that are wanted."""
    whole, local = crawl.ranks.graph, crawl.ranks.pages
    is_wanted = crawl.pages[local]
    pages = local[is_wanted]
    if not len(pages):
        raise InputError(f"{crawl.path}: none of the pages has a place in the graph; there is nothing to export")
    new_ids = np.cumsum(is_wanted) - 1
    sources, targets = whole.sources(), whole.targets
    is_kept = is_wanted[sources] & is_wanted[targets]
    urls = GrowingUrlTable()
    for start in range(0, len(pages), _URLS_PER_BLOCK):
        urls.intern(crawl.survey.urls(pages[start : start + _URLS_PER_BLOCK].tolist()))
    links = (new_ids[sources[is_kept]], new_ids[targets[is_kept]])
    graph = LinkGraph.from_links(len(pages), *links, urls=urls.freeze())
    return PageGraph(graph, _columns(crawl, pages, graph))


def _columns(crawl: ExportedCrawl, pages: NDArray[np.int64], graph: LinkGraph) -> tuple[NodeColumn, ...]:
    assert graph.urls is not None
    hosts, host_names = host_ids(graph.urls)
    columns = [
        NodeColumn("title", "string", lambda start, end: crawl.survey.titles(pages[start:end].tolist())),
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
    return NodeColumn(name, "double", lambda start, end: known(values[start:end]))
