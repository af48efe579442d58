"""The pages of a crawl with their texts and properties, for text formats.

A first pass over all pages, before they are written, finds the lines of main text by their scores and by repetition on
the host: the boilerplate of a host can only be recognised with all its pages. The lines are buffered in a temporary
file, so that memory stays bounded.
"""

from __future__ import annotations

import pickle
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

from orienteer.exports.exported_crawl import ExportedCrawl, Mask
from orienteer.extract.blocks import HEADING, Block
from orienteer.extract.boilerplate import HostBoilerplate
from orienteer.extract.page import Page
from orienteer.extract.page_fields import NO_FIELDS, PageFields
from orienteer.inspect.archived_page import ArchivedPosition, page_reading, warn_skipped
from orienteer.pages.added import Additions
from orienteer.processes.pool import Failed, in_order
from orienteer.search.page_reading import Languages, encodable
from orienteer.store.page_row import PageRow
from orienteer.url import host_of

IsMain = bytes  # 1 for each line of main text, 0 for others; empty if unknown: then all lines are used


class ScoredText(NamedTuple):
    text: str
    scores: bytes
    groups: bytes


@contextmanager
def score_reader(folder: Path) -> Iterator[Callable[[ArchivedPosition], ScoredText]]:
    """Return a function for `in_order` that reads the lines of pages and their scores."""
    with page_reading(folder, with_scores=True) as read:

        def scored(position: ArchivedPosition) -> ScoredText:
            page = read(position)
            return ScoredText(page.text, page.line_scores, page.line_groups)

        yield scored


def main_lines(crawl: ExportedCrawl, selected: Mask) -> Iterator[IsMain]:
    """Yield which lines are main text for each of these pages, in the order they were fetched."""
    boilerplate, n_pages = HostBoilerplate(), 0
    rows = ((host_of(url), crawl.archived_position(row, url)) for row, url in crawl.rows(selected, "finding main text"))
    with tempfile.TemporaryFile() as file:
        with in_order(score_reader, (crawl.archive.folder,), rows, crawl.n_processes) as read:
            for host, scored in read:
                text, scores, groups = ("", b"", b"") if isinstance(scored, Failed) else scored
                if scores:
                    boilerplate.learn(host, text.split("\n"))
                n_pages += 1
                packed = zlib.compress(encodable(text).encode(), 1) if scores else b""
                pickle.dump((host, packed, scores, groups), file)
        file.seek(0)
        for _ in range(n_pages):
            host, packed, scores, groups = pickle.load(file)
            lines = zlib.decompress(packed).decode().split("\n") if scores else []
            yield boilerplate.main_lines(host, lines, scores, groups).tobytes() if scores else b""


def main_text(text: str, headings: list[str], is_main: IsMain) -> str:
    """Return the main text with its headings; the whole text if `is_main` is unknown or of another version."""
    lines = text.split("\n")
    if len(lines) != len(is_main):
        return text
    of_headings = set(headings)
    mask = _with_headings(is_main, [line in of_headings for line in lines])
    return "\n".join(line for line, is_included in zip(lines, mask, strict=True) if is_included)


def main_blocks(blocks: list[Block], is_main: IsMain) -> list[Block]:
    """Return the blocks of the main text with its headings; an image belongs to the line before it."""
    is_heading = [block.kind == HEADING for block in blocks if block.text]
    if len(is_heading) != len(is_main):
        return blocks
    selected = iter(_with_headings(is_main, is_heading))
    included, is_included = [], False
    for block in blocks:
        if block.text:
            is_included = next(selected)
        if is_included:
            included.append(block)
    return included


def _with_headings(is_main: IsMain, is_heading: list[bool]) -> list[bool]:
    """Add the headings directly above main text to the mask."""
    mask = [bool(flag) for flag in is_main]
    for k in range(len(mask) - 2, -1, -1):
        mask[k] |= is_heading[k] and mask[k + 1]
    return mask


@dataclass(frozen=True, slots=True)
class TextPage:
    """A page; unknown values are None. Each block of the text is a line, and other white space is collapsed.

    `text` and `headings` are those of the main text (`main_lines`); `full_text`, if requested, includes the
    boilerplate.

    `fetched_at` is Unix time. `digest` is of the content, without content coding. Ranks are PageRank over the links of
    the crawl, and the estimate for the whole web; `relevance` is P(on topic). `repeats` is the URL of a page of which
    this is a duplicate or near-duplicate; `other_names` are URLs that redirect here. `tags` and `fields` come from page
    hooks.

    The fields from `description` on are metadata stated in the page (`extract/page_fields`): dates are `2025-03-01`,
    `2025-03` or `2025`; `types` are those of JSON-LD, or that of OpenGraph.
    """

    url: str
    title: str
    text: str
    language: str
    headings: list[str]
    fetched_at: float
    status: int
    content_type: str
    size_bytes: int
    digest: str | None
    n_links: int
    local_rank: float | None
    global_rank: float | None
    relevance: float | None
    repeats: str | None
    noindex: bool
    other_names: list[str]
    tags: list[str]
    fields: dict[str, Any]
    description: str | None = None
    author: str | None = None
    published: str | None = None
    changed: str | None = None
    site_name: str | None = None
    image: str | None = None
    types: list[str] = field(default_factory=list)
    full_text: str | None = None


