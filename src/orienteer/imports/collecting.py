"""Reads the records of a collection: what there is of each URL is noted, and pages go into the archive as they come.

    response      a page, a redirect or an error goes into the archive, and so does what pages are shown with: images,
                  styles, scripts; of any other file only that there is one
    resource      a file that was archived without a response; a page if it is HTML. Or what a browser made of a page
                  (`shown_pages`)
    revisit       the page is as it was in an earlier record: of the same URL, or of one with the same payload
    metadata      in WAT files: what Common Crawl says of a page

Errors that pass (5xx, 429) say nothing of a page: it is left to be asked for. Where a URL was recorded more than once,
the newest record counts; the older ones stay in the archive.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from orienteer.answers.answer import media_type, outcome_of
from orienteer.answers.headers import Headers
from orienteer.answers.meaning import Verdict, verdict_of
from orienteer.errors import CrawlFolderError
from orienteer.extract.documents.kinds import is_document
from orienteer.extract.robot_rules import ANYBODY, robot_name
from orienteer.fetch.settings import FetchSettings
from orienteer.imports.collection import Collection, Entry, Spool
from orienteer.imports.shown_pages import ShownPages
from orienteer.imports.wat import wat_page
from orienteer.pages.outcome import Outcome
from orienteer.store.archive import Archive
from orienteer.store.record import ArchivedResponse, response_record
from orienteer.url import canonical_url
from orienteer.warc.files import ArchiveFile
from orienteer.warc.http_message import Message, resource_of, response_of, truly_coded
from orienteer.warc.packed import blocks
from orienteer.warc.records import Reading, Record, bare_uri, records
from orienteer.workers.answer_reader import IS_PART

_WARC_KINDS, _WAT_KINDS = ("response", "resource", "revisit", "metadata", "conversion"), ("metadata",)
_ANSWERS = ("response", "resource", "revisit")
_KEPT = frozenset((Outcome.OK, Outcome.REDIRECT, Outcome.CLIENT_ERROR))
_TRUNCATED = frozenset(("length", "time", "disconnect", "unspecified"))
_HEX_SHA1 = re.compile("[0-9a-fA-F]{40}")
_LAST_TIME = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
_NOT_MODIFIED = "server-not-modified"
_URN = "urn:"
# What pages are shown with, by the beginning of its type.
_SHOWN_WITH = ("image/", "font/", "text/css", "text/javascript", "application/javascript", "application/x-javascript",
               "application/json", "application/wasm", "application/font", "application/x-font",
               "application/vnd.ms-fontobject")  # fmt: skip


class _Revisit(NamedTuple):
    """A page that is as it was elsewhere in the collection."""

    url: str
    time: float
    refers_to: str | None
    digest: bytes | None
    is_part: bool = False  # it is no page


class Collector:
    """Reads file after file; then `resolve`, and the `collection` says what there is."""

    def __init__(self, archive: Archive, spool: Spool, fetch: FetchSettings) -> None:
        self.collection = Collection()
        self.shown = ShownPages(archive)
        self.reading = Reading()
        self.n_passing = 0  # records of errors that pass
        self.n_broken_json = 0
        self.n_unusable = 0  # records with something in them that cannot be taken in
        self.n_unresolved = 0  # revisits of what is not in the collection
        self._archive = archive
        self._spool = spool
        self._fetch = fetch
        self._robot = robot_name(fetch.user_agent) or ANYBODY
        self._revisits: list[_Revisit] = []

    def read(self, file: ArchiveFile, tell: Callable[[int], None]) -> None:
        """`tell` hears how many bytes of the file were read."""
        kinds = _WAT_KINDS if file.is_wat else _WARC_KINDS
        with file.opened() as stream:
            for record in records(blocks(stream, file.name, tell), kinds, self.reading, file.name):
                try:
                    self._take_wat(record) if file.is_wat else self._take(record)
                except (ValueError, OverflowError, RecursionError):
                    self.n_unusable += 1

    def resolve(self) -> None:
        """Find the pages that revisits speak of, now that all records are known."""
        found = self.collection.with_digests({revisit.digest for revisit in self._revisits if revisit.digest})
        for revisit in sorted(self._revisits, key=lambda revisit: revisit.time):
            self._resolve(revisit, found)
        self._revisits.clear()

    # -- records ------------------------------------------------------------------------------------------------

    def _take(self, record: Record) -> None:
        uri, time = bare_uri(record.headers.get("warc-target-uri", "")), time_of(record.headers.get("warc-date", ""))
        if uri.lower().startswith(_URN):
            return self.shown.take(uri, time, record.headers.get("content-type", ""), record.block)
        url = record.url
        if url is None or record.kind not in _ANSWERS:
            return
        digest = sha1_of(record.headers.get("warc-payload-digest", ""))
        if record.kind == "revisit":
            return self._take_revisit(record, url, time, digest)
        if record.kind == "resource":
            message: Message | None = resource_of(record.block, record.headers.get("content-type", ""))
        else:
            message = response_of(record.block)
        if message is None:
            self.n_unusable += 1
        else:
            truncated = record.headers.get("warc-truncated")
            self._take_answer(url, time, message, digest, record.is_part, truncated)

    def _take_answer(
        self, url: str, time: float, message: Message, digest: bytes | None, is_part: bool, truncated: str | None = None
    ) -> None:
        """`is_part`: it is no page, whatever it looks like; so our own archives say."""
        outcome = self._outcome(message.status, message.headers, url, message.body)
        if self._passes(outcome, message.status):
            return
        place = None
        kind = media_type(message.headers)
        is_kept = outcome in _KEPT or (outcome is Outcome.UNWANTED_TYPE and (is_part or kind.startswith(_SHOWN_WITH)))
        outcome = Outcome.UNWANTED_TYPE if is_part else outcome
        if is_kept:
            max_bytes = self._fetch.max_bytes(kind, self._fetch.max_decoded_bytes)
            message = truly_coded(message, max_bytes)
            reason = truncated if truncated in _TRUNCATED else None
            response = ArchivedResponse(url, time, message.raw_headers, message.body, truncated=reason)
            more = self._archive.record_headers() | (dict(IS_PART) if outcome is Outcome.UNWANTED_TYPE else {})
            place = self._archive.append_member(response_record(response, more))
        self.collection.add(url, Entry(time, outcome, message.status, kind, place), digest)

    def _outcome(self, status: int, headers: Headers, url: str, body: bytes = b"") -> Outcome:
        outcome = outcome_of(status, headers, url)
        is_unwanted = outcome is Outcome.OK and not self._fetch.wants_content(media_type(headers), body[:64])
        return Outcome.UNWANTED_TYPE if is_unwanted else outcome

    def _passes(self, outcome: Outcome, status: int) -> bool:
        """Whether an answer says nothing of the page: another try could have ended better."""
        verdict = verdict_of(outcome, status)
        self.n_passing += verdict is Verdict.TRY_AGAIN
        return verdict in (Verdict.TRY_AGAIN, Verdict.NOT_MODIFIED)

    def _take_revisit(self, record: Record, url: str, time: float, digest: bytes | None) -> None:
        message = response_of(record.block)
        is_part = record.is_part
        if message is not None and message.status < 300 and not is_part:
            is_part = self._outcome(message.status, message.headers, url) is Outcome.UNWANTED_TYPE
            if is_part and not media_type(message.headers).startswith(_SHOWN_WITH):
                return
        refers_to = canonical_url(bare_uri(record.headers.get("warc-refers-to-target-uri", "")))
        if refers_to is None and _NOT_MODIFIED in record.headers.get("warc-profile", ""):
            refers_to = url
        self._revisits.append(_Revisit(url, time, refers_to, digest, is_part))

    def _resolve(self, revisit: _Revisit, by_digest: dict[bytes, int]) -> None:
        own = self.collection.find(revisit.url)
        if own is not None and self._is_same(own, revisit):
            return
        other = None if revisit.refers_to is None else self.collection.find(revisit.refers_to)
        if other is None or not self._is_same(other, revisit):
            other = by_digest.get(revisit.digest or b"")
        entry = None if other is None else self.collection.entry(other)
        if entry is None or entry.archived is None:
            self.n_unresolved += not revisit.is_part
            return
        try:
            page = self._archive.read(entry.archived)
        except CrawlFolderError:
            self.n_unresolved += not revisit.is_part
            return
        message = Message(page.status, Headers(page.headers), page.raw_headers, page.body)
        self._take_answer(revisit.url, revisit.time, message, revisit.digest, revisit.is_part)

    def _is_same(self, place: int, revisit: _Revisit) -> bool:
        """Whether the entry may be what the revisit speaks of."""
        known = self.collection.digest(place)
        return revisit.digest is None or known is None or known == revisit.digest

    def _take_wat(self, record: Record) -> None:
        try:
            page = wat_page(record.block, self._robot)
        except ValueError:
            self.n_broken_json += 1
            return
        if page is None:
            return
        outcome = self._outcome(page.status, page.headers, page.url)
        if self._passes(outcome, page.status):
            return
        if outcome is Outcome.OK and is_document(media_type(page.headers)):
            outcome = Outcome.UNWANTED_TYPE  # there is no content to read, and WAT tells the links of HTML only
        place = self._spool.append(page.packed()) if outcome in _KEPT else None
        entry = Entry(time_of(page.date), outcome, page.status, media_type(page.headers), spooled=place)
        self.collection.add(page.url, entry, sha1_of(page.payload_digest))


def time_of(date: str) -> float:
    """Seconds since 1970 of a WARC-Date; 0 where it is none.

    >>> time_of("2020-01-01T00:00:00Z"), time_of("20200101000000"), time_of("yesterday")
    (1577836800.0, 1577836800.0, 0.0)
    """
    try:
        found = datetime.fromisoformat(date) if "-" in date else datetime.strptime(date, "%Y%m%d%H%M%S")
        time = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
        return time if 0.0 < time <= _LAST_TIME else 0.0  # in some time zones it is the year 10,000 already
    except (ValueError, OverflowError):
        return 0.0


def sha1_of(text: str) -> bytes | None:
    """The digest in `sha1:BASE32` or `sha1:HEX`; None where it is another kind."""
    kind, _, digest = text.strip().rpartition(":")
    if kind.lower() not in ("", "sha1"):
        return None
    try:
        found = bytes.fromhex(digest) if _HEX_SHA1.fullmatch(digest) else base64.b32decode(digest.upper())
    except (ValueError, binascii.Error):
        return None
    return found if len(found) == 20 else None
