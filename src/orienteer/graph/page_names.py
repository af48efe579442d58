"""Pages as people name them: by id, or by URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orienteer.errors import InputError

if TYPE_CHECKING:
    from orienteer.graph.link_graph import LinkGraph


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


def is_number(text: str) -> bool:
    """Whether the text is a page id or a count; other digits than ASCII's are not."""
    return text.isascii() and text.isdigit()