class ExportedText(NamedTuple):
    """The text of a page, its language and its stated metadata.

    `body` is the result of the body function of a format.
    """

    title: str
    text: str
    language: str
    headings: list[str]
    fields: PageFields = NO_FIELDS
    full_text: str | None = None
    body: Any = None


Body = Callable[..., Any]  # called with a page and arguments


class ExportTask(NamedTuple):
    """A page to read for an export: its position, its known language, and the mask of its main text lines."""

    page: ArchivedPosition
    language: str
    is_main: IsMain


def text_pages(crawl: ExportedCrawl, selected: Mask, full_text: bool = False) -> Iterator[TextPage]:
    """Yield these archived pages in the order they were fetched; an unreadable page has empty texts."""
    more = (None, (), True) if full_text else ()
    for page, _ in _read(crawl, selected, main_lines(crawl, selected), (crawl.archive.folder, *more)):
        yield page


def pages_with_bodies(
    crawl: ExportedCrawl, selected: Mask, full_text: bool, body: Body, *arguments: Any
) -> Iterator[tuple[TextPage, Any | None]]:
    """Yield the pages of `text_pages`, each with the result of `body`, None for an unreadable page.

    `body` is called with the page, whose blocks are those of the main text, or all with `full_text`. It must be a
    module-level function, since it may be called in another process.
    """
    of_main = repeat(b"") if full_text else main_lines(crawl, selected)
    return _read(crawl, selected, of_main, (crawl.archive.folder, body, arguments))


def full_texts(crawl: ExportedCrawl, selected: Mask) -> Iterator[tuple[PageRow, str, str]]:
    """Yield the row, the URL and the full text of these pages, in the order they were fetched."""
    rows = (
        ((row, url), ExportTask(crawl.archived_position(row, url), row.language, b""))
        for row, url in crawl.rows(selected, "exporting texts")
    )
    with in_order(content_reader, (crawl.archive.folder,), rows, crawl.n_processes) as read:
        for (row, url), content in read:
            if isinstance(content, Failed):
                warn_skipped(url, content)
            yield row, url, "" if isinstance(content, Failed) else content.text


def _read(
    crawl: ExportedCrawl, selected: Mask, of_main: Iterator[IsMain], reading: tuple[Any, ...]
) -> Iterator[tuple[TextPage, Any | None]]:
    rows = (
        ((row, url), ExportTask(crawl.archived_position(row, url), row.language, next(of_main, b"")))
        for row, url in crawl.rows(selected, "exporting pages")
    )
    with in_order(content_reader, reading, rows, crawl.n_processes) as read:
        for (row, url), content in read:
            if isinstance(content, Failed):
                warn_skipped(url, content)
                content = ExportedText("", "", row.language, [])
            yield _text_page(crawl, row, url, content), content.body


@contextmanager
def content_reader(
    folder: Path, body: Body | None = None, arguments: tuple[Any, ...] = (), full_text: bool = False
) -> Iterator[Callable[[ExportTask], ExportedText]]:
    """Return a function for `in_order` that reads pages of the archive in this folder."""
    languages = Languages()
    with page_reading(folder, with_blocks=body is not None) as read:

        def content_of(task: ExportTask) -> ExportedText:
            page = read(task.page)
            content = _content(task, page, languages, full_text)
            page.blocks = main_blocks(page.blocks, task.is_main)
            return content if body is None else content._replace(body=body(page, *arguments))

        yield content_of


def _content(task: ExportTask, page: Page, languages: Languages, full_text: bool) -> ExportedText:
    text = main_text(page.text, page.headings, task.is_main)
    lines = set(text.split("\n"))
    return ExportedText(
        title=encodable(page.title),
        text=encodable(text),
        language=task.language or page.language or languages.of(page.text),
        headings=[encodable(heading) for heading in page.headings if heading in lines],
        fields=page.fields,
        full_text=encodable(page.text) if full_text else None,
    )


def _text_page(crawl: ExportedCrawl, row: PageRow, url: str, content: ExportedText) -> TextPage:
    added = crawl.database.details.added(row.id) or Additions()
    stated = content.fields
    return TextPage(
        url=url,
        title=content.title,
        text=content.text,
        language=content.language,
        headings=content.headings,
        fetched_at=row.time,
        status=row.status,
        content_type=row.content_type,
        size_bytes=row.size_bytes,
        digest=None if row.digest is None else f"sha1:{row.digest.hex()}",
        n_links=len(row.links) + len(row.outside),
        local_rank=crawl.local_rank(row.id),
        global_rank=crawl.global_rank(row.id),
        relevance=row.relevance,
        repeats=None if row.repeats is None else crawl.url(row.repeats),
        noindex=row.noindex,
        other_names=crawl.other_names(row.id),
        tags=list(added.tags),
        fields=added.fields,
        description=encodable(stated.description) or None,
        author=encodable(stated.author) or None,
        published=stated.published or None,
        changed=stated.changed or None,
        site_name=encodable(stated.site_name) or None,
        image=stated.image or None,
        types=list(stated.types) or ([encodable(stated.kind)] if stated.kind else []),
        full_text=content.full_text,
    )


def iso_time(unix_s: float) -> str:
    """`2026-01-31T18:05:09Z`."""
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
