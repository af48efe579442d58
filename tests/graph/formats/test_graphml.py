from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import networkx
import numpy as np
import pytest

from orienteer.errors import GraphFileError
from orienteer.files.compressed import zstd
from orienteer.graph.formats import graphml
from orienteer.graph.link_graph import LinkGraph
from tests.graph.formats.small_webs import ROUND_TRIP_WEBS, assert_loads_or_says_why, damaged

HEAD = '<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
KEYS = (
    '<key id="d0" for="node" attr.name="URL" attr.type="string"/>'
    '<key id="d1" for="node" attr.name="label" attr.type="string"/>'
    '<key id="d2" for="all" attr.name="name" attr.type="string"/>'
    '<key id="d3" for="node" attr.name="host" attr.type="string"/>'
    '<key id="d4" for="edge" attr.name="host" attr.type="string"/>'
)


def loaded(folder: Path, text: str | bytes, name: str = "web.graphml") -> LinkGraph:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return LinkGraph.load(folder / name)


def document(body: str, kind: str = "directed", keys: str = KEYS) -> str:
    return f'{HEAD}{keys}<graph edgedefault="{kind}">{body}</graph></graphml>'


@pytest.mark.parametrize("name", ["web.graphml", "web.graphml.gz", "web.graphml.zst"])
@pytest.mark.parametrize("web", ROUND_TRIP_WEBS.values(), ids=ROUND_TRIP_WEBS.keys())
def test_a_graph_read_back_is_the_graph_written(tmp_path: Path, web: LinkGraph, name: str) -> None:
    web.save(tmp_path / name)
    assert LinkGraph.load(tmp_path / name) == web
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_the_file_is_compressed_as_its_name_says(tmp_path: Path) -> None:
    for ending, unpacked in (("", bytes), (".gz", gzip.decompress), (".zst", _unpacked_zst)):
        ROUND_TRIP_WEBS["plain"].save(tmp_path / f"web.graphml{ending}")
        assert unpacked((tmp_path / f"web.graphml{ending}").read_bytes()).startswith(b"<?xml")


def _unpacked_zst(data: bytes) -> bytes:
    return zstd.decompress(data)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (" \t\n blanks ", None),
        ("http://a/\r\n\r", None),
        ("&amp;<![CDATA[x]]>", None),
        ("\x7f\x85\u2028\U0001f600", None),
        ("\x00\x08\x0b\x0c\x1f\ufffe\uffff", "\ufffd" * 7),
    ],
)
def test_valid_characters_survive_and_others_are_replaced(tmp_path: Path, url: str, expected: str | None) -> None:
    LinkGraph.from_links(1, [], [], urls=[url]).save(tmp_path / "web.graphml")
    assert list(LinkGraph.load(tmp_path / "web.graphml").urls or []) == [url if expected is None else expected]


@pytest.mark.parametrize("web", ROUND_TRIP_WEBS.values(), ids=ROUND_TRIP_WEBS.keys())
def test_networkx_reads_what_we_write(tmp_path: Path, web: LinkGraph) -> None:
    web.save(tmp_path / "web.graphml")
    read = networkx.read_graphml(tmp_path / "web.graphml", node_type=int)
    assert read.is_directed()
    assert sorted(read.nodes) == list(range(web.n_pages))
    assert sorted(read.edges) == list(zip(web.sources().tolist(), web.targets.tolist(), strict=True))
    if web.hosts is not None:
        assert [read.nodes[page]["host"] for page in range(web.n_pages)] == web.hosts.tolist()
    if web.urls is not None:
        # networkx takes an empty element for a missing one
        assert [read.nodes[page].get("url") or "" for page in range(web.n_pages)] == list(web.urls)


@pytest.mark.parametrize(
    "web", [web for web in ROUND_TRIP_WEBS.values() if web.n_pages], ids=lambda web: repr(web).strip("<>")
)
def test_we_read_what_networkx_writes(tmp_path: Path, web: LinkGraph) -> None:
    networkx.write_graphml(web.to_networkx(), tmp_path / "web.graphml")
    assert LinkGraph.load(tmp_path / "web.graphml") == web


def test_nodes_named_by_their_urls_keep_them(tmp_path: Path) -> None:
    networkx.write_graphml(networkx.DiGraph([("http://b/?x&y", "http://a/")]), tmp_path / "web.graphml")
    web = LinkGraph.load(tmp_path / "web.graphml")
    assert web == LinkGraph.from_links(2, [0], [1], urls=["http://b/?x&y", "http://a/"])


