"""Edge lists: a header, then one link per line as two URLs, for pandas, DuckDB, Gephi and spreadsheets.

    source,target
    http://a.org/,http://a.org/visit

The suffix selects the separator: .csv a comma, .tsv a tab. Pages without links do not occur.
"""

from __future__ import annotations

from orienteer.exports.exported_crawl import ExportedCrawl
from orienteer.exports.exporter import Exporter, Written, exporter, packed
from orienteer.exports.page_graph import page_graph
from orienteer.exports.staging import Staging
from orienteer.files.compressed import byte_writer
from orienteer.graph.formats import edge_text
from orienteer.progress import Progress

_PAGES_PER_BLOCK = 1000


@exporter
class Edges(Exporter):
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
                out.write(edge_text.url_lines(graph, graph.urls, start, end, separator))
                progress("writing links", int(graph.offsets[end]), graph.n_links)
        return Written(graph.n_pages, graph.n_links)
