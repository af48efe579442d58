"""Captures: every URL of an archive, pages and assets alike, with the times at which it was archived.

They are indexed from the archive alone. The archive is read once; from then on only appended records that are
acknowledged (see `store/capture_table`). Each record is checked when it is read: one of another URL than in the index
is a StaleCapturesError. URLs match in this order:

    exact           the URL as given
    canonical       the same without fragment and tracking parameters
    loose           http for https, with or without a slash at the end; no redirects, which might loop
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from orienteer.errors import CrawlFolderError
from orienteer.progress import Progress, silent
from orienteer.responses.body import BodyTooLargeError
from orienteer.responses.headers import Headers
from orienteer.responses.response import charset_in, media_type
from orienteer.responses.sniffing import sniffed_type
from orienteer.store.archive import Archive, Position
from orienteer.store.archive_members import unpacked_member, whole_members
from orienteer.store.capture_table import DOM, RESPONSE, REVISIT, VIEW, CaptureRow, CaptureTable, Scanned
from orienteer.store.failures import map_disk_errors
from orienteer.store.folder_view import FolderView
from orienteer.url import canonical_url
from orienteer.warc.archived_responses import Message, content_of, resource_of, response_of
from orienteer.warc.records import Record, RecordCounts, bare_uri, records
from orienteer.wording import plain

MAX_CONTENT_BYTES = 64 << 20  # unpacked
_KINDS = ("response", "revisit", "resource")
_DERIVED_KINDS = {"urn:dom:": DOM, "urn:view:": VIEW, "urn:thumbnail:": VIEW}
_HEAD_BYTES = 1 << 16  # the headers of a response must fit into these
_TAIL_BYTES = 512
_ROWS_PER_STEP, _BYTES_PER_STEP = 1_000, 32 << 20
_MAX_TYPE_CHARS = 100
_SAME_TIME_S = 1.0  # dates of records may be rounded


class StaleCapturesError(CrawlFolderError):
    """The index does not fit the archive, which must be read again."""


class ArchivedContent(NamedTuple):
    """The unpacked content of a record, with its status and headers, media type and charset, URL and time."""

    url: str
    time: float
    status: int
    headers: Headers
    type: str
    charset: str | None
    content: bytes


class ArchivedTime(NamedTuple):
    """A time at which a page was archived; `dom` is the rendered document of that time, `view` its screenshot.

    `changed` is whether the page differs from the time before; None the first time.
    """

    capture: CaptureRow
    dom: CaptureRow | None
    view: CaptureRow | None
    changed: bool | None

    @property
    def time(self) -> float:
        return self.capture.time


class Captures:
    """The captures of a crawl folder. Several threads may query it while one runs `update`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._table = CaptureTable(folder)
        self._archive = Archive(folder / "archive", read_only=True)
        self._reading = threading.Lock()  # an Archive is not thread-safe

    def close(self) -> None:
        self._table.close()
        with self._reading:
            self._archive.close()

    def invalidate(self) -> None:
        """Delete the index, since it does not fit the archive."""
        self._table.delete()

    # -- reading the archive ------------------------------------------------------------------------------------

    def update(
        self, progress: Progress = silent, with_stored: bool = True, stopped: Callable[[], bool] = lambda: False
    ) -> None:
        """Index records that are not indexed yet; with `with_stored` also files that are only in an object store.

        It ends early once `stopped` returns True.
        """
        with FolderView.open(self._folder) as crawl:
            end = crawl.archive.end
        with closing(Archive(self._folder / "archive", end, read_only=True)) as archive:
            sizes = {file: _size_of(archive, file) for file in archive.numbers() if file < end.file}
            sizes |= {end.file: end.size_bytes} if end.size_bytes else {}
            known = self._valid_scans(archive, sizes)
            n_done, n_bytes = 0, sum(sizes.values())
            for file, size_bytes in sizes.items():
                start = known[file].size_bytes if file in known else 0
                if start < size_bytes and (with_stored or archive.path(file).exists()):
                    with archive.local_copy(file) as path:
                        for position in self._scan(path, file, size_bytes):
                            progress("reading the archive", n_done + position, n_bytes)
                            if stopped():
                                return
                n_done += size_bytes

    def _valid_scans(self, archive: Archive, sizes: dict[int, int]) -> dict[int, Scanned]:
        """Return how far each file was read, and delete the captures of files that have changed."""
        known = self._table.scanned()
        for file, scanned in list(known.items()):
            path = archive.path(file)
            is_valid = scanned.size_bytes <= sizes.get(file, 0)
            if not is_valid or (path.exists() and _tail(path, scanned.size_bytes) != scanned.tail):
                self._table.delete(file)
                del known[file]
        return known

    def _scan(self, path: Path, file: int, size_bytes: int) -> Iterator[int]:
        """Read a file up to `size_bytes` in steps; yield the position after each."""
        while True:
            before = self._table.scanned().get(file)
            start = before.size_bytes if before else 0
            if start >= size_bytes:
                return
            for position, rows in _rows_in(path, file, start, size_bytes):
                after = Scanned(position, _tail(path, position))
                if not self._table.add_scan(file, before, after, rows):
                    break  # another process reads it, too: continue where that one is
                before = after
                yield position

    # -- queries ------------------------------------------------------------------------------------------------

    def times_of(self, url: str) -> list[ArchivedTime]:
        """Return the times at which a page was archived, in order."""
        rows = self._table.find(url)
        pages = _best([row for row in rows if row.kind in (RESPONSE, REVISIT)], url)
        doms = _by_page([row for row in rows if row.kind == DOM], pages)
        views = _by_page([row for row in rows if row.kind == VIEW], pages)
        result: list[ArchivedTime] = []
        last: CaptureRow | None = None  # that had a content
        for number, page in enumerate(pages):
            before = result[-1] if result else None
            is_revisit = page.kind == REVISIT and before is not None
            dom = doms.get(number) or (before.dom if is_revisit and before else None)
            view = views.get(number) or (before.view if is_revisit and before else None)
            changed = None if before is None else _is_changed(before.dom, dom) or _differs(last, page)
            last = last if page.kind == REVISIT else page
            result.append(ArchivedTime(page, dom, view, changed))
        return result

    def nearest(self, url: str, time: float) -> CaptureRow | None:
        """Return the capture of a URL that is closest to a time."""
        rows = [row for row in self._table.find(url) if row.kind in (RESPONSE, REVISIT)]
        return min(_best(rows, url), key=lambda row: (abs(row.time - time), -row.time), default=None)

    def newest_view(self, url: str) -> CaptureRow | None:
        """Return the newest screenshot of a page."""
        views = [row for row in self._table.find(url) if row.kind == VIEW]
        return max(_best(views, url), key=lambda row: row.time, default=None)

    def is_local(self, row: CaptureRow) -> bool:
        """Whether it can be read without an object store."""
        return self._archive.path(row.file).exists()

    def __len__(self) -> int:
        return len(self._table)

    # -- reading captures ---------------------------------------------------------------------------------------

    def content(self, row: CaptureRow) -> ArchivedContent | None:
        """Read a record; for a revisit the record it refers to, None if that is missing."""
        record = self._record(row)
        if row.kind == REVISIT:
            original = self._revisited(record, row)
            return None if original is None else self.content(original)
        message = _message_of(record)
        if message is None:
            return None
        try:
            content = content_of(message, MAX_CONTENT_BYTES)
        except BodyTooLargeError as error:
            raise CrawlFolderError(f"{plain(row.url, 200)}: {error}") from None
        nosniff = "nosniff" in (message.headers.get("x-content-type-options") or "").lower()
        kind = sniffed_type(message.headers.get("content-type") or "", nosniff, content)
        return ArchivedContent(
            row.url, row.time, message.status, message.headers, kind, charset_in(message.headers), content
        )

    def _record(self, row: CaptureRow) -> Record:
        with self._reading:
            try:
                _, record = self._archive.read_as(Position(row.file, row.offset, row.size_bytes), _record_in_member)
            except (CrawlFolderError, OverflowError) as error:
                raise StaleCapturesError(str(error)) from None
        if _row_of(record, Position(row.file, row.offset, row.size_bytes)) != row:
            raise StaleCapturesError(f"{self._table.path}: it is the index of another archive")
        return record

    def _revisited(self, record: Record, row: CaptureRow) -> CaptureRow | None:
        """Return the response that a revisit refers to."""
        url = bare_uri(record.headers.get("warc-refers-to-target-uri", "")) or row.url
        time = _time_of(record.headers.get("warc-refers-to-date", ""))
        result = [other for other in self._table.find(url) if other.kind == RESPONSE and other.url == url]
        if time is not None:
            dated = [other for other in result if abs(other.time - time) < _SAME_TIME_S]
            if dated:
                return min(dated, key=lambda other: abs(other.time - time))
        same = [other for other in result if other.digest == row.digest and row.digest and other.time <= row.time]
        return max(same, key=lambda other: other.time, default=None)


