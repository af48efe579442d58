"""Crawl folders with handmade pages, to be indexed and searched."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from orienteer.store.folder import CrawlFolder
from orienteer.store.page_row import PageRow
from orienteer.store.record import ArchivedResponse

SETTINGS = '[crawl]\nseeds = ["http://a.org/"]\n'
FETCHED, FAILED = 2, 3


class HandmadeCrawl:
    """A crawl folder that is extended page by page; pages and links are given by URL."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ids: dict[str, int] = {}
        self._position = 0
        CrawlFolder.create(path, SETTINGS).close()

    def add(self, pages: Mapping[str, str], links: Mapping[str, Mapping[str, str]] | None = None, **row: Any) -> None:
        """Add or change pages, given as HTML by URL, with links to other URLs and the texts of the links."""
        with CrawlFolder.open(self.path) as folder:
            for url, html in pages.items():
                self._add(folder, url, html, (links or {}).get(url, {}), row)
            folder.acknowledge()

    def remove(self, url: str) -> None:
        """Mark the page as failed with status 404."""
        with CrawlFolder.open(self.path) as folder:
            old = folder.database.pages.row(self.ids[url])
            assert old is not None
            folder.database.pages.change(PageRow(old.id, old.position, FAILED, "http 404", 404))
            folder.acknowledge()

    def redirect(self, url: str, target: str) -> None:
        with CrawlFolder.open(self.path) as folder:
            ids = [self._id(folder, name) for name in (url, target)]
            links = np.array(ids[1:], np.uint32)
            folder.database.pages.add(
                PageRow(ids[0], self._next(), FETCHED, "redirect", 301, redirect_to=ids[1], links=links)
            )
            folder.acknowledge()

    def _add(self, folder: CrawlFolder, url: str, html: str, links: Mapping[str, str], row: Mapping[str, Any]) -> None:
        page, targets = self._id(folder, url), [self._id(folder, target) for target in links]
        body = html + "".join(f'<a href="{target}">{text}</a>' for target, text in links.items())
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
        place = folder.archive.append(ArchivedResponse(url, 1.7e9, head, body.encode(errors="surrogatepass")))
        old = folder.database.pages.row(page)
        values = {"language": "en", "content_type": "text/html", "links": np.array(targets, np.uint32), **row}
        for name in ("duplicate_of", "near_duplicate_of"):
            if isinstance(values.get(name), str):
                values[name] = self.ids[values[name]]
        position = self._next() if old is None else old.position
        found = PageRow(page, position, FETCHED, "ok", 200, 1.7e9, *place, **values)
        if old is None:
            folder.database.pages.add(found)
        else:
            folder.database.pages.change(found)

    def _id(self, folder: CrawlFolder, url: str) -> int:
        if url not in self.ids:
            self.ids[url] = len(self.ids)
            folder.database.urls.add(self.ids[url], [url])
        return self.ids[url]

    def _next(self) -> int:
        self._position += 1
        return self._position - 1


def page(title: str, text: str) -> str:
    return f"<title>{title}</title><h1>{title}</h1><p>{text}</p>"
