"""Reads the records of a collection: indexes the newest response of each URL, and copies pages into the archive.

    response      pages, redirects, errors and assets (images, styles, scripts) are copied into the archive; of any
                  other file only the URL and its type are recorded
    resource      a file that was archived without a response; a page if it is HTML. Or a document, text or screenshot
                  made by a browser (`BrowserCaptures`)
    revisit       the page is unchanged since an earlier record: of the same URL, or of one with the same payload
    metadata      in WAT files: the metadata of Common Crawl about a page

Temporary errors (5xx, 429) are skipped: these pages stay to be fetched. If a URL was recorded more than once, the
newest record counts; the older ones stay in the archive.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from orienteer.errors import CrawlFolderError
from orienteer.extract.documents.kinds import is_document
from orienteer.extract.robot_rules import ALL_ROBOTS, robot_name
from orienteer.fetch.settings import FetchSettings
from orienteer.imports.collection import BrowserCaptures, CollectedResponse, Collection, Spool
from orienteer.imports.wat import wat_page
from orienteer.pages.outcome import Outcome
from orienteer.responses.headers import Headers
from orienteer.responses.response import media_type, outcome_of
from orienteer.responses.verdict import VerdictKind, verdict_kind_of
from orienteer.store.archive import Archive
from orienteer.store.record import ArchivedResponse, response_record
from orienteer.url import canonical_url
from orienteer.warc.archived_responses import Message, resource_of, response_of, truly_coded
from orienteer.warc.files import ArchiveFile
from orienteer.warc.records import Record, RecordCounts, bare_uri, blocks, record_time, records
from orienteer.workers.fetch_result import ASSET_HEADERS

_WARC_KINDS, _WAT_KINDS = ("response", "resource", "revisit", "metadata", "conversion"), ("metadata",)
_RESPONSE_KINDS = ("response", "resource", "revisit")
_ARCHIVED_OUTCOMES = frozenset((Outcome.OK, Outcome.REDIRECT, Outcome.CLIENT_ERROR))
_TRUNCATED = frozenset(("length", "time", "disconnect", "unspecified"))
_DIGITS_OF_DATE = re.compile(r"(\d{4})" + r"(\d\d)" * 5)
_HEX_SHA1 = re.compile("[0-9a-fA-F]{40}")
_LAST_TIME = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
_NOT_MODIFIED = "server-not-modified"
_URN = "urn:"
# Media types of assets, by prefix.
_ASSET_TYPES = ("image/", "font/", "text/css", "text/javascript", "application/javascript", "application/x-javascript",
               "application/json", "application/wasm", "application/font", "application/x-font",
               "application/vnd.ms-fontobject")  # fmt: skip


class _Revisit(NamedTuple):
    """A page that is unchanged since another record of the collection."""

    url: str
    time: float
    refers_to: str | None
    digest: bytes | None
    is_asset: bool = False  # it is no page


class Collector:
    """Fills `collection`: call `read` for each file, then `resolve`."""

    def __init__(self, archive: Archive, spool: Spool, fetch: FetchSettings) -> None:
        self.collection = Collection()
        self.captures = BrowserCaptures(archive)
        self.counts = RecordCounts()
        self.n_temporary = 0  # records of temporary errors
        self.n_broken_json = 0
        self.n_unusable = 0  # records with invalid content
        self.n_unresolved = 0  # revisits of records that are not in the collection
        self._archive = archive
        self._spool = spool
        self._fetch = fetch
        self._robot = robot_name(fetch.user_agent) or ALL_ROBOTS
        self._revisits: list[_Revisit] = []

    def read(self, file: ArchiveFile, on_read: Callable[[int], None]) -> None:
        """Read a file; `on_read` is called with the number of bytes read so far."""
        kinds = _WAT_KINDS if file.is_wat else _WARC_KINDS
        with file.opened() as stream:
            for record in records(blocks(stream, file.name, on_read), kinds, self.counts, file.name):
                try:
                    self._add_wat(record) if file.is_wat else self._add(record)
                except (ValueError, OverflowError, RecursionError):
                    self.n_unusable += 1

    def resolve(self) -> None:
        """Find the records that revisits refer to; call it when all files are read."""
        by_digest = self.collection.with_digests({revisit.digest for revisit in self._revisits if revisit.digest})
        for revisit in sorted(self._revisits, key=lambda revisit: revisit.time):
            self._resolve(revisit, by_digest)
        self._revisits.clear()

    # -- records ------------------------------------------------------------------------------------------------

    def _add(self, record: Record) -> None:
        uri, time = bare_uri(record.headers.get("warc-target-uri", "")), time_of(record.headers.get("warc-date", ""))
        if uri.lower().startswith(_URN):
            return self.captures.add(uri, time, record.headers.get("content-type", ""), record.block)
        url = record.url
        if url is None or record.kind not in _RESPONSE_KINDS:
            return
        digest = sha1_of(record.headers.get("warc-payload-digest", ""))
        if record.kind == "revisit":
            return self._add_revisit(record, url, time, digest)
        if record.kind == "resource":
            message: Message | None = resource_of(record.block, record.headers.get("content-type", ""))
        else:
            message = response_of(record.block)
        if message is None:
            self.n_unusable += 1
        else:
            truncated = record.headers.get("warc-truncated")
            self._add_response(url, time, message, digest, record.is_asset, truncated)

    def _add_response(
        self,
        url: str,
        time: float,
        message: Message,
        digest: bytes | None,
        is_asset: bool,
        truncated: str | None = None,
    ) -> None:
        """Add a response; `is_asset` marks assets in our own archives, which may look like pages."""
        outcome = self._outcome(message.status, message.headers, url, message.body)
        if self._is_temporary(outcome, message.status):
            return
        position = None
        kind = media_type(message.headers)
        is_archived = outcome in _ARCHIVED_OUTCOMES or (
            outcome is Outcome.UNWANTED_TYPE and (is_asset or kind.startswith(_ASSET_TYPES))
        )
        outcome = Outcome.UNWANTED_TYPE if is_asset else outcome
        if is_archived:
            max_bytes = self._fetch.max_bytes(kind, self._fetch.max_decoded_bytes)
            message = truly_coded(message, max_bytes)
            reason = truncated if truncated in _TRUNCATED else None
            response = ArchivedResponse(url, time, message.raw_headers, message.body, truncated=reason)
            more = self._archive.record_headers() | (dict(ASSET_HEADERS) if outcome is Outcome.UNWANTED_TYPE else {})
            position = self._archive.append_member(response_record(response, more))
        self.collection.add(url, CollectedResponse(time, outcome, message.status, kind, position), digest)

    def _outcome(self, status: int, headers: Headers, url: str, body: bytes = b"") -> Outcome:
        outcome = outcome_of(status, headers, url)
        is_rejected = outcome is Outcome.OK and not self._fetch.accepts_content(media_type(headers), body[:64])
        return Outcome.UNWANTED_TYPE if is_rejected else outcome

    def _is_temporary(self, outcome: Outcome, status: int) -> bool:
        """Return whether a response is a temporary error, or a 304, and says nothing about the page."""
        verdict = verdict_kind_of(outcome, status)
        self.n_temporary += verdict is VerdictKind.TRY_AGAIN
        return verdict in (VerdictKind.TRY_AGAIN, VerdictKind.NOT_MODIFIED)

    def _add_revisit(self, record: Record, url: str, time: float, digest: bytes | None) -> None:
        message = response_of(record.block)
        is_asset = record.is_asset
        if message is not None and message.status < 300 and not is_asset:
            is_asset = self._outcome(message.status, message.headers, url) is Outcome.UNWANTED_TYPE
            if is_asset and not media_type(message.headers).startswith(_ASSET_TYPES):
                return
        refers_to = canonical_url(bare_uri(record.headers.get("warc-refers-to-target-uri", "")))
        if refers_to is None and _NOT_MODIFIED in record.headers.get("warc-profile", ""):
            refers_to = url
        self._revisits.append(_Revisit(url, time, refers_to, digest, is_asset))

    def _resolve(self, revisit: _Revisit, by_digest: dict[bytes, int]) -> None:
        own = self.collection.find(revisit.url)
        if own is not None and self._is_same(own, revisit):
            return
        other = None if revisit.refers_to is None else self.collection.find(revisit.refers_to)
        if other is None or not self._is_same(other, revisit):
            other = by_digest.get(revisit.digest or b"")
        entry = None if other is None else self.collection.entry(other)
        if entry is None or entry.archived is None:
            self.n_unresolved += not revisit.is_asset
            return
        try:
            page = self._archive.read(entry.archived)
        except CrawlFolderError:
            self.n_unresolved += not revisit.is_asset
            return
        message = Message(page.status, page.headers, page.raw_headers, page.body)
        self._add_response(revisit.url, revisit.time, message, revisit.digest, revisit.is_asset)

    def _is_same(self, index: int, revisit: _Revisit) -> bool:
        """Return whether the revisit may refer to this entry."""
        known = self.collection.digest(index)
        return revisit.digest is None or known is None or known == revisit.digest

    def _add_wat(self, record: Record) -> None:
        try:
            page = wat_page(record.block, self._robot)
        except ValueError:
            self.n_broken_json += 1
            return
        if page is None:
            return
        outcome = self._outcome(page.status, page.headers, page.url)
        if self._is_temporary(outcome, page.status):
            return
        if outcome is Outcome.OK and is_document(media_type(page.headers)):
            outcome = Outcome.UNWANTED_TYPE  # there is no content to parse, and WAT files list only the links of HTML
        spooled = self._spool.append(page.packed()) if outcome in _ARCHIVED_OUTCOMES else None
        entry = CollectedResponse(time_of(page.date), outcome, page.status, media_type(page.headers), spooled=spooled)
        self.collection.add(page.url, entry, sha1_of(page.payload_digest))


def time_of(date: str) -> float:
    """Parse a WARC-Date to Unix time; 0 if it is malformed.

    >>> time_of("2020-01-01T00:00:00Z"), time_of("20200101000000"), time_of("yesterday")
    (1577836800.0, 1577836800.0, 0.0)
    """
    digits = _DIGITS_OF_DATE.fullmatch(date)
    time = record_time("{}-{}-{}T{}:{}:{}".format(*digits.groups()) if digits else date)
    return time if time is not None and 0.0 < time <= _LAST_TIME else 0.0  # a time zone can shift it to the year 10,000


def sha1_of(text: str) -> bytes | None:
    """Parse a digest `sha1:BASE32` or `sha1:HEX`; None for any other."""
    kind, _, digest = text.strip().rpartition(":")
    if kind.lower() not in ("", "sha1"):
        return None
    try:
        found = bytes.fromhex(digest) if _HEX_SHA1.fullmatch(digest) else base64.b32decode(digest.upper())
    except (ValueError, binascii.Error):
        return None
    return found if len(found) == 20 else None
