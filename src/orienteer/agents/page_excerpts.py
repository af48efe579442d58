"""Pages of a crawl by the URL that an agent gives, as Markdown, in excerpts of limited length.

A cursor has the position of the next excerpt and a digest of the text: if the page has changed since, it is invalid.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from orienteer.errors import CrawlFolderError, InputError
from orienteer.exports.markdown import markdown_body
from orienteer.exports.page_texts import main_blocks
from orienteer.extract.boilerplate import HostBoilerplate
from orienteer.extract.documents.document import UnreadableDocumentError
from orienteer.inspect.archived_page import ArchivedPosition, archived_page
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.store.database import DatabaseView
from orienteer.store.folder_view import FolderView
from orienteer.store.page_row import PageRow
from orienteer.url import canonical_url, host_of
from orienteer.wording import plain

_OTHER = {"http": "https", "https": "http"}
MIN_CHARS, MAX_CHARS = 200, 20_000
_MAX_HOPS = 20


def found_page(database: DatabaseView, text: str) -> int:
    """Return the page of a URL, which need not be canonical; an InputError if the crawl has not discovered it."""
    url = canonical_url(text if "://" in text else f"https://{text}")
    if url is None:
        raise InputError(f"{plain(text, 100)!r} is not a valid URL; write it like https://example.org/")
    scheme, _, address = url.partition("://")
    candidates = [url, f"{_OTHER.get(scheme, scheme)}://{address}"]
    found = database.urls.find_all(candidates)
    for candidate in candidates:
        if candidate in found:
            return found[candidate]
    raise InputError(f"{plain(url, 300)}: the crawl has never seen this URL")


class PageExcerpt(NamedTuple):
    """An excerpt of a page's Markdown. `cursor` continues after it, None at the end. `requested_url` differs from `url`
    if it is another name of the page."""

    url: str
    requested_url: str
    title: str
    fetched_at: float
    content_type: str
    language: str
    text: str
    start: int
    n_chars: int
    cursor: str | None


def page_excerpt(folder: FolderView, url: str, cursor: str | None, max_chars: int, whole: bool) -> PageExcerpt:
    """Return the excerpt that begins at the cursor, by default the first one; `whole` includes boilerplate."""
    if not MIN_CHARS <= max_chars <= MAX_CHARS:
        raise InputError(f"max_chars is {max_chars}; it must be from {MIN_CHARS} to {MAX_CHARS:,}")
    requested_url, row = _row(folder, url)
    name = folder.database.urls.of(row.id)
    page, text = _markdown(folder, row, name, whole)
    mark = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]
    start = _start(cursor, mark, len(text))
    end = _end(text, start, max_chars)
    return PageExcerpt(
        url=name,
        requested_url=requested_url,
        title=plain(page, 300),
        fetched_at=row.time,
        content_type=row.content_type,
        language=row.language,
        text=text[start:end],
        start=start,
        n_chars=len(text),
        cursor=f"{end}-{mark}" if end < len(text) else None,
    )


def _row(folder: FolderView, url: str) -> tuple[str, PageRow]:
    """Return the requested URL and the page that it leads to; an InputError if the page has no text."""
    database = folder.database
    page = found_page(database, url)
    requested_url = database.urls.of(page)
    row = database.pages.row(page)
    for _ in range(_MAX_HOPS):
        if row is None or row.redirect_to is None:
            break
        row = database.pages.row(row.redirect_to)
    if row is None:
        raise InputError(f"{plain(requested_url, 300)}: the crawl has discovered this page, but not fetched it")
    if row.state != PageState.FETCHED or row.outcome != Outcome.OK:
        state = PageState(row.state).name.lower()
        raise InputError(f"{plain(requested_url, 300)}: it has no text: {state} ({plain(row.outcome, 60)})")
    if row.archived is None:
        raise InputError(f"{plain(requested_url, 300)}: it is not in the archive, so it has no text")
    return requested_url, row


def _markdown(folder: FolderView, row: PageRow, url: str, whole: bool) -> tuple[str, str]:
    """Return the title and the Markdown of a page."""
    assert row.archived is not None
    rendered = folder.database.rendered.row(row.id)
    wanted = ArchivedPosition(row.archived, row.content_type, url, None if rendered is None else rendered.dom)
    try:
        page = archived_page(folder.archive, wanted, with_blocks=True, with_scores=not whole)
    except UnreadableDocumentError as error:
        raise CrawlFolderError(f"{plain(url, 300)}: the document cannot be read: {error}") from None
    if not whole and page.line_scores:
        lines = page.text.split("\n")
        is_main = HostBoilerplate().main_lines(host_of(url), lines, page.line_scores, page.line_groups)
        if is_main.any():
            page.blocks = main_blocks(page.blocks, is_main.tobytes())
    return page.title, markdown_body(page)


def _start(cursor: str | None, mark: str, n_chars: int) -> int:
    if not cursor:
        return 0
    position, _, of = cursor.partition("-")
    if not position.isdecimal() or len(position) > 12 or not of:
        raise InputError(f"{plain(cursor, 60)!r} is not a cursor; use the one of the previous part, or none to begin")
    if of != mark or int(position) > n_chars:
        raise InputError("the cursor is of another page, or the page has changed; begin again without a cursor")
    return int(position)


def _end(text: str, start: int, max_chars: int) -> int:
    """Return the end of an excerpt: after a paragraph that ends in its second half, else after a line or a word."""
    end = start + max_chars
    if end >= len(text):
        return len(text)
    for separator in ("\n\n", "\n", " "):
        position = text.rfind(separator, start + max_chars // 2, end)
        if position > start:
            return position + len(separator)
    return end
