"""The index of a collection: the newest response of each URL, in arrays of about 60 bytes per URL; and its seeds.

Browser crawls have records with `urn:` URIs, too: rendered documents, texts and screenshots of pages.

    urn:dom:URL                              the rendered document, as HTML; ours, and some other writers'
    urn:textFinal:URL, urn:text:URL          its text, at the end and after loading (Browsertrix)
    urn:text:TIME/URL                        its text (ArchiveWeb.page)
    urn:view:URL, :thumbnail:, :fullPage:    screenshots (Browsertrix; ours)
    urn:pageinfo:URL                         JSON about a page and its assets, which shows that the URL is a page

They are resource records; some writers use metadata and conversion records for texts. A list of pages may have texts,
too (`warc/files`). For each page the best document or text is stored, and the best screenshot: the newest of the first
available kind in the order above.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence
from typing import BinaryIO, NamedTuple

import numpy as np
from isal import isal_zlib

from orienteer.errors import CrawlFolderError, InputError
from orienteer.graph.url_table import GrowingUrlTable, UrlTable
from orienteer.pages.outcome import Outcome
from orienteer.store.archive import Archive, Position
from orienteer.store.record import resource_record
from orienteer.url import canonical_url, host_of
from orienteer.warc.files import ListedPage

_OUTCOMES = list(Outcome)
_SPOOLED = -1  # instead of a file number: the response is in the spool
_NOT_STORED = -2  # the content of the response is not stored
_MAX_TYPES = 10_000  # media types after these are dropped: real collections have fewer
_DIGEST_BYTES = 20
_NO_DIGEST = bytes(_DIGEST_BYTES)


IMPORTED = "import"  # the reason in the table `rendered`
_URN = re.compile(r"urn:(\w+):(?:\d{14,17}/)?(https?://.*)", re.DOTALL | re.IGNORECASE)
_DOCUMENTS = ("listed", "text", "textFinal", "dom")  # from worst to best
_SCREENSHOTS = ("fullPage", "thumbnail", "view")
_HTML, _TEXT = "text/html; charset=utf-8", "text/plain; charset=utf-8"
_SCREENSHOT_TYPES = ("image/png", "image/jpeg", "image/webp")
_MAX_REDIRECTS = 20


class CollectedResponse(NamedTuple):
    """A response: its time and outcome, and its position in the archive or in the spool, if it is stored."""

    time: float
    outcome: Outcome
    status: int
    content_type: str = ""
    archived: Position | None = None
    spooled: tuple[int, int] | None = None

    @property
    def is_page(self) -> bool:
        """Whether it is a page or a redirect."""
        return self.outcome in (Outcome.OK, Outcome.REDIRECT)

    @property
    def source_record(self) -> Position | None:
        """The position of the archived record; None for assets, which the crawl does not read."""
        return None if self.outcome is Outcome.UNWANTED_TYPE else self.archived


class Collection:
    """The newest entry of each URL. The index of an entry is the order in which URLs first occurred."""

    def __init__(self) -> None:
        self._growing = GrowingUrlTable()
        self._urls: UrlTable | None = None
        self._times = array("d")
        self._outcomes, self._statuses, self._types = array("B"), array("H"), array("H")
        self._files, self._offsets, self._sizes = array("i"), array("q"), array("q")
        self._digests = bytearray()
        self._type_numbers = {"": 0}
        self._type_names = [""]

    def __len__(self) -> int:
        return len(self._times)

    def add(self, url: str, entry: CollectedResponse, digest: bytes | None = None) -> None:
        """Add an entry, or replace an older one. `digest` is the payload digest as stated in the collection."""
        index = int(self._growing.intern([url])[0])
        self._urls = None
        if index == len(self):
            self._times.append(entry.time)
            for column in (self._outcomes, self._statuses, self._types, self._files, self._offsets, self._sizes):
                column.append(0)
            self._digests += _NO_DIGEST
        elif entry.time < self._times[index]:
            return
        self._times[index] = entry.time
        self._outcomes[index] = _OUTCOMES.index(entry.outcome)
        self._statuses[index] = entry.status
        self._types[index] = self._type_number(entry.content_type[:100])
        self._files[index], self._offsets[index], self._sizes[index] = _where(entry)
        self._digests[_DIGEST_BYTES * index : _DIGEST_BYTES * (index + 1)] = digest or _NO_DIGEST

    def find(self, url: str) -> int | None:
        """Return the index of a URL; None if it is unknown."""
        return self.urls.find(url)

    @property
    def urls(self) -> UrlTable:
        if self._urls is None:
            self._urls = self._growing.freeze()
        return self._urls

    def entry(self, index: int) -> CollectedResponse:
        file, offset, size = self._files[index], self._offsets[index], self._sizes[index]
        return CollectedResponse(
            self._times[index],
            _OUTCOMES[self._outcomes[index]],
            self._statuses[index],
            self._type_names[self._types[index]],
            Position(file, offset, size) if file >= 0 else None,
            (offset, size) if file == _SPOOLED else None,
        )

    def time_span(self) -> tuple[float, float]:
        """Return the times of the first and the last response. The collection must not be empty."""
        return min(self._times), max(self._times)

    def digest(self, index: int) -> bytes | None:
        found = bytes(self._digests[_DIGEST_BYTES * index : _DIGEST_BYTES * (index + 1)])
        return None if found == _NO_DIGEST else found

    def with_digests(self, digests: set[bytes]) -> dict[bytes, int]:
        """Return, by digest, the index of an archived entry with that digest, if there is one."""
        if not digests or not len(self):
            return {}
        searched = np.frombuffer(b"".join(sorted(digests)), f"V{_DIGEST_BYTES}")
        own = np.frombuffer(bytes(self._digests), f"V{_DIGEST_BYTES}")
        found = np.flatnonzero(np.isin(own, searched) & (np.frombuffer(self._files, np.intc) >= 0))
        return {bytes(own[index]): index for index in found.tolist()}

    def _type_number(self, name: str) -> int:
        number = self._type_numbers.get(name)
        if number is not None or len(self._type_names) > _MAX_TYPES:
            return number or 0
        self._type_numbers[name] = len(self._type_names)
        self._type_names.append(name)
        return self._type_numbers[name]


def _where(entry: CollectedResponse) -> tuple[int, int, int]:
    if entry.archived is not None:
        return entry.archived
    return (_NOT_STORED, 0, 0) if entry.spooled is None else (_SPOOLED, *entry.spooled)


class Spool:
    """A temporary file of compressed texts."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._end = 0

    def append(self, text: bytes) -> tuple[int, int]:
        """Append a text; return its offset and its compressed size."""
        packed = isal_zlib.compress(text, 1)
        self._file.seek(self._end)
        self._file.write(packed)
        self._end += len(packed)
        return self._end - len(packed), len(packed)

    def read(self, location: tuple[int, int]) -> bytes:
        self._file.seek(location[0])
        return bytes(isal_zlib.decompress(self._file.read(location[1])))


