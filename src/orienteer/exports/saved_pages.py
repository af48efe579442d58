"""The pages of a crawl folder, one object each; their texts are read from the archive when they are asked for."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from orienteer.errors import SkippedPageWarning
from orienteer.exports.exported_crawl import ExportedCrawl, PageFilter
from orienteer.extract.documents.document import UnreadableDocumentError
from orienteer.extract.page import Page
from orienteer.inspect.archived_page import ArchivedPosition, page_reading
from orienteer.progress import silent
from orienteer.store.folder_view import FolderView
from orienteer.store.page_row import PageRow


@dataclass(frozen=True)
class SavedPage:
    """A page of a crawl. `status` is that of HTTP; `fetched_at` is Unix time, `depth` the number of links from a seed.

    `rank` is the PageRank over the links of the crawl, `global_rank` the estimate for the whole web; None while it is
    unknown. `relevance` is the probability that the page is on the topic of the crawl, None without a topic. `repeats`
    is the URL of the page of which this is a duplicate or near-duplicate.
    """

    url: str
    title: str
    status: int
    content_type: str
    language: str
    size_bytes: int
    fetched_at: float
    depth: int
    n_links: int
    rank: float | None
    global_rank: float | None
    relevance: float | None
    repeats: str | None
    noindex: bool
    _archive: Path = field(repr=False, compare=False)
    _position: ArchivedPosition | None = field(repr=False, compare=False)

    @property
    def text(self) -> str:
        """The main text, a line per block; empty if the page is not in the archive. It is read at each use."""
        page = self._read(with_scores=True)
        return "" if page is None else page.main_text

    @property
    def full_text(self) -> str:
        """The text with menus and other boilerplate."""
        page = self._read(with_scores=False)
        return "" if page is None else page.text

    def _read(self, with_scores: bool) -> Page | None:
        """Read the page; None if it is not in the archive, or, with a warning, if it cannot be read any more."""
        if self._position is None:
            return None
        try:
            with page_reading(self._archive, with_scores=with_scores) as read:
                return read(self._position)
        except UnreadableDocumentError as error:
            warnings.warn(f"{self.url}: skipped, since it cannot be read ({error})", SkippedPageWarning, 3)
            return None


def saved_pages(folder: Path) -> Iterator[SavedPage]:
    """Yield the pages that were fetched, in this order, without redirects; the crawl may be running."""
    with FolderView.open(folder) as view:
        if next(iter(view.database.pages.fetched()), None) is None:
            return
        crawl = ExportedCrawl(view, PageFilter(all_pages=True), silent)
        for row, url in crawl.rows(crawl.pages, "reading pages"):
            yield _saved_page(crawl, row, url)


def _saved_page(crawl: ExportedCrawl, row: PageRow, url: str) -> SavedPage:
    return SavedPage(
        url=url,
        title=row.title,
        status=row.status,
        content_type=row.content_type,
        language=row.language,
        size_bytes=row.size_bytes,
        fetched_at=row.time,
        depth=row.depth,
        n_links=len(row.links) + len(row.outside),
        rank=crawl.local_rank(row.id),
        global_rank=crawl.global_rank(row.id),
        relevance=row.relevance,
        repeats=None if row.repeats is None else crawl.url(row.repeats),
        noindex=row.noindex,
        _archive=crawl.archive.folder,
        _position=None if row.archived is None else crawl.archived_position(row, url),
    )
