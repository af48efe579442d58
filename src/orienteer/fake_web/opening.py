"""Open a site by its path: a link graph in any format, or real pages in a folder or an archive."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from orienteer.fake_web.graph_site import GraphSite
from orienteer.fake_web.page_site import ARCHIVE_ENDINGS, PageSite
from orienteer.graph.link_graph import LinkGraph


def site_at(path: str | PathLike[str]) -> GraphSite | PageSite:
    """Open real pages if the path is an archive, or a folder that is no graph folder; else a graph."""
    path = Path(path)
    is_pages = path.name.lower().endswith(ARCHIVE_ENDINGS) or (path.is_dir() and not (path / "graph.json").is_file())
    return PageSite(path) if is_pages else graph_site_at(path)


def graph_site_at(path: str | PathLike[str], **settings: Any) -> GraphSite:
    """Open the graph in a file or folder."""
    return GraphSite(LinkGraph.load(path), **settings)