def guessed_seeds(collection: Collection, is_asset: Sequence[int], listed: Iterable[str]) -> list[str]:
    """Return one page of each host: its home page, or else the earliest page with the fewest folders in its URL.

    So every page of the collection is inside the scope `host`. For hosts that only occur in lists of URLs it is the
    home page. `is_asset` marks, by index, responses that are no pages.
    """
    best: dict[str, tuple[tuple[int, bool, bool, float], str]] = {}  # by host; the least key is the best
    for index, url in enumerate(collection.urls):
        entry = collection.entry(index)
        if entry.is_page and not is_asset[index]:
            key = url.count("/"), not url.endswith("/"), entry.outcome is Outcome.REDIRECT, entry.time
            host = host_of(url)
            if host not in best or key < best[host][0]:
                best[host] = key, url
    seeds = {host: url for host, (_, url) in best.items()}
    for url in listed:
        scheme, _, after = url.partition("://")
        seeds.setdefault(host_of(url), f"{scheme}://{after.partition('/')[0]}/")
    return list(seeds.values())


def expect_known(seeds: Sequence[str], collection: Collection) -> None:
    """Raise InputError unless at least one seed is in the collection: otherwise no page would be reachable."""
    if len(collection) and not any(collection.find(seed) is not None for seed in seeds):
        example = next((url for index, url in enumerate(collection.urls) if collection.entry(index).is_page), None)
        hint = f", such as {example}" if example is not None else ""
        raise InputError(f"the seed {seeds[0]} is not in the collection; name a page that is{hint}")


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
                location = self._archive.read(entry.archived).headers.get("location") or ""
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
