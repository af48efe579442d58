"""Read pages from the archive of their crawl, in this process, or in several that each open the archive.

A page that kills its readers, and a document that cannot be read, is skipped, with a warning in one line.

An asset of a page (image, style, font, frame) is archived if the response was 2xx. A response such as 404 is archived,
too, but it is no asset.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from orienteer.errors import SkippedPageWarning
from orienteer.extract.assets import asset_urls
from orienteer.extract.blocks import blocks_of_text
from orienteer.extract.page import MAX_TEXT_CHARS, Page
from orienteer.inspect.captures import ArchivedContent, ArchivedTime, Captures
from orienteer.pages.outcome import Outcome
from orienteer.processes.pool import Failed
from orienteer.responses.reading import read_page
from orienteer.responses.rendered import page_as_rendered, rendered_document_of
from orienteer.responses.response import charset_in, location_of
from orienteer.store.archive import Archive, Position
from orienteer.store.database import DatabaseView
from orienteer.wording import plain

MAX_BYTES = 64 << 20  # more than any crawl archives of a page
MAX_ASSETS = 2_000  # of one page
NOT_FETCHED = "not fetched"
NOT_ARCHIVED = "its server asks not to archive it"
PENDING = "still to be fetched"

_MAX_REDIRECTS = 5
_MAX_REASON_CHARS = 60
_STYLE = "text/css"


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
    headers = archived.headers
    return read_page(
        archived.content(MAX_BYTES), page.url, page.content_type, charset_in(headers), with_fields=True,
        last_modified=headers.get("last-modified") or "", with_blocks=with_blocks, with_scores=with_scores,
    )  # fmt: skip


@dataclass(frozen=True)
class ArchivedAsset:
    """`time` and `status` are those of the archived response, null and 0 if there is none. `reason` says why the
    archive lacks the asset (`http 404`, `timed out`, `robots.txt`, `too large`, `not fetched`); empty if it has it."""

    url: str
    time: float | None
    status: int
    reason: str


def is_archived(status: int) -> bool:
    """Whether a response with this status is the asset."""
    return 200 <= status < 300


def missing_reason(database: DatabaseView, url: str, status: int) -> str:
    """Return why an asset is not archived; `status` is that of the archived response, 0 if there is none.

    >>> missing_reason(None, "http://example.org/a.css", 404)
    'http 404'
    """
    if status:
        return f"http {status}"
    asset = database.assets.last_finished(url) or database.assets.latest(url)
    if asset is None:
        number = database.urls.find(url)
        page = None if number is None else database.pages.row(number)
        return NOT_FETCHED if page is None else plain(page.outcome, _MAX_REASON_CHARS)
    if asset.outcome in (Outcome.OK, Outcome.REDIRECT):
        return NOT_ARCHIVED if asset.archived is None else Outcome.TOO_MANY_REDIRECTS
    return plain(asset.outcome, _MAX_REASON_CHARS) or PENDING


def missing_reasons(database: DatabaseView, missing: Mapping[str, int]) -> dict[str, str]:
    """Return the reasons of several assets by URL, given their statuses."""
    return {url: missing_reason(database, url, status) for url, status in missing.items()}


def assets_of(captures: Captures, database: DatabaseView, page: ArchivedTime) -> list[ArchivedAsset]:
    """Return the assets of an archived page and of its styles, each as archived closest to it in time."""
    content = captures.content(page.dom or page.capture)
    assets: dict[str, ArchivedAsset] = {}
    queue = deque([] if content is None else _assets_in(content))
    while queue and len(assets) < MAX_ASSETS:
        url = queue.popleft()
        if url in assets:
            continue
        final_url, response = _response(captures, url, page.time)
        if response is None or not is_archived(response.status):
            status = 0 if response is None else response.status
            time = None if response is None else response.time
            assets[url] = ArchivedAsset(url, time, status, missing_reason(database, final_url, status))
            continue
        assets[url] = ArchivedAsset(url, response.time, response.status, "")
        if response.type == _STYLE:
            queue.extend(_assets_in(response))
    return list(assets.values())


def _assets_in(content: ArchivedContent) -> list[str]:
    return asset_urls(content.content, content.url, content.type, content.charset)


def _response(captures: Captures, url: str, time: float) -> tuple[str, ArchivedContent | None]:
    """Return the response of a URL archived closest to a time, following redirects, and the URL they end at."""
    for _ in range(_MAX_REDIRECTS + 1):
        row = captures.nearest(url, time)
        content = None if row is None else captures.content(row)
        target = None if content is None else location_of(content.status, content.headers, content.url)
        if target is None:
            return url, content
        url = target
    return url, None
