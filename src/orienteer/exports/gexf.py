"""GEXF 1.2: the pages and their links, for Gephi. Labels are the URLs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import BinaryIO

from orienteer.exports.exported_crawl import ExportedCrawl
from orienteer.exports.exporter import Exporter, Written, exporter, packed
from orienteer.exports.page_graph import PageGraph, page_graph
from orienteer.exports.staging import Staging
from orienteer.files.compressed import byte_writer
from orienteer.graph.formats.node_columns import NodeColumn, block_of
from orienteer.graph.formats.xml_text import as_value
from orienteer.graph.link_graph import LinkGraph
from orienteer.progress import Progress

_PAGES_PER_BLOCK = 10_000
_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">\n'
    '<meta lastmodifieddate="{today}"><creator>Orienteer</creator></meta>\n'
    '<graph mode="static" defaultedgetype="directed">\n'
)


@exporter
class Gexf(Exporter):
    name = "gexf"
    about = "pages and links with URLs, titles, hosts and ranks, for Gephi"
    suffixes = packed(".gexf")

    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        graph, columns = page_graph(crawl)
        web = PageGraph(graph, (_url_column(graph), *columns))
        with byte_writer(staging.main, staging.name) as out:
            out.write(_HEAD.format(today=datetime.now(UTC).date()).encode())
            out.write(b'<attributes class="node">\n')
            for column in web.columns:
                out.write(f'<attribute id="{column.name}" title="{column.name}" type="{column.kind}"/>\n'.encode())
            out.write(b"</attributes>\n<nodes>\n")
            for start in range(0, graph.n_pages, _PAGES_PER_BLOCK):
                _write_nodes(web, start, min(start + _PAGES_PER_BLOCK, graph.n_pages), out)
                progress("writing pages", start, graph.n_pages)
            out.write(b"</nodes>\n<edges>\n")
            for page in range(graph.n_pages):
                _write_edges(graph, page, out)
                if page % _PAGES_PER_BLOCK == 0:
                    progress("writing links", int(graph.offsets[page]), graph.n_links)
            out.write(b"</edges>\n</graph>\n</gexf>\n")
        return Written(graph.n_pages, graph.n_links)


def _url_column(graph: LinkGraph) -> NodeColumn:
    urls = graph.urls
    assert urls is not None
    return NodeColumn("url", "string", lambda start, end: urls[start:end])


def _write_nodes(web: PageGraph, start: int, end: int, out: BinaryIO) -> None:
    for page, entries in enumerate(block_of(web.columns, start, end), start):
        values = "".join(f'<attvalue for="{column.name}" value="{as_value(str(value))}"/>' for column, value in entries)
        label = as_value(str(entries[0][1]))
        out.write(f'<node id="{page}" label="{label}"><attvalues>{values}</attvalues></node>\n'.encode())


def _write_edges(graph: LinkGraph, page: int, out: BinaryIO) -> None:
    first = int(graph.offsets[page])
    links = enumerate(graph.links(page).tolist(), first)
    out.write("".join([f'<edge id="{k}" source="{page}" target="{target}"/>\n' for k, target in links]).encode())
