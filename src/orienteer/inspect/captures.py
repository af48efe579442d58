"""What was archived when: every URL of an archive with the times it was archived at, and what was archived.

It is known from the archive alone, pages and the pictures and styles that they are shown with alike. The archive is
read once; from then on what was appended to it, as far as it is acknowledged (see `store/capture_table`). A record is
believed when it is read: one that is not about the URL it should be about is a StaleCapturesError.

    exact           the URL as it was asked for
    canonical       the same without fragment and visit marks
    loose           http for https, a slash more or less at the end; only what is no redirect, or it might go in circles
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from orienteer.answers.answer import charset_in, media_type
from orienteer.answers.body import BodyTooLargeError
from orienteer.answers.headers import Headers
from orienteer.answers.sniffing import sniffed_type
from orienteer.errors import CrawlFolderError
from orienteer.progress import Progress, silent
from orienteer.store.archive import Archive, Position
from orienteer.store.archive_members import unpacked_member, whole_members
from orienteer.store.capture_table import DOM, RESPONSE, REVISIT, VIEW, CaptureRow, CaptureTable, Scanned
from orienteer.store.failures import explained
from orienteer.store.folder_view import FolderView
from orienteer.url import canonical_url
from orienteer.warc.http_message import Message, content_of, resource_of, response_of
from orienteer.warc.records import Reading, Record, bare_uri, records
from orienteer.wording import plain

MAX_CONTENT_BYTES = 64 << 20  # unpacked
_KINDS = ("response", "revisit", "resource")
_MADE = {"urn:dom:": DOM, "urn:view:": VIEW, "urn:thumbnail:": VIEW}
_HEAD_BYTES = 1 << 16  # the headers of a response are looked for in so many
_TAIL_BYTES = 512
_ROWS_PER_STEP, _BYTES_PER_STEP = 1_000, 32 << 20
_MAX_TYPE_CHARS = 100
_SAME_TIME_S = 1.0  # dates of records may be rounded


class StaleCapturesError(CrawlFolderError):
    """What is known of the archive is not what stands in it: it must be read again."""


class ArchivedContent(NamedTuple):
    """What a record holds, unpacked: its status and headers, its media type and charset, and where it was found."""

    url: str
    time: float
    status: int
    headers: Headers
    type: str
    charset: str | None
    content: bytes


class ArchivedTime(NamedTuple):
    """A time at which a page was archived; `dom` is the page as a browser showed it then, `view` a picture of that.

    `changed` says whether it was another page than the time before; None the first time.
    """

    capture: CaptureRow
    dom: CaptureRow | None
    view: CaptureRow | None
    changed: bool | None

    @property
    def time(self) -> float:
        return self.capture.time


class Captures:
    """The captures of a crawl folder. Several threads may look things up, while one reads what is new."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._table = CaptureTable(folder)
        self._archive = Archive(folder / "archive", read_only=True)
        self._reading = threading.Lock()  # an archive is read by one at a time

    def close(self) -> None:
        self._table.close()
        with self._reading:
            self._archive.close()

    def forget(self) -> None:
        """What is known of the archive is wrong."""
        self._table.forget()

    # -- reading the archive ------------------------------------------------------------------------------------

    def update(
        self, progress: Progress = silent, with_stored: bool = True, stopped: Callable[[], bool] = lambda: False
    ) -> None:
        """Read what is not known yet; with `with_stored` also files that are in an object store alone.

        It ends early where `stopped` says so.
        """
        with FolderView.open(self._folder) as crawl:
            end = crawl.archive.end
        with closing(Archive(self._folder / "archive", end, read_only=True)) as archive:
            sizes = {file: _size_of(archive, file) for file in archive.numbers() if file < end.file}
            sizes |= {end.file: end.size_bytes} if end.size_bytes else {}
            known = self._still_right(archive, sizes)
            n_done, n_bytes = 0, sum(sizes.values())
            for file, size_bytes in sizes.items():
                start = known[file].size_bytes if file in known else 0
                if start < size_bytes and (with_stored or archive.path(file).exists()):
                    with archive.local_copy(file) as path:
                        for place in self._scan(path, file, size_bytes):
                            progress("reading the archive", n_done + place, n_bytes)
                            if stopped():
                                return
                n_done += size_bytes

    def _still_right(self, archive: Archive, sizes: dict[int, int]) -> dict[int, Scanned]:
        """How far the files were read; one that is no longer what it was is forgotten."""
        known = self._table.scanned()
        for file, scanned in list(known.items()):
            path = archive.path(file)
            is_right = scanned.size_bytes <= sizes.get(file, 0)
            if not is_right or (path.exists() and _tail(path, scanned.size_bytes) != scanned.tail):
                self._table.forget(file)
                del known[file]
        return known

    def _scan(self, path: Path, file: int, size_bytes: int) -> Iterator[int]:
        """Read a file on to a place, step by step; yields how far it has come."""
        while True:
            before = self._table.scanned().get(file)
            start = before.size_bytes if before else 0
            if start >= size_bytes:
                return
            for place, rows in _found(path, file, start, size_bytes):
                after = Scanned(place, _tail(path, place))
                if not self._table.take(file, before, after, rows):
                    break  # another process reads it, too: go on where that one is
                before = after
                yield place

    # -- looking things up --------------------------------------------------------------------------------------

    def times_of(self, url: str) -> list[ArchivedTime]:
        """The times at which a page was archived, the first one first."""
        rows = self._table.of(url)
        pages = _best([row for row in rows if row.kind in (RESPONSE, REVISIT)], url)
        doms = _by_page([row for row in rows if row.kind == DOM], pages)
        views = _by_page([row for row in rows if row.kind == VIEW], pages)
        found: list[ArchivedTime] = []
        last: CaptureRow | None = None  # that had a content
        for number, page in enumerate(pages):
            before = found[-1] if found else None
            is_revisit = page.kind == REVISIT and before is not None
            dom = doms.get(number) or (before.dom if is_revisit and before else None)
            view = views.get(number) or (before.view if is_revisit and before else None)
            changed = None if before is None else _is_changed(before.dom, dom) or _is_another(last, page)
            last = last if page.kind == REVISIT else page
            found.append(ArchivedTime(page, dom, view, changed))
        return found

    def nearest(self, url: str, time: float) -> CaptureRow | None:
        """What was archived of a URL next to a time, before it or after it."""
        rows = [row for row in self._table.of(url) if row.kind in (RESPONSE, REVISIT)]
        return min(_best(rows, url), key=lambda row: (abs(row.time - time), -row.time), default=None)

    def newest_view(self, url: str) -> CaptureRow | None:
        """The newest picture of a page."""
        views = [row for row in self._table.of(url) if row.kind == VIEW]
        return max(_best(views, url), key=lambda row: row.time, default=None)

    def is_here(self, row: CaptureRow) -> bool:
        """Whether it can be read without an object store."""
        return self._archive.path(row.file).exists()

    def __len__(self) -> int:
        return len(self._table)

    # -- reading what was found ---------------------------------------------------------------------------------

    def content(self, row: CaptureRow) -> ArchivedContent | None:
        """What a record holds; of a revisit what stands in the record it points to, None where that is not there."""
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
            raise StaleCapturesError(f"{self._table.path}: it tells of another archive than the one beside it")
        return record

    def _revisited(self, record: Record, row: CaptureRow) -> CaptureRow | None:
        """The response that a revisit points to."""
        url = bare_uri(record.headers.get("warc-refers-to-target-uri", "")) or row.url
        time = _time_of(record.headers.get("warc-refers-to-date", ""))
        found = [other for other in self._table.of(url) if other.kind == RESPONSE and other.url == url]
        if time is not None:
            dated = [other for other in found if abs(other.time - time) < _SAME_TIME_S]
            if dated:
                return min(dated, key=lambda other: abs(other.time - time))
        same = [other for other in found if other.digest == row.digest and row.digest and other.time <= row.time]
        return max(same, key=lambda other: other.time, default=None)


