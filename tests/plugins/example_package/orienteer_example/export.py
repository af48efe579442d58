"""The URLs of a crawl as a list."""

from __future__ import annotations

from typing import ClassVar

from orienteer.exports.exported_crawl import ExportedCrawl
from orienteer.exports.exporter import Exporter, Staging, Written
from orienteer.progress import Progress


class UrlList(Exporter):
    """The URLs of the pages, one a line, in the order they were fetched."""

    name: ClassVar[str] = "url-list"
    about: ClassVar[str] = "the URLs of the pages, one a line"
    suffixes: ClassVar[tuple[str, ...]] = (".urls",)

    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        n_pages = 0
        with staging.main.open("w", encoding="utf-8") as out:
            for _, url in crawl.rows(crawl.pages, "writing URLs"):
                out.write(f"{url}\n")
                n_pages += 1
        return Written(n_pages)
