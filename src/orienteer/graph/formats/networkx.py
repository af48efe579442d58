"""Conversion to and from networkx, for small graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError, MissingExtraError
from orienteer.graph.formats.node_columns import HostNumbering
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.url_table import UrlTable

if TYPE_CHECKING:
    import networkx


def to_networkx(graph: LinkGraph) -> networkx.DiGraph[int]:
    """Return a DiGraph with the page ids as nodes, and `url` and `host` as their attributes where known."""
    result = _networkx().DiGraph()
    result.add_nodes_from(range(graph.n_pages))
    if graph.urls is not None:
        for page, url in enumerate(graph.urls):
            result.nodes[page]["url"] = url
    if graph.hosts is not None:
        for page, host in enumerate(graph.hosts.tolist()):
            result.nodes[page]["host"] = host
    result.add_edges_from(zip(graph.sources().tolist(), graph.targets.tolist(), strict=True))
    return result


def from_networkx(graph: Any) -> LinkGraph:
    """Return the LinkGraph of any networkx graph; an undirected edge is a link in each direction.

    Nodes that are the numbers 0 to n - 1 are page ids; any others are numbered in their order. A page's URL is the
    node's `url`, or the node itself if it is a str; its host is the node's `host`, an integer id or a name to number.
    Hosts are known only if every page has one; if only some pages have a URL, the others get the empty URL.
    """
    if not isinstance(graph, _networkx().Graph):
        raise InputError(f"expected a networkx graph, got a {type(graph).__name__}")
    nodes = _in_page_order(list(graph.nodes))
    pages = {node: page for page, node in enumerate(nodes)}
    links = np.fromiter((pages[end] for edge in graph.edges() for end in edge), np.int64).reshape(-1, 2)
    if not graph.is_directed():
        links = np.concatenate((links, links[:, ::-1]))
    attributes = [graph.nodes[node] for node in nodes]
    return LinkGraph.from_links(len(nodes), links[:, 0], links[:, 1], _hosts(attributes), _urls(nodes, attributes))


def _networkx() -> Any:
    try:
        import networkx
    except ImportError:
        raise MissingExtraError("the bridge to networkx", "networkx", "networkx") from None
    return networkx


def _in_page_order(nodes: list[Any]) -> list[Any]:
    are_ids = all(isinstance(node, int | np.integer) and not isinstance(node, bool) for node in nodes)
    if are_ids and nodes and min(nodes) == 0 and max(nodes) == len(nodes) - 1:
        return sorted(nodes)
    return nodes


def _hosts(attributes: list[dict[str, Any]]) -> NDArray[np.int32] | None:
    numbering = HostNumbering()
    for of_node in attributes:
        host = of_node.get("host")
        numbering.add(None if host is None else str(host))
    return numbering.ids() if attributes else None


def _urls(nodes: list[Any], attributes: list[dict[str, Any]]) -> UrlTable | None:
    urls = [
        node if of_node.get("url") is None else of_node["url"] for node, of_node in zip(nodes, attributes, strict=True)
    ]
    if not any(isinstance(url, str) for url in urls):
        return None
    return UrlTable.of(url if isinstance(url, str) else "" for url in urls)
