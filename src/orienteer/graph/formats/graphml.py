"""GraphML, plain, .gz or .zst: read and written as a stream, without a tree in memory.

    <key id="url" for="node" attr.name="url" attr.type="string"/>     label or name are used if url is missing
    <key id="host" for="node" attr.name="host" attr.type="int"/>      integers are host ids, names are numbered
    <graph edgedefault="directed">
      <node id="0"><data key="url">http://a/</data><data key="host">0</data></node>
      <edge source="0" target="1"/>

Pages are numbered in the order of the node elements. An undirected edge is a link in each direction. If no node has a
url, label or name, the node ids are the URLs, provided that all of them look like URLs. If only some pages have a URL,
the others get the empty URL; hosts are known only if every page has one.

Hostile documents are cheap to reject: document type declarations are refused (they can declare entities that expand
exponentially or fetch files), and depth and the lengths of values and tags are bounded.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import GraphFileError
from orienteer.files.compressed import byte_blocks, byte_writer
from orienteer.files.plain import replaced
from orienteer.graph.formats.node_columns import HostNumbering, NodeColumn, block_of
from orienteer.graph.formats.xml_text import as_text, as_value
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.link_sorter import LinkSorter
from orienteer.graph.url_table import UrlTable
from orienteer.progress import Progress, silent

_PAGES_PER_BLOCK = 1 << 14
NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
_URL_ROLES = ("url", "label", "name")  # in order of preference
_MAX_DEPTH = 256
_MAX_VALUE_LENGTH = 1 << 20
_MAX_TAG_BYTES = 1 << 26

_Attributes = dict[str, str]


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


class _OpenNode(NamedTuple):
    depth: int
    page: int
    values: dict[str, str]  # by role


class GraphmlDocument:
    """Call `feed` with the file's bytes, then `graph`."""

    def __init__(self, sorter: LinkSorter) -> None:
        self._sorter = sorter
        self._parser = self._new_parser()
        self._n_bytes = 0
        self._starts = _handlers(
            graph=self._start_graph,
            node=self._start_node,
            edge=self._start_edge,
            hyperedge=self._refuse_hyperedge,
            key=self._start_key,
            default=self._start_default,
            data=self._start_data,
        )
        self._ends = _handlers(node=self._end_node, data=self._end_text, default=self._end_text)
        self._depth = 0
        self._n_graphs = 0
        self._directed = "true"  # the default of edges without the attribute
        self._pages: dict[str, int] = {}
        self._open_nodes: list[_OpenNode] = []
        self._values = _PageValues()
        self._roles: dict[str, str] = {}  # key id -> url, label, name or host
        self._key_role: str | None = None
        self._text: list[str] = []
        self._text_goes_to: tuple[dict[str, str], str] | None = None
        self._sources, self._targets = array("I"), array("I")
        self._early_edges: list[tuple[_Attributes, int]] = []  # edges before their nodes, with the line

    def feed(self, block: bytes) -> None:
        self._n_bytes += len(block)
        self._parse(block, False)
        self._flush_links()
        # The parser buffers an unfinished tag and parses it from its start with every block.
        if self._n_bytes - self._parser.CurrentByteIndex > _MAX_TAG_BYTES:
            raise GraphFileError(f"a tag of over {_MAX_TAG_BYTES >> 20} MiB: this is not GraphML")

    def graph(self) -> LinkGraph:
        self._parse(b"", True)
        if self._n_graphs == 0:
            raise GraphFileError("there is no graph in the document")
        for attributes, line in self._early_edges:
            for name in (attributes["source"], attributes["target"]):
                if name not in self._pages:
                    raise GraphFileError(f"line {line}: an edge names the node {name[:60]!r}, which does not exist")
            self._start_edge(attributes)
        self._flush_links()
        hosts, urls = self._values.in_page_order(set(self._roles.values()))
        if urls is None and self._pages and all("://" in name for name in self._pages):
            urls = UrlTable.of(self._pages)
        return self._sorter.graph(len(self._pages), hosts, urls)

    def _new_parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start_root
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = self._refuse_declaration
        parser.EntityDeclHandler = self._refuse_declaration
        return parser

    def _parse(self, block: bytes, is_last: bool) -> None:
        try:
            self._parser.Parse(block, is_last)
        except (expat.ExpatError, LookupError, ValueError) as error:  # the latter two: encodings
            raise GraphFileError(f"not well-formed XML: {error}") from None

    def _fault(self, what: str) -> GraphFileError:
        return GraphFileError(f"line {self._parser.CurrentLineNumber}: {what}")

    def _start_root(self, name: str, _: _Attributes) -> None:
        kind = name.rpartition(" ")[2]
        if kind != "graphml":
            raise GraphFileError(f"this is not GraphML: the document is a <{kind[:60]}>")
        self._depth = 1
        self._parser.StartElementHandler = self._start

    def _start(self, name: str, attributes: _Attributes) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._fault(f"elements are nested more than {_MAX_DEPTH} deep")
        handler = self._starts.get(name)
        if handler is not None:
            handler(attributes)

    def _end(self, name: str) -> None:
        handler = self._ends.get(name)
        if handler is not None:
            handler()
        self._depth -= 1

    def _refuse_declaration(self, *_: Any) -> None:
        raise self._fault("document type and entity declarations are refused")

    def _refuse_hyperedge(self, _: _Attributes) -> None:
        raise self._fault("a hyperedge is not a link between two pages")

    def _start_graph(self, attributes: _Attributes) -> None:
        if self._depth == 2 and self._n_graphs:
            raise self._fault("there is more than one graph in the document")
        self._n_graphs += 1
        self._directed = "false" if attributes.get("edgedefault") == "undirected" else "true"

    def _start_node(self, attributes: _Attributes) -> None:
        name = attributes.get("id")
        if name is None or name in self._pages:
            raise self._fault("a node without id" if name is None else f"the node id {name[:60]!r} is there twice")
        page = self._pages[name] = len(self._pages)
        self._open_nodes.append(_OpenNode(self._depth, page, {}))

    def _end_node(self) -> None:
        node = self._open_nodes.pop()
        self._values.add(node.page, node.values)

    def _start_edge(self, attributes: _Attributes) -> None:
        # Reading a file spends most of its time here.
        pages = self._pages
        try:
            source, target = pages[attributes["source"]], pages[attributes["target"]]
        except KeyError:
            self._defer_edge(attributes)
            return
        self._sources.append(source)
        self._targets.append(target)
        if attributes.get("directed", self._directed) == "false":
            self._sources.append(target)
            self._targets.append(source)

    def _defer_edge(self, attributes: _Attributes) -> None:
        if "source" not in attributes or "target" not in attributes:
            raise self._fault("an edge without source or target")
        directed = attributes.get("directed", self._directed)
        self._early_edges.append(({**attributes, "directed": directed}, self._parser.CurrentLineNumber))

    def _flush_links(self) -> None:
        self._sorter.add(np.array(self._sources), np.array(self._targets))
        self._sources, self._targets = array("I"), array("I")

    def _start_key(self, attributes: _Attributes) -> None:
        role = attributes.get("attr.name", "").lower()
        for_nodes = attributes.get("for", "all") in ("node", "all")
        self._key_role = role if for_nodes and role in (*_URL_ROLES, "host") else None
        if self._key_role is not None:
            self._roles[attributes.get("id", "")] = role

    def _start_default(self, _: _Attributes) -> None:
        if self._key_role is not None:
            self._collect_text(self._values.defaults, self._key_role)

    def _start_data(self, attributes: _Attributes) -> None:
        role = self._roles.get(attributes.get("key", ""))
        # Data elements may also belong to an edge or a graph, which may be inside a node.
        if role is not None and self._open_nodes and self._open_nodes[-1].depth == self._depth - 1:
            self._collect_text(self._open_nodes[-1].values, role)

    def _collect_text(self, values: dict[str, str], role: str) -> None:
        self._text_goes_to = values, role
        self._text.clear()
        self._parser.CharacterDataHandler = self._add_text

    def _add_text(self, text: str) -> None:
        self._text.append(text)
        if sum(map(len, self._text)) > _MAX_VALUE_LENGTH:
            raise self._fault(f"a value of over {_MAX_VALUE_LENGTH:,} characters")

    def _end_text(self) -> None:
        if self._text_goes_to is not None:
            values, role = self._text_goes_to
            values[role] = "".join(self._text)
            self._text_goes_to = None
            self._parser.CharacterDataHandler = None


