"""What only the pages themselves tell: the words of links, descriptions, parts by http, how long the server took.

Pages are read from the archive one after the other, by several processes where there are many. Only of pages with
findings the words are read, which takes twice the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.answers.answer import charset_in
from orienteer.answers.body import BodyError, unpacked
from orienteer.answers.headers import Headers
from orienteer.answers.reading import is_html
from orienteer.extract.page import Page, extract_page
from orienteer.extract.requisites import requisites_of
from orienteer.inspect.archived_page import MAX_BYTES, Archived, archive_to_read, archived_page, warn_skipped
from orienteer.processes.ordered import in_order
from orienteer.processes.pool import Failed
from orienteer.progress import Progress
from orienteer.store.archive import Archive
from orienteer.store.database_view import DatabaseView

_STAGE = "looking at the pages"
_WORDS_KEPT = 3  # of links to one address on one page
_PARTS_KEPT = 5


class ToRead(NamedTuple):
    """A page in the archive, and the addresses whose links on it are looked for."""

    page: Archived
    linked: tuple[str, ...]


class Read(NamedTuple):
    """What a page tells. `words` are by the address that they lead to; `parts` are loaded by http, a few of them."""

    words: dict[str, str]
    has_description: bool
    parts: tuple[str, ...]
    n_parts: int
    duration_s: float | None


def pages_read(
    database: DatabaseView,
    folder: Path,
    wanted: NDArray[np.bool_],
    linked: Mapping[int, tuple[str, ...]],
    processes: int | None,
    progress: Progress,
) -> Iterator[tuple[int, Read]]:
    """These pages, and those with links to look for, in the order they were fetched; `folder` is that of the archive.

    What cannot be read is skipped, with a warning.
    """
    shown = database.documents_shown()
    n_done, n_all = 0, int(wanted.sum())

    def to_read() -> Iterator[tuple[tuple[int, str], ToRead]]:
        for rows in database.readable_pages():
            for row in rows:
                place = row.archived
                if place is not None and (row.id in linked or (wanted[row.id] and is_html(row.content_type))):
                    url = database.url(row.id)
                    page = Archived(place, row.content_type, url, shown.get(row.id))
                    yield (row.id, url), ToRead(page, linked.get(row.id, ()))

    with in_order(_reading, (folder,), to_read(), processes) as read:
        for (page, url), found in read:
            n_done += 1
            progress(_STAGE, min(n_done, n_all), n_all)
            if isinstance(found, Failed):
                warn_skipped(url, found)
            else:
                yield page, found


@contextmanager
def _reading(folder: Path) -> Iterator[Callable[[ToRead], Read]]:
    """For `in_order`: pages of the archive in this folder, read for a report."""
    archive = archive_to_read(folder)
    try:
        yield lambda wanted: _read(archive, wanted)
    finally:
        archive.close()


def _read(archive: Archive, wanted: ToRead) -> Read:
    page = wanted.page
    archived = archive.read(page.place)
    headers = Headers(archived.headers)
    try:
        content = unpacked(archived.body, headers.get_all("content-encoding"), MAX_BYTES)
    except BodyError:
        content = b""
    charset = charset_in(headers)
    if page.shown is not None or not is_html(page.content_type):
        said = archived_page(archive, page)
    else:
        refresh = headers.get("refresh") or ""
        said = extract_page(content, page.url, charset, with_text=bool(wanted.linked), refresh_header=refresh)
    parts: list[str] = []
    if page.url.startswith("https:") and is_html(page.content_type):
        found = requisites_of(content, page.url, page.content_type or "text/html", charset)
        parts = [part for part in found if part.startswith("http:")]
    return Read(
        _words(said, wanted.linked), bool(said.description.strip()), tuple(parts[:_PARTS_KEPT]), len(parts),
        archived.duration_s,
    )  # fmt: skip


def _words(page: Page, linked: tuple[str, ...]) -> dict[str, str]:
    """The words of the links to these addresses; "" for a link without words."""
    words: dict[str, dict[str, None]] = {url: {} for url in linked}
    for url, text in page.anchors:
        if text and url in words and len(words[url]) < _WORDS_KEPT:
            words[url][text] = None
    return {url: " / ".join(found) for url, found in words.items()}