@pytest.mark.parametrize(
    ("kind", "edges", "expected"),
    [
        ("directed", '<edge source="a" target="b"/>', [(0, 1)]),
        ("undirected", '<edge source="a" target="b"/>', [(0, 1), (1, 0)]),
        ("directed", '<edge source="a" target="b" directed="false"/>', [(0, 1), (1, 0)]),
        ("undirected", '<edge source="b" target="a" directed="true"/>', [(1, 0)]),
        (
            "directed",
            '<edge source="a" target="b"/><edge source="a" target="b"><data key="d4">x</data></edge>',
            [(0, 1)],
        ),
        ("directed", '<edge source="a" target="a"/>', []),
        ("", '<edge id="e" source="b" target="a"/>', [(1, 0)]),
    ],
)
@pytest.mark.parametrize("order", ["nodes first", "edges first"])
def test_edges_become_links(tmp_path: Path, kind: str, edges: str, expected: list[tuple[int, int]], order: str) -> None:
    nodes = '<node id="a"/><node id="b"/>'
    web = loaded(tmp_path, document(nodes + edges if order == "nodes first" else edges + nodes, kind))
    assert list(zip(web.sources().tolist(), web.targets.tolist(), strict=True)) == expected
    assert web.n_pages == 2


def node(node_id: str, **values: str) -> str:
    keys = {"url": "d0", "label": "d1", "name": "d2", "host": "d3"}
    data = "".join(f'<data key="{keys[role]}">{value}</data>' for role, value in values.items())
    return f'<node id="{node_id}">{data}</node>'


@pytest.mark.parametrize(
    ("nodes", "urls"),
    [
        ([node("a", url="u", label="l", name="n"), node("b", name="n", label="l"), node("c", name="n")], "uln"),
        ([node("a", url="", label="l"), node("b"), node("c", url="")], ["l", "", ""]),
        ([node("a"), node("b")], None),
        ([node("a", host="x")], None),
        ([node("http://a/"), node("http://b/")], ["http://a/", "http://b/"]),
        ([node("http://a/"), node("b")], None),
        ([node("http://a/", label="l")], ["l"]),
        (['<node id="a"><data key="d0">http://a/<![CDATA[?x&y]]>&amp;z</data></node>'], ["http://a/?x&y&z"]),
        (['<node id="a"><data key="d0"><!-- why --><x>http</x>://a/</data><desc>no</desc></node>'], ["http://a/"]),
    ],
)
def test_urls_come_from_url_then_label_then_name(tmp_path: Path, nodes: list[str], urls: list[str] | None) -> None:
    web = loaded(tmp_path, document("".join(nodes)))
    assert (None if web.urls is None else list(web.urls)) == (None if urls is None else list(urls))
    assert web.n_pages == len(nodes)


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        (["3", "0", " 3\n"], [3, 0, 3]),
        (["b.example", "a.example", "b.example"], [0, 1, 0]),
        (["3", "x", "3"], [0, 1, 0]),
        (["7", "07", "7"], [0, 1, 0]),
        (["-1", "2147483648", "-1"], [0, 1, 0]),
        (["1", None, "2"], None),
        ([None, None, None], None),
    ],
)
def test_integer_hosts_are_ids_and_names_are_numbered(
    tmp_path: Path, hosts: list[str | None], expected: list[int] | None
) -> None:
    nodes = [node(str(k), **({} if host is None else {"host": host})) for k, host in enumerate(hosts)]
    web = loaded(tmp_path, document("".join(nodes)))
    assert (None if web.hosts is None else web.hosts.tolist()) == expected


def test_a_key_may_have_a_default(tmp_path: Path) -> None:
    keys = '<key id="d3" for="node" attr.name="host"><desc>x</desc><default>4</default></key>'
    web = loaded(tmp_path, document(node("a") + node("b", host="2"), keys=keys))
    assert web.hosts is not None
    assert web.hosts.tolist() == [4, 2]


def test_a_graph_within_a_node_belongs_to_the_whole(tmp_path: Path) -> None:
    inner = '<graph edgedefault="directed">' + node("b", url="B", host="1") + node("c", url="C", host="2") + "</graph>"
    outer = f'<node id="a">{inner}<data key="d0">A</data><data key="d3">0</data></node>' + node("d", url="D", host="3")
    web = loaded(tmp_path, document(outer + '<edge source="c" target="d"><data key="d0">no</data></edge>'))
    assert web == LinkGraph.from_links(4, [2], [3], hosts=[0, 1, 2, 3], urls="ABCD")


@pytest.mark.parametrize(
    "head",
    [
        "<graphml>",
        '<?xml version="1.0" encoding="UTF-8"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns/graphml">',
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">',
    ],
)
def test_older_and_other_heads_will_do(tmp_path: Path, head: str) -> None:
    assert loaded(tmp_path, document('<node id="a"/>').replace(HEAD, head)).n_pages == 1