def _handlers(**handlers: Callable[..., None]) -> dict[str, Callable[..., None]]:
    """Return handlers by element name, without a namespace and with either spelling of GraphML's."""
    spaces = ("", f"{NAMESPACE} ", f"{NAMESPACE}/graphml ")
    return {space + name: handler for name, handler in handlers.items() for space in spaces}


class _PageValues:
    """URLs and hosts of pages in flat arrays, in the order in which the node elements end."""

    def __init__(self) -> None:
        self.defaults: dict[str, str] = {}
        self._pages = array("I")
        self._hosts = HostNumbering()
        self._url_bytes = bytearray()
        self._url_ends = array("q", [0])
        self._any_url = False

    def add(self, page: int, values: dict[str, str]) -> None:
        values = {**self.defaults, **values}
        urls = [values[role] for role in _URL_ROLES if role in values]
        url = next(filter(None, urls), "")
        self._any_url |= bool(urls)
        self._url_bytes += url.encode()
        self._url_ends.append(len(self._url_bytes))
        self._hosts.add(values["host"].strip() if "host" in values else None)
        self._pages.append(page)

    def in_page_order(self, roles: set[str]) -> tuple[NDArray[np.int32] | None, UrlTable | None]:
        """Return (hosts, URLs); for a document without nodes they are known if they are declared."""
        hosts = self._hosts.ids() if self._pages or "host" in roles else None
        urls = None
        if self._any_url or (not self._pages and roles.intersection(_URL_ROLES)):
            urls = UrlTable(np.frombuffer(self._url_bytes, np.uint8), np.array(self._url_ends, np.int64))
        order = np.argsort(np.array(self._pages), kind="stable")
        if (order[1:] < order[:-1]).any():  # a node that contains a graph ends after the nodes of that graph
            hosts = None if hosts is None else hosts[order]
            urls = None if urls is None else urls.taken(order)
        return hosts, urls
