"""What crawls by browsers left of pages besides the answers of servers: records under names that begin with `urn:`.

    urn:dom:URL                              the document that was shown, as HTML; ours, and some others'
    urn:textFinal:URL, urn:text:URL          its text, at the end and when it was loaded (Browsertrix)
    urn:text:TIME/URL                        its text (ArchiveWeb.page)
    urn:view:URL, :thumbnail:, :fullPage:    pictures of it (Browsertrix; ours)
    urn:pageinfo:URL                         JSON about a page and what was loaded for it: so the URL is a page

They are resource records; other writers have made metadata and conversion records of texts. Besides, a list of pages
may have texts (`warc/page_lists`). Of a page the best of its documents and texts is kept, and the best of its pictures:
the newest of the first kind above that there is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from orienteer.answers.headers import Headers
from orienteer.errors import CrawlFolderError
from orienteer.imports.collection import Collection
from orienteer.pages.outcome import Outcome
from orienteer.store.archive import Archive, Position
from orienteer.store.record import resource_record
from orienteer.url import canonical_url
from orienteer.warc.page_lists import ListedPage

IMPORTED = "import"  # why a page counts as shown in a browser

_URN = re.compile(r"urn:(\w+):(?:\d{14,17}/)?(https?://.*)", re.DOTALL | re.IGNORECASE)
_DOCUMENTS = ("listed", "text", "textFinal", "dom")  # the last is the best
_PICTURES = ("fullPage", "thumbnail", "view")
_HTML, _TEXT = "text/html; charset=utf-8", "text/plain; charset=utf-8"
_PICTURE_TYPES = ("image/png", "image/jpeg", "image/webp")
_MAX_REDIRECTS = 20


class ShownThing(NamedTuple):
    """Of two things of a page the greater is the better."""

    kind: int
    time: float
    place: Position

    @property
    def is_document(self) -> bool:
        return self.kind == len(_DOCUMENTS) - 1


class ShownPages:
    """The documents, texts and pictures of pages, as they come; and which URLs are pages, where somebody says so."""

    def __init__(self, archive: Archive) -> None:
        self.documents: dict[str, ShownThing] = {}
        self.views: dict[str, ShownThing] = {}
        self.pages: dict[str, None] = {}
        self._archive = archive

    def take(self, uri: str, time: float, content_type: str, body: bytes) -> None:
        """A record under such a name; what nobody knows is left out."""
        found = _URN.fullmatch(uri)
        url = None if found is None else canonical_url(found[2])
        if found is None or url is None or not body:
            return
        kind, stated = found[1], content_type.partition(";")[0].strip().lower()
        if kind == "pageinfo":
            self.pages[url] = None
        elif kind in _DOCUMENTS:
            self._keep(self.documents, _DOCUMENTS.index(kind), url, time, _HTML if kind == "dom" else _TEXT, body)
        elif kind in _PICTURES and stated in _PICTURE_TYPES:
            self._keep(self.views, _PICTURES.index(kind), url, time, stated, body)

    def take_listed(self, pages: Iterable[ListedPage], times: Collection) -> None:
        """Pages of a list; a text of it counts where no record has one."""
        for page in pages:
            self.pages[page.url] = None
            place = times.find(page.url) if page.text else None
            if place is not None:
                time = times.entry(place).time
                self._keep(self.documents, 0, page.url, time, _TEXT, page.text.encode("utf-8", "replace"))

    def parts_of(self, collection: Collection) -> bytearray:
        """By place, whether an answer is no page, as lists have it: then it is what pages are shown with.

        A page that links lead to is one, whatever lists say: some name only where to begin. Without lists every
        document is a page.
        """
        n = len(collection)
        is_page = bytearray(n)
        for url in self.pages:
            for place in self._names(collection, url):
                is_page[place] = 1
        if not any(is_page):
            return bytearray(n)
        for place in range(n):
            outcome = collection.entry(place).outcome
            if outcome is Outcome.REDIRECT:
                is_page[place] = any(is_page[name] for name in self._names(collection, collection.urls[place]))
            elif outcome is not Outcome.OK:
                is_page[place] = 1  # or nothing at all, which the crawl finds out
        return bytearray(not found for found in is_page)

    def _names(self, collection: Collection, url: str) -> Iterable[int]:
        """The place of a page, and of what it redirects to: somebody has looked at that."""
        for _ in range(_MAX_REDIRECTS):
            place = collection.find(url)
            if place is None:
                return
            yield place
            entry = collection.entry(place)
            if entry.outcome is not Outcome.REDIRECT or entry.archived is None:
                return
            try:
                location = Headers(self._archive.read(entry.archived).headers).get("location") or ""
            except CrawlFolderError:
                return
            url = canonical_url(location, url) or ""

    def _keep(
        self, kept: dict[str, ShownThing], kind: int, url: str, time: float, content_type: str, body: bytes
    ) -> None:
        before = kept.get(url)
        if before is not None and (before.kind, before.time) > (kind, time):
            return
        name = "view" if kept is self.views else "dom" if content_type is _HTML else "text"
        more = self._archive.record_headers()
        record = resource_record(f"urn:{name}:{url}", time, content_type, body, url, more)
        kept[url] = ShownThing(kind, time, self._archive.append_member(record))
