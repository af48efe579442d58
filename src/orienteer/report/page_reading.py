"""Read from archived pages what the database lacks: texts of links, descriptions, insecure assets, response times.

Pages are read in order, by several processes if there are many. Texts of links are read only on pages with findings,
since this doubles the time for a page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.assets import asset_urls
from orienteer.extract.page import Page, extract_page
from orienteer.inspect.archived_page import MAX_BYTES, ArchivedPosition, archive_to_read, archived_page, warn_skipped
from orienteer.processes.pool import Failed, in_order
from orienteer.progress import Progress
from orienteer.responses.body import BodyError, unpacked
from orienteer.responses.headers import Headers
from orienteer.responses.reading import is_html
from orienteer.responses.response import charset_in
from orienteer.store.archive import Archive
from orienteer.store.database import DatabaseView

_STAGE = "reading the archive"
_MAX_TEXTS = 3  # of links to one address on one page
_MAX_ASSETS = 5


class LinkSearch(NamedTuple):
    """A page in the archive, and the URLs whose link texts are needed."""

    page: ArchivedPosition
    linked: tuple[str, ...]


class PageReport(NamedTuple):
    """The facts of a page. `words` are texts of links by URL; `insecure` are some of the assets loaded by http."""

    words: dict[str, str]
    has_description: bool
    insecure: tuple[str, ...]
    n_insecure: int
    duration_s: float | None


def pages_read(
    database: DatabaseView,
    folder: Path,
    is_selected: NDArray[np.bool_],
    linked: Mapping[int, tuple[str, ...]],
    processes: int | None,
    progress: Progress,
) -> Iterator[tuple[int, PageReport]]:
    """Read the selected pages, and those with links to find, in the order of fetching. `folder` is that of the archive.

    Unreadable pages are skipped with a warning.
    """
    rendered = database.rendered.documents()
    n_done, n_all = 0, int(is_selected.sum())

    def to_read() -> Iterator[tuple[tuple[int, str], LinkSearch]]:
        for rows in database.pages.readable():
            for row in rows:
                place = row.archived
                if place is not None and (row.id in linked or (is_selected[row.id] and is_html(row.content_type))):
                    url = database.urls.of(row.id)
                    page = ArchivedPosition(place, row.content_type, url, rendered.get(row.id))
                    yield (row.id, url), LinkSearch(page, linked.get(row.id, ()))

    with in_order(_reading, (folder,), to_read(), processes) as read:
        for (page, url), found in read:
            n_done += 1
            progress(_STAGE, min(n_done, n_all), n_all)
            if isinstance(found, Failed):
                warn_skipped(url, found)
            else:
                yield page, found


@contextmanager
def _reading(folder: Path) -> Iterator[Callable[[LinkSearch], PageReport]]:
    """Open the archive in this folder, and yield the function that reads a page; for `in_order`."""
    archive = archive_to_read(folder)
    try:
        yield lambda search: _read(archive, search)
    finally:
        archive.close()


def _read(archive: Archive, search: LinkSearch) -> PageReport:
    page = search.page
    archived = archive.read(page.location)
    headers = Headers(archived.headers)
    try:
        body = unpacked(archived.body, headers.get_all("content-encoding"), MAX_BYTES)
    except BodyError:
        body = b""
    charset = charset_in(headers)
    if page.rendered is not None or not is_html(page.content_type):
        content = archived_page(archive, page)
    else:
        refresh = headers.get("refresh") or ""
        content = extract_page(body, page.url, charset, with_text=bool(search.linked), refresh_header=refresh)
    insecure: list[str] = []
    if page.url.startswith("https:") and is_html(page.content_type):
        found = asset_urls(body, page.url, page.content_type or "text/html", charset)
        insecure = [asset for asset in found if asset.startswith("http:")]
    return PageReport(
        _words(content, search.linked), bool(content.description.strip()), tuple(insecure[:_MAX_ASSETS]), len(insecure),
        archived.duration_s,
    )  # fmt: skip


def _words(page: Page, linked: tuple[str, ...]) -> dict[str, str]:
    """Return the texts of the links to these URLs; "" for a link without text."""
    words: dict[str, dict[str, None]] = {url: {} for url in linked}
    for url, text in page.anchors:
        if text and url in words and len(words[url]) < _MAX_TEXTS:
            words[url][text] = None
    return {url: " / ".join(found) for url, found in words.items()}
