"""The graph named on the command line, and pages of it as people name them: by id, or by URL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from orienteer.errors import InputError

if TYPE_CHECKING:
    from orienteer.graph.link_graph import LinkGraph
    from orienteer.progress import Progress


def loaded_graph(path: Path, format: str | None, progress: Progress) -> LinkGraph:
    """The graph of a file or a folder, be it a graph folder or a crawl's."""
    from orienteer.crawl.snapshot import graph_of_crawl, is_crawl_folder
    from orienteer.graph.link_graph import LinkGraph

    if format is None and is_crawl_folder(path):
        return graph_of_crawl(path)
    return LinkGraph.load(path, format, progress=progress)


def loaded_web(path: Path, format: str | None, progress: Progress) -> LinkGraph:
    """The graph, with the hosts that its URLs tell where it has none of its own."""
    from orienteer.graph.hosts import with_hosts

    web = loaded_graph(path, format, progress)
    return with_hosts(web) if web.hosts is None and web.urls is not None else web


def page_named(web: LinkGraph, text: str) -> int:
    """The page of this id or URL; a URL need not be written canonically."""
    if is_number(text):
        page = int(text)
        if page >= web.n_pages:
            raise InputError(f"page {page} is not in the graph (pages are 0 to {web.n_pages - 1})")
        return page
    if web.urls is None:
        raise InputError(f"{text!r} is no page id, and the graph has no URLs to look it up in")
    found = web.urls.find(text)
    if found is None:
        from orienteer.url import canonical_url

        canonical = canonical_url(text)
        found = web.urls.find(canonical) if canonical else None
    if found is None:
        raise InputError(f"no page of the graph has the URL {text!r}")
    return found


def url_of(web: LinkGraph, page: int) -> str | None:
    return None if web.urls is None else web.urls[page]


def is_number(text: str) -> bool:
    """Whether the text is a page id or a count; other digits than ASCII's are not."""
    return text.isascii() and text.isdigit()