def _best(rows: list[CaptureRow], url: str) -> list[CaptureRow]:
    """Of records of a URL and its like, those of the URL itself, or else what may stand for it."""
    exact = [row for row in rows if row.url == url]
    if exact:
        return exact
    canonical = canonical_url(url)
    same = [row for row in rows if canonical_url(row.url) == canonical]
    return same or [row for row in rows if not 300 <= row.status < 400 or row.kind == REVISIT]


def _by_page(made: list[CaptureRow], pages: list[CaptureRow]) -> dict[int, CaptureRow]:
    """What was made of pages, by the number of the page it was made of: the one that was archived next to it."""
    found: dict[int, CaptureRow] = {}
    for row in made:
        near = min(range(len(pages)), key=lambda number: abs(pages[number].time - row.time), default=None)
        if near is not None:
            found[near] = row
    return found


def _is_changed(before: CaptureRow | None, dom: CaptureRow | None) -> bool:
    return before is not None and dom is not None and before.digest != dom.digest


def _is_another(last: CaptureRow | None, page: CaptureRow) -> bool:
    """Whether a page is another one than that which was archived last."""
    if page.kind == REVISIT:
        return False
    return last is None or not page.digest or (page.digest, page.status) != (last.digest, last.status)


# -- records ----------------------------------------------------------------------------------------------------


def _found(path: Path, file: int, start: int, size_bytes: int) -> Iterator[tuple[int, list[CaptureRow]]]:
    """The rows of a file between two places, some at a time, and how far each of these steps goes."""
    rows: list[CaptureRow] = []
    with explained(path):
        for member in whole_members(path, start, size_bytes):
            place = Position(file, member.offset, len(member.packed))
            row = _row(member.content, place)
            rows += [] if row is None else [row]
            end = place.offset + place.size_bytes
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
    return next(records(iter((content,)), _KINDS, Reading(), ""), None)


def _row(content: bytes, place: Position) -> CaptureRow | None:
    record = _record_in(content)
    return None if record is None else _row_of(record, place)


def _row_of(record: Record, place: Position) -> CaptureRow | None:
    """What is kept of a record; None where it cannot be shown."""
    uri, time = bare_uri(record.headers.get("warc-target-uri", "")), _time_of(record.headers.get("warc-date", ""))
    prefix = next((prefix for prefix in _MADE if uri.startswith(prefix)), "")
    url = uri.removeprefix(prefix)
    if time is None or not url.startswith(("http://", "https://")) or bool(prefix) != uri.startswith("urn:"):
        return None
    message = _message_of(record, _HEAD_BYTES)
    if message is None or (prefix and record.kind != "resource"):
        return None
    kind = _MADE[prefix] if prefix else REVISIT if record.kind == "revisit" else RESPONSE
    digest = record.headers.get("warc-payload-digest", "")[:_MAX_TYPE_CHARS]
    media = media_type(message.headers)[:_MAX_TYPE_CHARS]
    return CaptureRow(url, kind, time, message.status, media, digest, *place)


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


def _tail(path: Path, place: int) -> bytes:
    """A digest of the bytes of a file before a place."""
    with path.open("rb") as file:
        file.seek(max(0, place - _TAIL_BYTES))
        return hashlib.blake2b(file.read(min(place, _TAIL_BYTES)), digest_size=16).digest()
