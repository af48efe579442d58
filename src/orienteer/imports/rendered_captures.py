"""Records of browser crawls with `urn:` URIs: rendered documents, texts and screenshots of pages.

    urn:dom:URL                              the rendered document, as HTML; ours, and some other writers'
    urn:textFinal:URL, urn:text:URL          its text, at the end and after loading (Browsertrix)
    urn:text:TIME/URL                        its text (ArchiveWeb.page)
    urn:view:URL, :thumbnail:, :fullPage:    screenshots (Browsertrix; ours)
    urn:pageinfo:URL                         JSON about a page and its assets, which shows that the URL is a page

They are resource records; some writers use metadata and conversion records for texts. A list of pages may have texts,
too (`warc/files`). For each page the best document or text is stored, and the best screenshot: the newest of the
first available kind in the order above.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from orienteer.errors import CrawlFolderError
from orienteer.imports.collection import Collection
from orienteer.pages.outcome import Outcome
from orienteer.responses.headers import Headers
from orienteer.store.archive import Archive, Position
from orienteer.store.record import resource_record
from orienteer.url import canonical_url
from orienteer.warc.files import ListedPage

IMPORTED = "import"  # the reason in the table `rendered`

_URN = re.compile(r"urn:(\w+):(?:\d{14,17}/)?(https?://.*)", re.DOTALL | re.IGNORECASE)
_DOCUMENTS = ("listed", "text", "textFinal", "dom")  # from worst to best
_SCREENSHOTS = ("fullPage", "thumbnail", "view")
_HTML, _TEXT = "text/html; charset=utf-8", "text/plain; charset=utf-8"
_SCREENSHOT_TYPES = ("image/png", "image/jpeg", "image/webp")
_MAX_REDIRECTS = 20


class CapturedResource(NamedTuple):
    """A document, text or screenshot of a page. Of two the greater one is better."""

    kind: int
    time: float
    position: Position

    @property
    def is_document(self) -> bool:
        return self.kind == len(_DOCUMENTS) - 1


class BrowserCaptures:
    """The documents, texts and screenshots of pages, and the URLs that are stated to be pages."""

    def __init__(self, archive: Archive) -> None:
        self.documents: dict[str, CapturedResource] = {}
        self.views: dict[str, CapturedResource] = {}
        self.pages: dict[str, None] = {}
        self._archive = archive

    def add(self, uri: str, time: float, content_type: str, body: bytes) -> None:
        """Add a record with a `urn:` URI; unknown kinds are ignored."""
        match = _URN.fullmatch(uri)
        url = None if match is None else canonical_url(match[2])
        if match is None or url is None or not body:
            return
        kind, stated = match[1], content_type.partition(";")[0].strip().lower()
        if kind == "pageinfo":
            self.pages[url] = None
        elif kind in _DOCUMENTS:
            self._store(self.documents, _DOCUMENTS.index(kind), url, time, _HTML if kind == "dom" else _TEXT, body)
        elif kind in _SCREENSHOTS and stated in _SCREENSHOT_TYPES:
            self._store(self.views, _SCREENSHOTS.index(kind), url, time, stated, body)

    def add_listed(self, pages: Iterable[ListedPage], times: Collection) -> None:
        """Add the pages of a list; its texts are used for pages without a record of a document or text."""
        for page in pages:
            self.pages[page.url] = None
            index = times.find(page.url) if page.text else None
            if index is not None:
                time = times.entry(index).time
                self._store(self.documents, 0, page.url, time, _TEXT, page.text.encode("utf-8", "replace"))

    def asset_mask(self, collection: Collection) -> bytearray:
        """Return, by index, which responses are assets because lists of pages do not contain them.

        A linked document is added as a page anyway: some lists name only the seeds. Without lists every document is a
        page.
        """
        n = len(collection)
        is_page = bytearray(n)
        for url in self.pages:
            for index in self._redirect_chain(collection, url):
                is_page[index] = 1
        if not any(is_page):
            return bytearray(n)
        for index in range(n):
            outcome = collection.entry(index).outcome
            if outcome is Outcome.REDIRECT:
                is_page[index] = any(is_page[k] for k in self._redirect_chain(collection, collection.urls[index]))
            elif outcome is not Outcome.OK:
                is_page[index] = 1  # the crawl handles its outcome
        return bytearray(not flag for flag in is_page)

    def _redirect_chain(self, collection: Collection, url: str) -> Iterable[int]:
        """Yield the index of a URL, and those of its redirect targets."""
        for _ in range(_MAX_REDIRECTS):
            index = collection.find(url)
            if index is None:
                return
            yield index
            entry = collection.entry(index)
            if entry.outcome is not Outcome.REDIRECT or entry.archived is None:
                return
            try:
                location = Headers(self._archive.read(entry.archived).headers).get("location") or ""
            except CrawlFolderError:
                return
            url = canonical_url(location, url) or ""

    def _store(
        self, stored: dict[str, CapturedResource], kind: int, url: str, time: float, content_type: str, body: bytes
    ) -> None:
        best = stored.get(url)
        if best is not None and (best.kind, best.time) > (kind, time):
            return
        name = "view" if stored is self.views else "dom" if content_type is _HTML else "text"
        more = self._archive.record_headers()
        record = resource_record(f"urn:{name}:{url}", time, content_type, body, url, more)
        stored[url] = CapturedResource(kind, time, self._archive.append_member(record))