def _best(rows: list[CaptureRow], url: str) -> list[CaptureRow]:
    """Select the captures of the URL itself, else of the same canonical URL, else any without redirects."""
    exact = [row for row in rows if row.url == url]
    if exact:
        return exact
    canonical = canonical_url(url)
    same = [row for row in rows if canonical_url(row.url) == canonical]
    return same or [row for row in rows if not 300 <= row.status < 400 or row.kind == REVISIT]


def _by_page(derived: list[CaptureRow], pages: list[CaptureRow]) -> dict[int, CaptureRow]:
    """Return the derived records by the index of their page: the one archived closest in time."""
    result: dict[int, CaptureRow] = {}
    for row in derived:
        nearest_page = min(range(len(pages)), key=lambda number: abs(pages[number].time - row.time), default=None)
        if nearest_page is not None:
            result[nearest_page] = row
    return result


def _is_changed(before: CaptureRow | None, dom: CaptureRow | None) -> bool:
    return before is not None and dom is not None and before.digest != dom.digest


def _differs(last: CaptureRow | None, page: CaptureRow) -> bool:
    """Whether a page differs from the one that was archived last."""
    if page.kind == REVISIT:
        return False
    return last is None or not page.digest or (page.digest, page.status) != (last.digest, last.status)


# -- records ----------------------------------------------------------------------------------------------------