def test_prefixes_are_followed_and_other_namespaces_passed_over(tmp_path: Path) -> None:
    text = (
        '<g:graphml xmlns:g="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://y/"><g:graph>'
        '<g:node id="a"/><y:node id="no"/><g:node id="b"/><g:edge source="a" target="b"/></g:graph></g:graphml>'
    )
    assert loaded(tmp_path, text) == LinkGraph.from_links(2, [0], [1])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252"])
def test_the_encoding_is_the_one_declared(tmp_path: Path, encoding: str) -> None:
    declared = encoding.removesuffix("-sig")
    text = document(node("a", url="http://ü/")).replace('version="1.0"', f'version="1.0" encoding="{declared}"')
    assert list(loaded(tmp_path, text.encode(encoding)).urls or []) == ["http://ü/"]


LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (document('<edge source="a" target="b"/><node id="a"/>'), "line 1: an edge names the node 'b', which does"),
        (document('<node id="a"/>\n<edge source="a"/>'), "line 2: an edge without source or target"),
        (document("<node/>"), "a node without id"),
        (document('<node id="a"/><node id="a"/>'), "the node id 'a' is there twice"),
        (document('<hyperedge><endpoint node="a"/></hyperedge>'), "a hyperedge is not a link between two pages"),
        (document("</graph><graph>"), "more than one graph"),
        (f"{HEAD}</graphml>", "there is no graph in the document"),
        (document("<a>" * 300 + "</a>" * 300), "nested more than 256 deep"),
        ("<html><body/></html>", "this is not GraphML: the document is a <html>"),
        ("", "not well-formed XML: no element found"),
        ("0 1\n", "not well-formed XML: syntax error: line 1"),
        (document("<node id='a'>"), "not well-formed XML: mismatched tag"),
        (document("<p:node id='a'/>"), "not well-formed XML: unbound prefix"),
        (document("&b;"), "not well-formed XML: undefined entity"),
        (document("").replace('"1.0"', '"1.0" encoding="klingon"'), "not well-formed XML: unknown encoding"),
        (document("").replace("<graphml", LAUGHS + "<graphml"), "entity declarations are refused"),
        (document("").replace("<graphml", '<!DOCTYPE graphml SYSTEM "file:///etc/passwd"><graphml'), "are refused"),
    ],
    ids=lambda value: value[-50:],
)
def test_faults_of_documents_are_reported(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(GraphFileError, match=message):
        loaded(tmp_path, text)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (node("a", url="x" * 3_000_000), "a value of over 1,048,576 characters"),
        (f'<node id="{"x" * 3_000_000}"/>', "a tag of over 1 MiB"),
    ],
    ids=["value", "tag"],
)
def test_endless_data_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, message: str) -> None:
    monkeypatch.setattr(graphml, "_MAX_TAG_BYTES", 1 << 20)
    monkeypatch.setattr("orienteer.files.compressed.BLOCK_BYTES", 1 << 18)
    with pytest.raises(GraphFileError, match=message):
        loaded(tmp_path, document(body))


def test_a_file_larger_than_a_block_is_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    web = ROUND_TRIP_WEBS["random"]
    web.save(tmp_path / "web.graphml.gz")
    monkeypatch.setattr("orienteer.files.compressed.BLOCK_BYTES", 1000)
    calls: list[tuple[str, int, int]] = []
    assert LinkGraph.load(tmp_path / "web.graphml.gz", progress=lambda *call: calls.append(call)) == web
    assert len(calls) > 10


def test_memory_stays_far_below_the_size_of_the_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orienteer.files.compressed.BLOCK_BYTES", 1 << 16)
    edges = '<edge source="a" target="b"><data key="d4">some text that is not used</data></edge>\n' * 50_000
    text = document('<node id="a"/><node id="b"/>' + edges).encode()
    with gzip.open(tmp_path / "web.graphml.gz", "wb", 1) as out:
        out.write(text)
    tracemalloc.start()
    try:
        LinkGraph.load(tmp_path / "web.graphml.gz")
        assert tracemalloc.get_traced_memory()[1] < len(text) / 2
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["web.graphml", "web.graphml.gz", "web.graphml.zst"])
def test_a_damaged_file_gives_an_error_or_a_graph(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    LinkGraph.from_links(40, np.arange(39), np.arange(1, 40), urls=[f"http://{k}/" for k in range(40)]).save(path)
    for data in damaged(path.read_bytes()):
        path.write_bytes(data)
        assert_loads_or_says_why(path)
