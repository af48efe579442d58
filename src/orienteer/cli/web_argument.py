"""The graph named on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orienteer.graph.link_graph import LinkGraph
    from orienteer.progress import Progress


def loaded_web(path: Path, format: str | None, progress: Progress) -> LinkGraph:
    """Load the graph of a file, a folder or a crawl; hosts come from its URLs if it has none of its own."""
    from orienteer.graph.link_graph import LinkGraph

    return hosted(LinkGraph.load(path, format, progress=progress))


def hosted(web: LinkGraph) -> LinkGraph:
    """Return the graph with hosts from its URLs, if it has none of its own."""
    from orienteer.graph.hosts import with_hosts

    return with_hosts(web) if web.hosts is None and web.urls is not None else web


def url_of(web: LinkGraph, page: int) -> str | None:
    return None if web.urls is None else web.urls[page]
