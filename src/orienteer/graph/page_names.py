"""Look up pages by id or URL, as given on the command line and in files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from orienteer.errors import InputError, OrienteerError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from orienteer.graph.link_graph import LinkGraph


def page_named(web: LinkGraph, text: str) -> int:
    """Return the page with this id or URL; the URL need not be canonical."""
    if is_number(text):
        page = int(text)
        if page >= web.n_pages:
            raise InputError(f"page {page} is not in the graph (pages are 0 to {web.n_pages - 1})")
        return page
    if web.urls is None:
        raise InputError(f"{text!r} is not a page id, and the graph has no URLs to look it up in")
    found = web.urls.find(text)
    if found is None:
        from orienteer.url import canonical_url

        canonical = canonical_url(text)
        found = web.urls.find(canonical) if canonical else None
    if found is None:
        raise InputError(f"no page of the graph has the URL {text!r}")
    return found


def pages_in_file(web: LinkGraph, path: Path) -> NDArray[np.bool_]:
    """Return a mask of the pages listed in a text file, one per line (.gz and .zst are decompressed).

    Lines that start with # and text after a tab are ignored: the order of a crawl has both id and URL.
    """
    import numpy as np

    from orienteer.files.compressed import text_of

    is_named = np.zeros(web.n_pages, np.bool_)
    for number, line in enumerate(text_of(path, str(path), "no such file of pages").splitlines(), 1):
        name = line.strip().partition("\t")[0]
        if not name or name.startswith("#"):
            continue
        try:
            is_named[page_named(web, name)] = True
        except OrienteerError as error:
            raise InputError(f"{path}, line {number}: {error}") from None
    return is_named


def is_number(text: str) -> bool:
    """Return whether the text is a non-negative integer in ASCII digits."""
    return text.isascii() and text.isdigit()
