"""A page of a crawl as Markdown, part by part.

A cursor names where the next part begins, and which text it is of: a page that was archived anew begins again.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from orienteer.agents.known_page import found_page
from orienteer.errors import CrawlFolderError, InputError
from orienteer.exports.main_lines import kept_blocks
from orienteer.exports.markdown import markdown_body
from orienteer.extract.documents.document import UnreadableDocumentError
from orienteer.extract.furniture import Furniture
from orienteer.inspect.archived_page import Archived, archived_page
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.store.folder_view import FolderView
from orienteer.store.page_row import PageRow
from orienteer.url import host_of
from orienteer.wording import plain

MIN_CHARS, MAX_CHARS = 200, 20_000
_MAX_HOPS = 20


class PagePart(NamedTuple):
    """Some of the Markdown of a page. `cursor` is where to read on, None at the end. `asked` is the URL that was asked
    for, where that is another name of the page."""

    url: str
    asked: str
    title: str
    fetched_at: float
    content_type: str
    language: str
    text: str
    start: int
    n_chars: int
    cursor: str | None


def page_part(folder: FolderView, url: str, cursor: str | None, max_chars: int, whole: bool) -> PagePart:
    """The part of a page that begins at the cursor; the first one without. `whole` is with menus and the like."""
    if not MIN_CHARS <= max_chars <= MAX_CHARS:
        raise InputError(f"max_chars is {max_chars}; it must be from {MIN_CHARS} to {MAX_CHARS:,}")
    asked, row = _row(folder, url)
    name = folder.database.url(row.id)
    page, text = _markdown(folder, row, name, whole)
    mark = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]
    start = _start(cursor, mark, len(text))
    end = _end(text, start, max_chars)
    return PagePart(
        url=name,
        asked=asked,
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
    """The URL that was asked for, and the page it leads to; one line where there is no text of it."""
    database = folder.database
    page = found_page(database, url)
    asked = database.url(page)
    row = database.page(page)
    for _ in range(_MAX_HOPS):
        if row is None or row.redirect_to is None:
            break
        row = database.page(row.redirect_to)
    if row is None:
        raise InputError(f"{plain(asked, 300)}: the crawl knows this page, but has not fetched it")
    if row.state != PageState.FETCHED or row.outcome != Outcome.OK:
        state = PageState(row.state).name.lower()
        raise InputError(f"{plain(asked, 300)}: there is no text of it: {state} ({plain(row.outcome, 60)})")
    if row.archived is None:
        raise InputError(f"{plain(asked, 300)}: it is not in the archive, so there is no text of it")
    return asked, row


def _markdown(folder: FolderView, row: PageRow, url: str, whole: bool) -> tuple[str, str]:
    """Title and text."""
    assert row.archived is not None
    rendered = folder.database.rendered_page(row.id)
    wanted = Archived(row.archived, row.content_type, url, None if rendered is None else rendered.dom)
    try:
        page = archived_page(folder.archive, wanted, with_blocks=True, with_scores=not whole)
    except UnreadableDocumentError as error:
        raise CrawlFolderError(f"{plain(url, 300)}: the document cannot be read: {error}") from None
    if not whole and page.line_scores:
        lines = page.text.split("\n")
        is_main = Furniture().main_lines(host_of(url), lines, page.line_scores)
        if is_main.any():
            page.blocks = kept_blocks(page.blocks, is_main.tobytes())
    return page.title, markdown_body(page)


def _start(cursor: str | None, mark: str, n_chars: int) -> int:
    if not cursor:
        return 0
    place, _, of = cursor.partition("-")
    if not place.isdecimal() or len(place) > 12 or not of:
        raise InputError(f"{plain(cursor, 60)!r} is no cursor; take the one of the part before, or none to begin")
    if of != mark or int(place) > n_chars:
        raise InputError("the page is another one than that of the cursor; begin again without a cursor")
    return int(place)


def _end(text: str, start: int, max_chars: int) -> int:
    """Where a part ends: behind a paragraph if there is one in its second half, else behind a line or a word."""
    end = start + max_chars
    if end >= len(text):
        return len(text)
    for separator in ("\n\n", "\n", " "):
        place = text.rfind(separator, start + max_chars // 2, end)
        if place > start:
            return place + len(separator)
    return end
