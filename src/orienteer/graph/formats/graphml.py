"""GraphML, plain, .gz or .zst: read and written as a stream, without a tree in memory.

    <key id="url" for="node" attr.name="url" attr.type="string"/>     label or name are used if url is missing
    <key id="host" for="node" attr.name="host" attr.type="int"/>      integers are host ids, names are numbered
    <graph edgedefault="directed">
      <node id="0"><data key="url">http://a/</data><data key="host">0</data></node>
      <edge source="0" target="1"/>

Pages are numbered in the order of the node elements. An undirected edge is a link in each direction. If no node has a
url, label or name, the node ids are the URLs, provided that all of them look like URLs. If only some pages have a URL,
the others get the empty URL; hosts are known only if every page has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from orienteer.files.atomic import replaced
from orienteer.files.compressed import byte_blocks, byte_writer
from orienteer.graph.formats.graphml_document import NAMESPACE, GraphmlDocument
from orienteer.graph.formats.node_columns import NodeColumn, block_of
from orienteer.graph.formats.xml_text import as_text, as_value
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.link_sorter import LinkSorter
from orienteer.progress import Progress, silent

_PAGES_PER_BLOCK = 1 << 14


def read(path: Path, progress: Progress = silent) -> LinkGraph:
    with LinkSorter() as sorter:
        document = GraphmlDocument(sorter)
        for block in byte_blocks(path, progress):
            document.feed(block)
        return document.graph()


def write(graph: LinkGraph, path: Path, progress: Progress = silent, columns: Sequence[NodeColumn] = ()) -> None:
    """Write a graph, with further `columns` of its pages; a character that XML cannot represent becomes U+FFFD."""
    with replaced(path) as new, byte_writer(new, path.name) as out:
        out.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="{NAMESPACE}">\n'.encode())
        keys = [("url", "string")] * (graph.urls is not None) + [("host", "int")] * (graph.hosts is not None)
        for name, kind in (*keys, *((as_value(column.name), column.kind) for column in columns)):
            out.write(f'<key id="{name}" for="node" attr.name="{name}" attr.type="{kind}"/>\n'.encode())
        out.write(b'<graph edgedefault="directed">\n')
        for start in range(0, graph.n_pages, _PAGES_PER_BLOCK):
            end = min(start + _PAGES_PER_BLOCK, graph.n_pages)
            _write_nodes(graph, columns, start, end, out)
            progress("writing pages", end, graph.n_pages)
        for start in range(0, graph.n_pages, _PAGES_PER_BLOCK):
            end = min(start + _PAGES_PER_BLOCK, graph.n_pages)
            _write_edges(graph, start, end, out)
            progress("writing links", int(graph.offsets[end]), graph.n_links)
        out.write(b"</graph>\n</graphml>\n")


def _write_nodes(graph: LinkGraph, columns: Sequence[NodeColumn], start: int, end: int, out: BinaryIO) -> None:
    """Node ids are plain page ids, so that networkx.read_graphml(path, node_type=int) gives them back."""
    values = [""] * (end - start)
    if graph.urls is not None:
        values = [f'<data key="url">{as_text(url)}</data>' for url in graph.urls[start:end]]
    if graph.hosts is not None:
        hosts = graph.hosts[start:end].tolist()
        values = [f'{value}<data key="host">{host}</data>' for value, host in zip(values, hosts, strict=True)]
    if columns:
        more = block_of(columns, start, end)
        values = [value + "".join(_data(*entry) for entry in known) for value, known in zip(values, more, strict=True)]
    nodes = (
        f'<node id="{page}">{value}</node>\n' if value else f'<node id="{page}"/>\n'
        for page, value in enumerate(values, start)
    )
    out.write("".join(nodes).encode())


def _write_edges(graph: LinkGraph, start: int, end: int, out: BinaryIO) -> None:
    for page in range(start, end):
        head = f'<edge source="{page}" target="'
        out.write("".join([f'{head}{target}"/>\n' for target in graph.links(page).tolist()]).encode())


def _data(column: NodeColumn, value: Any) -> str:
    return f'<data key="{as_value(column.name)}">{as_text(str(value))}</data>'
