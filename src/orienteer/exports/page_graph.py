"""The pages and links of a crawl as GraphML, for Gephi, yEd, igraph, NetworkX and many more, and as edge lists.

Nodes are the fetched pages; links to a redirect count for its target. So the local rank is the PageRank of exactly this
graph, unless a filter removes pages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.exports.exported_crawl import ExportedCrawl, none_for_nan
from orienteer.exports.exporter import Exporter, Staging, Written, exporter, packed
from orienteer.files.compressed import byte_writer
from orienteer.graph.formats import graphml as graph_graphml
from orienteer.graph.formats.edges import lines_of_urls
from orienteer.graph.formats.node_columns import NodeColumn
from orienteer.graph.hosts import host_ids
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.url_table import GrowingUrlTable
from orienteer.progress import Progress

_URLS_PER_BLOCK = 50_000
_PAGES_PER_BLOCK = 1000


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
        urls.intern(crawl.database.urls.of_all(pages[start : start + _URLS_PER_BLOCK].tolist()))
    links = (new_ids[sources[is_included]], new_ids[targets[is_included]])
    graph = LinkGraph.from_links(len(pages), *links, urls=urls.freeze())
    return PageGraph(graph, _columns(crawl, pages, graph))


def _columns(crawl: ExportedCrawl, pages: NDArray[np.int64], graph: LinkGraph) -> tuple[NodeColumn, ...]:
    assert graph.urls is not None
    hosts, host_names = host_ids(graph.urls)
    columns = [
        NodeColumn("title", "string", lambda start, end: crawl.database.pages.titles(pages[start:end].tolist())),
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


@exporter
class GraphMl(Exporter):
    name = "graphml"
    about = "pages and links with URLs, titles, hosts and ranks"
    suffixes = packed(".graphml")

    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        graph, columns = page_graph(crawl)
        graph_graphml.write(graph, staging.main, progress, columns)
        return Written(graph.n_pages, graph.n_links)


@exporter
class Edges(Exporter):
    """A header, then one link per line as two URLs, for pandas, DuckDB, Gephi and spreadsheets.

        source,target
        http://a.org/,http://a.org/visit

    The suffix selects the separator: .csv a comma, .tsv a tab. Pages without links do not occur.
    """

    name = "edges"
    about = "links as pairs of URLs"
    suffixes = packed(".csv", ".tsv")

    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        graph, _ = page_graph(crawl)
        assert graph.urls is not None
        separator = b"," if ".csv" in staging.name.lower()[-8:] else b"\t"
        with byte_writer(staging.main, staging.name) as out:
            out.write(b"source" + separator + b"target\n")
            for start in range(0, graph.n_pages, _PAGES_PER_BLOCK):
                end = min(start + _PAGES_PER_BLOCK, graph.n_pages)
                out.write(lines_of_urls(graph, graph.urls, start, end, separator))
                progress("writing links", int(graph.offsets[end]), graph.n_links)
        return Written(graph.n_pages, graph.n_links)
