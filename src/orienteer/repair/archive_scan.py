"""A scan of all files of an archive for intact records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from orienteer.progress import Progress, silent
from orienteer.store.archive import Archive, ArchiveEnd, Position
from orienteer.store.archive_members import whole_members
from orienteer.store.record import page_of
from orienteer.store.wrong_digests import WrongDigests

_OTHER = 0  # instead of the hash of a URL: a record that is no response


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
