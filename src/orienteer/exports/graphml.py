"""GraphML: the pages and their links, for Gephi, yEd, igraph, NetworkX and many more."""

from __future__ import annotations

from orienteer.exports.exported_crawl import ExportedCrawl
from orienteer.exports.exporter import Exporter, Written, exporter, packed
from orienteer.exports.page_graph import page_graph
from orienteer.exports.staging import Staging
from orienteer.graph.formats import graphml as graph_graphml
from orienteer.progress import Progress


@exporter
class GraphMl(Exporter):
    name = "graphml"
    about = "pages and links with URLs, titles, hosts and ranks"
    suffixes = packed(".graphml")

    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        graph, columns = page_graph(crawl)
        graph_graphml.write(graph, staging.main, progress, columns)
        return Written(graph.n_pages, graph.n_links)
