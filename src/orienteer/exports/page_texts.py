"""The pages of a crawl as texts: what they say, and what is known of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

from orienteer.exports.exported_crawl import ExportedCrawl, Mask
from orienteer.exports.main_lines import IsMain, kept_blocks, kept_text, main_lines
from orienteer.extract.page import Page
from orienteer.extract.page_fields import NO_FIELDS, PageFields
from orienteer.inspect.archived_page import Archived, page_reading, warn_skipped
from orienteer.pages.added import Additions
from orienteer.processes.ordered import in_order
from orienteer.processes.pool import Failed
from orienteer.search.page_reading import Languages, encodable
from orienteer.store.page_row import PageRow


@dataclass(frozen=True, slots=True)
class TextPage:
    """A page; what is not known is None. Blocks of the text end lines, white space is collapsed otherwise.

    `text` and `headings` are those of the main text (`main_lines`); `full_text`, where it was asked for, is all that
    stands on the page.

    `fetched_at` is Unix time. `digest` is of the content, without content coding. Ranks are PageRank over the links of
    the crawl, and the estimate for the whole web; `relevance` is that to the topic of the crawl. `repeats` is another
    page that says the same, or nearly; `other_names` are URLs that redirect here. `tags` and `fields` are what page
    hooks added.

    From `description` on, it is what the page says of itself (`extract/page_fields`): dates are `2025-03-01`, `2025-03`
    or `2025`; `types` are those of JSON-LD, or that of OpenGraph.
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


class Content(NamedTuple):
    """What a page says, and in which language as far as the page itself tells it.

    `body` is what a format makes of the page where it is read.
    """

    title: str
    text: str
    language: str
    headings: list[str]
    fields: PageFields = NO_FIELDS
    full_text: str | None = None
    body: Any = None


Body = Callable[..., Any]  # of a page, and arguments


class ToWrite(NamedTuple):
    """A page that is to be read again, what is known of its language, and which of its lines are main text."""

    page: Archived
    language: str
    is_main: IsMain


def text_pages(crawl: ExportedCrawl, wanted: Mask, full_text: bool = False) -> Iterator[TextPage]:
    """These pages, which must be archived, in the order they were fetched. What cannot be read says nothing."""
    more = (None, (), True) if full_text else ()
    for page, _ in _read(crawl, wanted, main_lines(crawl, wanted), (crawl.archive.folder, *more)):
        yield page


def pages_with_bodies(
    crawl: ExportedCrawl, wanted: Mask, full_text: bool, body: Body, *arguments: Any
) -> Iterator[tuple[TextPage, Any | None]]:
    """The same, with what `body` makes of each page with its blocks, or None of one that cannot be read.

    The blocks are those of the main text, or all of them for the full text.
    It is a function of a module, and is called where the page is read, maybe in another process.
    """
    of_main = repeat(b"") if full_text else main_lines(crawl, wanted)
    return _read(crawl, wanted, of_main, (crawl.archive.folder, body, arguments))


def whole_texts(crawl: ExportedCrawl, wanted: Mask) -> Iterator[tuple[PageRow, str, str]]:
    """These pages in the same order: what is known of each, its URL, and all that stands on it."""
    rows = (
        ((row, url), ToWrite(crawl.to_read(row, url), row.language, b""))
        for row, url in crawl.rows(wanted, "exporting texts")
    )
    with in_order(content_reading, (crawl.archive.folder,), rows, crawl.n_processes) as read:
        for (row, url), content in read:
            if isinstance(content, Failed):
                warn_skipped(url, content)
            yield row, url, "" if isinstance(content, Failed) else content.text


def _read(
    crawl: ExportedCrawl, wanted: Mask, of_main: Iterator[IsMain], reading: tuple[Any, ...]
) -> Iterator[tuple[TextPage, Any | None]]:
    rows = (
        ((row, url), ToWrite(crawl.to_read(row, url), row.language, next(of_main, b"")))
        for row, url in crawl.rows(wanted, "exporting pages")
    )
    with in_order(content_reading, reading, rows, crawl.n_processes) as read:
        for (row, url), content in read:
            if isinstance(content, Failed):
                warn_skipped(url, content)
                content = Content("", "", row.language, [])
            yield _text_page(crawl, row, url, content), content.body


@contextmanager
def content_reading(
    folder: Path, body: Body | None = None, arguments: tuple[Any, ...] = (), full_text: bool = False
) -> Iterator[Callable[[ToWrite], Content]]:
    """For `in_order`: pages of the archive in this folder, read for an export."""
    languages = Languages()
    with page_reading(folder, with_blocks=body is not None) as read:

        def content_of(wanted: ToWrite) -> Content:
            page = read(wanted.page)
            content = _content(wanted, page, languages, full_text)
            page.blocks = kept_blocks(page.blocks, wanted.is_main)
            return content if body is None else content._replace(body=body(page, *arguments))

        yield content_of


def _content(wanted: ToWrite, page: Page, languages: Languages, full_text: bool) -> Content:
    text = kept_text(page.text, page.headings, wanted.is_main)
    shown = set(text.split("\n"))
    return Content(
        title=encodable(page.title),
        text=encodable(text),
        language=wanted.language or page.language or languages.of(page.text),
        headings=[encodable(heading) for heading in page.headings if heading in shown],
        fields=page.fields,
        full_text=encodable(page.text) if full_text else None,
    )


def _text_page(crawl: ExportedCrawl, row: PageRow, url: str, content: Content) -> TextPage:
    added = crawl.survey.added(row.id) or Additions()
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
