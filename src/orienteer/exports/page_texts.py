"""The pages of a crawl as texts: what they say, and what is known of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from orienteer.exports.exported_crawl import ExportedCrawl, Mask
from orienteer.extract.page import Page
from orienteer.extract.page_fields import NO_FIELDS, PageFields
from orienteer.inspect.archived_page import page_reading, warn_skipped
from orienteer.pages.added import Additions
from orienteer.processes.ordered import in_order
from orienteer.processes.pool import Failed
from orienteer.search.page_reading import Languages, ToRead, encodable, to_read
from orienteer.store.page_row import PageRow


@dataclass(frozen=True, slots=True)
class TextPage:
    """A page; what is not known is None. Blocks of the text end lines, white space is collapsed otherwise.

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


class Content(NamedTuple):
    """What a page says, and in which language as far as the page itself tells it."""

    title: str
    text: str
    language: str
    headings: list[str]
    fields: PageFields = NO_FIELDS


def text_pages(crawl: ExportedCrawl, wanted: Mask) -> Iterator[TextPage]:
    """These pages, which must be archived, in the order they were fetched. What cannot be read says nothing."""
    rows = (((row, url), to_read(row, url)) for row, url in crawl.rows(wanted, "exporting pages"))
    with in_order(content_reading, (crawl.archive.folder,), rows, crawl.n_processes) as read:
        for (row, url), content in read:
            if isinstance(content, Failed):
                warn_skipped(url, content)
                content = Content("", "", row.language, [])
            yield _text_page(crawl, row, url, content)


@contextmanager
def content_reading(folder: Path) -> Iterator[Callable[[ToRead], Content]]:
    """For `in_order`: pages of the archive in this folder, read for an export."""
    languages = Languages()
    with page_reading(folder) as read:
        yield lambda wanted: _content(wanted, read(wanted.page), languages)


def _content(wanted: ToRead, page: Page, languages: Languages) -> Content:
    return Content(
        title=encodable(page.title),
        text=encodable(page.text),
        language=wanted.language or page.language or languages.of(page.text),
        headings=[encodable(heading) for heading in page.headings],
        fields=page.fields,
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
    )


def iso_time(unix_s: float) -> str:
    """`2026-01-31T18:05:09Z`."""
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
