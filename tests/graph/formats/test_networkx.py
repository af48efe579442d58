from __future__ import annotations

import sys
from typing import Any

import networkx
import numpy as np
import pytest

from orienteer.errors import InputError, MissingExtraError
from orienteer.graph.link_graph import LinkGraph
from tests.graph.formats.small_webs import ROUND_TRIP_WEBS
from tests.tables import over_rows

# A networkx graph has no place for the hosts and URLs of no pages.
WEBS = {name: web for name, web in ROUND_TRIP_WEBS.items() if name != "empty with both"}


@over_rows("web", WEBS.values(), ids=WEBS.keys())
def test_there_and_back_is_the_same_graph(web: LinkGraph) -> None:
    assert LinkGraph.from_networkx(web.to_networkx()) == web


def test_nodes_are_page_ids_with_known_attributes() -> None:
    web = LinkGraph.from_links(3, [0, 2], [2, 1], hosts=[4, 4, 0], urls=["a", "b", "c"])
    graph = web.to_networkx()
    assert type(graph) is networkx.DiGraph
    assert list(graph.nodes(data=True)) == [
        (0, {"url": "a", "host": 4}),
        (1, {"url": "b", "host": 4}),
        (2, {"url": "c", "host": 0}),
    ]
    assert sorted(graph.edges) == [(0, 2), (2, 1)]
    assert all(type(end) is int for edge in graph.edges for end in edge)
    assert list(LinkGraph.from_links(2, [], []).to_networkx().nodes(data=True)) == [(0, {}), (1, {})]


@over_rows(
    ("graph", "expected"),
    [
        (networkx.DiGraph([(2, 0), (0, 1)]), LinkGraph.from_links(3, [2, 0], [0, 1])),
        (networkx.DiGraph([(np.int64(2), np.int64(0)), (0, 1)]), LinkGraph.from_links(3, [2, 0], [0, 1])),
        (networkx.DiGraph([(7, 3), (3, 5)]), LinkGraph.from_links(3, [0, 1], [1, 2])),
        (networkx.DiGraph([(1, 2)]), LinkGraph.from_links(2, [0], [1])),
        (networkx.Graph([(0, 1), (1, 2)]), LinkGraph.from_links(3, [0, 1, 1, 2], [1, 0, 2, 1])),
        (networkx.MultiDiGraph([(0, 1), (0, 1), (1, 1)]), LinkGraph.from_links(2, [0], [1])),
        (networkx.MultiGraph([(0, 1), (0, 1)]), LinkGraph.from_links(2, [0, 1], [1, 0])),
        (networkx.DiGraph([("b", "a")]), LinkGraph.from_links(2, [0], [1], urls=["b", "a"])),
        (networkx.DiGraph([("b", 0)]), LinkGraph.from_links(2, [0], [1], urls=["b", ""])),
        (networkx.DiGraph([((1, 2), frozenset())]), LinkGraph.from_links(2, [0], [1])),
        (networkx.DiGraph([(True, False)]), LinkGraph.from_links(2, [0], [1])),
        (networkx.DiGraph(), LinkGraph.from_links(0, [], [])),
        (networkx.empty_graph(3), LinkGraph.from_links(3, [], [])),
    ],
)
def test_any_networkx_graph_becomes_a_link_graph(graph: Any, expected: LinkGraph) -> None:
    assert LinkGraph.from_networkx(graph) == expected


@over_rows(
    ("attributes", "hosts", "urls"),
    [
        ([{"host": 5}, {"host": 2}], [5, 2], ["x", "y"]),
        ([{"host": "a.example"}, {"host": "a.example"}], [0, 0], ["x", "y"]),
        ([{"host": np.int32(1)}, {"host": "1"}], [1, 1], ["x", "y"]),
        ([{"host": 5}, {}], None, ["x", "y"]),
        ([{"url": "http://x/"}, {"url": None}], None, ["http://x/", "y"]),
    ],
)
def test_attributes_become_hosts_and_urls(
    attributes: list[dict[str, Any]], hosts: list[int] | None, urls: list[str]
) -> None:
    graph = networkx.DiGraph()
    graph.add_nodes_from(zip(["x", "y"], attributes, strict=True))
    assert LinkGraph.from_networkx(graph) == LinkGraph.from_links(2, [], [], hosts, urls)


def test_attributes_follow_their_pages_when_ids_are_out_of_order() -> None:
    graph = networkx.DiGraph()
    for page in (2, 0, 1):
        graph.add_node(page, url=f"http://{page}/", host=page * 10)
    expected = LinkGraph.from_links(3, [], [], [0, 10, 20], ["http://0/", "http://1/", "http://2/"])
    assert LinkGraph.from_networkx(graph) == expected


@pytest.mark.parametrize("value", [None, [(0, 1)], {0: [1]}])
def test_an_object_that_is_not_a_networkx_graph_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match=f"expected a networkx graph, got a {type(value).__name__}"):
        LinkGraph.from_networkx(value)


def test_without_networkx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    web = LinkGraph.from_links(2, [0], [1])
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingExtraError, match=r"needs networkx: pip install 'orienteer\[networkx\]'"):
        web.to_networkx()
    with pytest.raises(MissingExtraError, match="needs networkx"):
        LinkGraph.from_networkx(object())
