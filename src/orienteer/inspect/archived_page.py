"""Read pages from the archive of their crawl, in this process, or in several that each open the archive.

A page that kills its readers, and a document that cannot be read, is skipped, with a warning in one line.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from orienteer.errors import SkippedPageWarning
from orienteer.extract.blocks import blocks_of_text
from orienteer.extract.page import MAX_TEXT_CHARS, Page
from orienteer.processes.pool import Failed
from orienteer.responses.body import BodyError, unpacked
from orienteer.responses.headers import Headers
from orienteer.responses.reading import read_page
from orienteer.responses.rendered import page_as_rendered, rendered_document_of
from orienteer.responses.response import charset_in
from orienteer.store.archive import Archive, Position

MAX_BYTES = 64 << 20  # more than any crawl archives of a page


class ArchivedPosition(NamedTuple):
    """The location of a page in the archive, and what is needed to read it."""

    location: Position
    content_type: str
    url: str
    rendered: Position | None = None  # of the document that a browser rendered


def archive_to_read(folder: Path) -> Archive:
    """Open the archive in a folder for reading at known locations, in any process."""
    return Archive(folder, read_only=True)


@contextmanager
def page_reading(
    folder: Path, with_blocks: bool = False, with_scores: bool = False
) -> Iterator[Callable[[ArchivedPosition], Page]]:
    """Yield a reader of pages for `in_order`; with scores, it also marks which lines are main text."""
    with closing(archive_to_read(folder)) as archive:
        yield lambda page: archived_page(archive, page, with_blocks, with_scores)


def warn_skipped(url: str, failed: Failed) -> None:
    what = "the processes that read it crashed" if failed.died else "it cannot be read"
    warnings.warn(f"{url}: skipped, since {what} ({failed.why})", SkippedPageWarning, 2)


def archived_page(
    archive: Archive, page: ArchivedPosition, with_blocks: bool = False, with_scores: bool = False
) -> Page:
    """Read a page with its fields; an empty one where its content cannot be unpacked.

    A document may be unreadable (see `extract`).
    """
    if page.rendered is None:
        return _read_response(archive, page, with_blocks, with_scores)
    sent = _read_response(archive, page, False, False)
    _, rendered = archive.read_resource(page.rendered)
    if rendered.content_type.startswith("text/plain"):  # from other crawlers, which stored the text only
        text = rendered.body.decode("utf-8", "replace")[:MAX_TEXT_CHARS]
        return replace(sent, text=text, blocks=blocks_of_text(text) if with_blocks else [])
    document = rendered_document_of(rendered.body, page.url)
    how = {"with_fields": True, "with_blocks": with_blocks, "with_scores": with_scores}
    return page_as_rendered(sent, document, page.url, **how) if document.document else sent


def _read_response(archive: Archive, page: ArchivedPosition, with_blocks: bool, with_scores: bool) -> Page:
    archived = archive.read(page.location)
    headers = Headers(archived.headers)
    try:
        content = unpacked(archived.body, headers.get_all("content-encoding"), MAX_BYTES)
    except BodyError:
        content = b""
    return read_page(
        content, page.url, page.content_type, charset_in(headers), with_fields=True,
        last_modified=headers.get("last-modified") or "", with_blocks=with_blocks, with_scores=with_scores,
    )  # fmt: skip
