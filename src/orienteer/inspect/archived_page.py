"""A page as it stands in the archive of its crawl, read: here, or by several processes that open the archive each.

What no process survives to read, and a document that cannot be read, is skipped, with a warning in one line.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from orienteer.answers.answer import charset_in
from orienteer.answers.body import BodyError, unpacked
from orienteer.answers.headers import Headers
from orienteer.answers.reading import read_page
from orienteer.answers.shown import shown_of
from orienteer.answers.shown_reading import page_as_shown
from orienteer.errors import SkippedPageWarning
from orienteer.extract.blocks import blocks_of_text
from orienteer.extract.page import MAX_TEXT_CHARS, Page
from orienteer.processes.pool import Failed
from orienteer.store.archive import Archive, Position

MAX_BYTES = 64 << 20  # more than any crawl keeps of a page


class Archived(NamedTuple):
    """Where a page stands, and what one must know to read it."""

    place: Position
    content_type: str
    url: str
    shown: Position | None = None  # where the document stands that a browser has shown


def archive_to_read(folder: Path) -> Archive:
    """The archive in a folder, in whatever process; what is in it is known by its places."""
    return Archive(folder, read_only=True)


@contextmanager
def page_reading(
    folder: Path, with_blocks: bool = False, with_scores: bool = False
) -> Iterator[Callable[[Archived], Page]]:
    """For `in_order`: what pages of the archive in this folder say; with scores, which lines of it are main text."""
    with closing(archive_to_read(folder)) as archive:
        yield lambda page: archived_page(archive, page, with_blocks, with_scores)


def warn_skipped(url: str, failed: Failed) -> None:
    what = "the processes that read it died" if failed.died else "it cannot be read"
    warnings.warn(f"{url}: skipped, since {what} ({failed.why})", SkippedPageWarning, 2)


def archived_page(archive: Archive, page: Archived, with_blocks: bool = False, with_scores: bool = False) -> Page:
    """What a page says, with its fields; nothing where its content cannot be unpacked.

    A document may be unreadable (see `extract`).
    """
    if page.shown is None:
        return _as_sent(archive, page, with_blocks, with_scores)
    sent = _as_sent(archive, page, False, False)
    _, shown = archive.read_resource(page.shown)
    if shown.content_type.startswith("text/plain"):  # by others, who kept no more
        text = shown.body.decode("utf-8", "replace")[:MAX_TEXT_CHARS]
        return replace(sent, text=text, blocks=blocks_of_text(text) if with_blocks else [])
    found = shown_of(shown.body, page.url)
    how = {"with_fields": True, "with_blocks": with_blocks, "with_scores": with_scores}
    return page_as_shown(sent, found, page.url, **how) if found.document else sent


def _as_sent(archive: Archive, page: Archived, with_blocks: bool, with_scores: bool) -> Page:
    archived = archive.read(page.place)
    headers = Headers(archived.headers)
    try:
        content = unpacked(archived.body, headers.get_all("content-encoding"), MAX_BYTES)
    except BodyError:
        content = b""
    return read_page(
        content, page.url, page.content_type, charset_in(headers), with_fields=True,
        last_modified=headers.get("last-modified") or "", with_blocks=with_blocks, with_scores=with_scores,
    )  # fmt: skip