def _rows_in(path: Path, file: int, start: int, size_bytes: int) -> Iterator[tuple[int, list[CaptureRow]]]:
    """Yield the rows of a file between two positions in batches, with the end of each."""
    rows: list[CaptureRow] = []
    with map_disk_errors(path):
        for member in whole_members(path, start, size_bytes):
            position = Position(file, member.offset, len(member.packed))
            row = _row(member.content, position)
            rows += [] if row is None else [row]
            end = position.offset + position.size_bytes
            if len(rows) >= _ROWS_PER_STEP or end - start >= _BYTES_PER_STEP:
                yield end, rows
                rows, start = [], end
    yield size_bytes, rows


def _record_in_member(member: bytes) -> Record:
    record = _record_in(unpacked_member(member))
    if record is None:
        raise ValueError("no record")
    return record


def _record_in(content: bytes) -> Record | None:
    return next(records(iter((content,)), _KINDS, RecordCounts(), ""), None)


def _row(content: bytes, position: Position) -> CaptureRow | None:
    record = _record_in(content)
    return None if record is None else _row_of(record, position)


def _row_of(record: Record, position: Position) -> CaptureRow | None:
    """Return the capture of a record; None if it cannot be displayed."""
    uri, time = bare_uri(record.headers.get("warc-target-uri", "")), _time_of(record.headers.get("warc-date", ""))
    prefix = next((prefix for prefix in _DERIVED_KINDS if uri.startswith(prefix)), "")
    url = uri.removeprefix(prefix)
    if time is None or not url.startswith(("http://", "https://")) or bool(prefix) != uri.startswith("urn:"):
        return None
    message = _message_of(record, _HEAD_BYTES)
    if message is None or (prefix and record.kind != "resource"):
        return None
    kind = _DERIVED_KINDS[prefix] if prefix else REVISIT if record.kind == "revisit" else RESPONSE
    digest = record.headers.get("warc-payload-digest", "")[:_MAX_TYPE_CHARS]
    media = media_type(message.headers)[:_MAX_TYPE_CHARS]
    return CaptureRow(url, kind, time, message.status, media, digest, *position)


def _message_of(record: Record, max_bytes: int | None = None) -> Message | None:
    block = record.block[:max_bytes]
    if record.kind == "resource":
        return resource_of(block, record.headers.get("content-type", ""))
    return response_of(block)


def _time_of(date: str) -> float | None:
    try:
        stated = datetime.fromisoformat(date)
        return (stated if stated.tzinfo else stated.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _size_of(archive: Archive, file: int) -> int:
    path = archive.path(file)
    return path.stat().st_size if path.exists() else archive.stored.files[file].size_bytes


def _tail(path: Path, position: int) -> bytes:
    """Return a digest of the bytes of a file before a position."""
    with path.open("rb") as file:
        file.seek(max(0, position - _TAIL_BYTES))
        return hashlib.blake2b(file.read(min(position, _TAIL_BYTES)), digest_size=16).digest()
