"""NetworkX: the pages and their links as node-link JSON.

    with open("web.json") as file:
        web = networkx.node_link_graph(json.load(file), edges="edges")     # a DiGraph

A pickle would be smaller, but opening one can run any code.
"""

from __future__ import annotations

import json
from typing import BinaryIO

from orienteer.exports.exported_crawl import ExportedCrawl
from orienteer.exports.exporter import Exporter, Written, exporter, packed
from orienteer.exports.page_graph import PageGraph, page_graph
from orienteer.exports.staging import Staging
from orienteer.files.compressed import byte_writer
from orienteer.graph.formats.node_columns import block_of
from orienteer.progress import Progress

_PAGES_PER_BLOCK = 10_000


@exporter
class NetworkX(Exporter):
    name = "networkx"
    about = "pages and links with URLs, titles, hosts and ranks, as node-link JSON"
    suffixes = packed(".json")

    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        web = page_graph(crawl)
        graph = web.graph
        with byte_writer(staging.main, staging.name) as out:
            out.write(b'{"directed": true, "multigraph": false, "graph": {}, "nodes": [')
            for start in range(0, graph.n_pages, _PAGES_PER_BLOCK):
                _write_nodes(web, start, min(start + _PAGES_PER_BLOCK, graph.n_pages), out)
                progress("writing pages", start, graph.n_pages)
            out.write(b'\n], "edges": [')
            before = "\n"
            for page in range(graph.n_pages):
                for target in graph.links(page).tolist():
                    out.write(f'{before}{{"source": {page}, "target": {target}}}'.encode())
                    before = ",\n"
                if page % _PAGES_PER_BLOCK == 0:
                    progress("writing links", int(graph.offsets[page]), graph.n_links)
            out.write(b"\n]}\n")
        return Written(graph.n_pages, graph.n_links)


def _write_nodes(web: PageGraph, start: int, end: int, out: BinaryIO) -> None:
    assert web.graph.urls is not None
    nodes = []
    urls = web.graph.urls[start:end]
    for page, (url, entries) in enumerate(zip(urls, block_of(web.columns, start, end), strict=True), start):
        values = {column.name: value for column, value in entries}
        nodes.append(json.dumps({"id": page, "url": url, **values}))
    out.write((",\n" if start else "\n").encode() + ",\n".join(nodes).encode())
