"""The records of an archive that are whole, wherever they stand: all files are read from beginning to end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from orienteer.progress import Progress, silent
from orienteer.store.archive import Archive, ArchiveEnd, Position
from orienteer.store.archive_members import whole_members
from orienteer.store.record import page_of

_OTHER = 0  # in place of the hash of a URL: a record that is no response


class FoundRecord(NamedTuple):
    """A record that is whole; `url` is that of a response, "" for what is none."""

    place: Position
    url: str
    time: float


class ArchiveScan:
    """What an archive holds. `end` is behind its last whole record, `damage` says what is wrong with it."""

    def __init__(self, archive: Archive, progress: Progress = silent) -> None:
        self._archive = archive
        self._whole: dict[tuple[int, int], tuple[int, int]] = {}  # size and hash of the URL, by file and offset
        self.damage: list[str] = []
        self.missing: list[int] = []
        self.end = ArchiveEnd()
        self.n_tail_bytes = 0  # behind the end, in the last file
        self._scan(progress)

    def __len__(self) -> int:
        return len(self._whole)

    def holds(self, place: Position, url: str | None = None) -> bool:
        """Whether a whole record stands there: any, or the response of this URL."""
        size_bytes, told = self._whole.get((place.file, place.offset), (-1, 0))
        return size_bytes == place.size_bytes and (url is None or told == _hash_of(url))

    def responses_beside(self, used: set[tuple[int, int]]) -> Iterator[Position]:
        """The responses, in order, that do not stand at one of these files and offsets."""
        for (file, offset), (size_bytes, told) in self._whole.items():
            if told != _OTHER and (file, offset) not in used:
                yield Position(file, offset, size_bytes)

    def _scan(self, progress: Progress) -> None:
        numbers = self._archive.numbers()
        last = numbers[-1] if numbers else -1
        self.missing = sorted(set(range(last + 1)) - set(numbers))
        for n_done, number in enumerate(numbers):
            progress("reading the archive", n_done, len(numbers))
            with self._archive.local_copy(number) as path:
                behind, rest = self._scan_file(path, number)
            if number == last:
                self.end, self.n_tail_bytes = ArchiveEnd(number, behind), rest

    def _scan_file(self, path: Path, number: int) -> tuple[int, int]:
        """The end of its last whole record, and how many bytes stand behind it."""
        name = self._archive.path(number).name
        behind = 0
        for found in whole_records(path, number):
            if found.place.offset != behind:
                self.damage.append(f"{name}: {found.place.offset - behind:,} bytes at {behind:,}")
            behind = found.place.offset + found.place.size_bytes
            told = _hash_of(found.url) if found.url else _OTHER
            self._whole[number, found.place.offset] = found.place.size_bytes, told
        rest = path.stat().st_size - behind
        if rest:
            self.damage.append(f"{name}: the last {rest:,} bytes")
        return behind, rest


def whole_records(path: Path, number: int) -> Iterator[FoundRecord]:
    """The records of a file that are whole, in order."""
    for member in whole_members(path):
        place = Position(number, member.offset, len(member.packed))
        try:
            page = page_of(member.packed)
        except ValueError as error:
            if str(error) == "no response":
                yield FoundRecord(place, "", 0.0)
        else:
            yield FoundRecord(place, page.url, page.time)


def _hash_of(url: str) -> int:
    return hash(url) | 1  # never _OTHER
