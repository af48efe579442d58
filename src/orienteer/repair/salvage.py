"""What is intact in a damaged folder: the records of its archive, and the rows of an SQLite file.

Unreadable ranges of rows are bisected and skipped.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from orienteer.errors import CrawlFolderError
from orienteer.files.plain import Closeable
from orienteer.progress import Progress, silent
from orienteer.store.archive import Archive, ArchiveEnd, Position
from orienteer.store.archive_members import whole_members
from orienteer.store.connection import connected
from orienteer.store.record import page_of
from orienteer.store.schema import RANGES, Range, RowRanges
from orienteer.store.wrong_digests import WrongDigests

_ROWS_AT_ONCE = 2_048
_MAX_FAILURES = 20_000  # failed reads of a table, after which the remaining rows are abandoned
_MIN_ROW_BYTES = 4
_ERRORS = (sqlite3.Error, UnicodeDecodeError, OverflowError)


_OTHER = 0  # instead of the hash of a URL: a record that is no response


class Salvage(Closeable):
    """A database that may be damaged or missing. `n_lost` counts invalid and unreadable rows, and ranges of those."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.n_lost = 0
        self._connection: sqlite3.Connection | None = None
        try:
            self._connection = connected(path, read_only=True)
        except (CrawlFolderError, OSError, *_ERRORS):
            self.n_lost += 1

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def is_sound(self) -> bool:
        """Return whether the file passes the integrity check of SQLite."""
        try:
            return self._all("PRAGMA integrity_check(1)") == [("ok",)]
        except _ERRORS:
            return False

    def rows(self, table: str, key: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table in the order of its integer key; missing columns are None."""
        existing = self._columns(table)
        if not existing or self._connection is None:
            return
        named = ", ".join((key, *(name if name in existing else "NULL" for name in columns)))
        first = 0
        try:
            while batch := self._all(
                f"SELECT {named} FROM {table} WHERE {key} >= ? ORDER BY {key} LIMIT ?", first, _ROWS_AT_ONCE
            ):
                yield from (row[1:] for row in batch)
                first = batch[-1][0] + 1
            return
        except _ERRORS:
            pass  # from here on in ranges that are bisected
        sql = f"SELECT {named} FROM {table} WHERE {key} >= ? AND {key} < ? ORDER BY {key}"
        failures = [0]
        end = self._end(table, key, first)
        for start in range(first, end, _ROWS_AT_ONCE):
            for row in self._between(sql, start, min(start + _ROWS_AT_ONCE, end), failures):
                yield row[1:]
            if failures[0] > _MAX_FAILURES:
                return

    def valid_rows(
        self, table: str, key: str, columns: Sequence[str], ranges: Mapping[str, Range] = RANGES
    ) -> Iterator[tuple[Any, ...]]:
        """Yield those of `rows` that a crawl can have written."""
        return self._valid(self.rows(table, key, columns), RowRanges(columns, ranges))

    def all_rows_of(self, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the valid rows of a table without an integer key, up to the first unreadable one."""
        if self._connection is None or not self._columns(table):
            return
        try:
            rows = self._connection.execute(f"SELECT {', '.join(columns)} FROM {table}")
            yield from self._valid(rows, RowRanges(columns))
        except _ERRORS:
            self.n_lost += 1

    def _valid(self, rows: Iterator[tuple[Any, ...]], ranges: RowRanges) -> Iterator[tuple[Any, ...]]:
        for row in rows:
            try:
                ranges.check(row)
            except ValueError:
                self.n_lost += 1
            else:
                yield row

    def _columns(self, table: str) -> set[str]:
        """Return the names of the columns; empty if the table is missing or unreadable."""
        try:
            return {name for _, name, *_ in self._all(f"PRAGMA table_info({table})")}
        except _ERRORS:
            return set()

    def max_rows(self) -> int:
        """Return an upper bound for the rows of a table, from the size of the file."""
        return self.path.stat().st_size // _MIN_ROW_BYTES

    def _end(self, table: str, key: str, first: int) -> int:
        """Return an upper bound for the keys. Keys after `first` are nearly dense, so the file size bounds them."""
        most = first + self.max_rows()
        try:
            ((last,),) = self._all(f"SELECT max({key}) FROM {table}")
        except _ERRORS:
            return most
        return min(last + 1, most) if isinstance(last, int) else 0

    def _between(self, sql: str, first: int, end: int, failures: list[int]) -> Iterator[tuple[Any, ...]]:
        try:
            rows = self._all(sql, first, end)
        except _ERRORS:
            failures[0] += 1
            if end - first == 1 or failures[0] > _MAX_FAILURES:
                self.n_lost += 1
                return
            middle = (first + end) // 2
            yield from self._between(sql, first, middle, failures)
            yield from self._between(sql, middle, end, failures)
        else:
            yield from rows

    def _all(self, sql: str, *values: int) -> list[tuple[Any, ...]]:
        if self._connection is None:
            return []
        return self._connection.execute(sql, values).fetchall()


class FoundRecord(NamedTuple):
    """An intact record; `url` is "" if it is no response."""

    position: Position
    url: str
    time: float


class ArchiveScan:
    """The intact records of an archive. `end` is the end of the last one, `damage` describes the damaged ranges."""

    def __init__(self, archive: Archive, progress: Progress = silent) -> None:
        self._archive = archive
        self._intact: dict[tuple[int, int], tuple[int, int]] = {}  # size and hash of the URL, by file and offset
        self.wrong_digests = WrongDigests()
        self.damage: list[str] = []
        self.missing: list[int] = []
        self.end = ArchiveEnd()
        self.n_tail_bytes = 0  # after the end, in the last file
        self._scan(progress)

    def __len__(self) -> int:
        return len(self._intact)

    def holds(self, position: Position, url: str | None = None) -> bool:
        """Return whether an intact record is at this position: any record, or the response of `url`."""
        size_bytes, url_hash = self._intact.get((position.file, position.offset), (-1, 0))
        return size_bytes == position.size_bytes and (url is None or url_hash == _hash_of(url))

    def unused_responses(self, used: set[tuple[int, int]]) -> Iterator[Position]:
        """Yield the responses, in order, that are not at one of these files and offsets."""
        for (file, offset), (size_bytes, url_hash) in self._intact.items():
            if url_hash != _OTHER and (file, offset) not in used:
                yield Position(file, offset, size_bytes)

    def _scan(self, progress: Progress) -> None:
        numbers = self._archive.numbers()
        last = numbers[-1] if numbers else -1
        self.missing = sorted(set(range(last + 1)) - set(numbers))
        for n_done, number in enumerate(numbers):
            progress("reading the archive", n_done, len(numbers))
            with self._archive.local_copy(number) as path:
                end, n_tail_bytes = self._scan_file(path, number)
                self.wrong_digests.scan_file(path, number)
            if number == last:
                self.end, self.n_tail_bytes = ArchiveEnd(number, end), n_tail_bytes

    def _scan_file(self, path: Path, number: int) -> tuple[int, int]:
        """Return the end of the last intact record, and the number of bytes after it."""
        name = self._archive.path(number).name
        end = 0
        for record in intact_records(path, number):
            offset, size_bytes = record.position.offset, record.position.size_bytes
            if offset != end:
                self.damage.append(f"{name}: {offset - end:,} bytes at {end:,}")
            end = offset + size_bytes
            self._intact[number, offset] = size_bytes, _hash_of(record.url) if record.url else _OTHER
        n_tail_bytes = path.stat().st_size - end
        if n_tail_bytes:
            self.damage.append(f"{name}: the last {n_tail_bytes:,} bytes")
        return end, n_tail_bytes


def intact_records(path: Path, number: int) -> Iterator[FoundRecord]:
    """Yield the intact records of a file, in order."""
    for member in whole_members(path):
        position = Position(number, member.offset, len(member.packed))
        try:
            page = page_of(member.packed)
        except ValueError as error:
            if str(error) == "no response":
                yield FoundRecord(position, "", 0.0)
        else:
            yield FoundRecord(position, page.url, page.time)


def _hash_of(url: str) -> int:
    return hash(url) | 1  # never _OTHER
