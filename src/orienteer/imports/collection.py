"""What a collection has of each URL: the newest answer, in flat arrays of some sixty bytes besides the URL."""

from __future__ import annotations

from array import array
from typing import BinaryIO, NamedTuple

import numpy as np
from isal import isal_zlib

from orienteer.graph.url_table import GrowingUrlTable, UrlTable
from orienteer.pages.outcome import Outcome
from orienteer.store.archive import Position

_OUTCOMES = list(Outcome)
_SPOOLED = -1  # in place of a file's number: the answer waits in the spool
_NOWHERE = -2  # the answer is known, its content is not kept
_MAX_TYPES = 10_000  # whatever is beyond was made up
_DIGEST_BYTES = 20
_NO_DIGEST = bytes(_DIGEST_BYTES)


class Entry(NamedTuple):
    """An answer: when it came, what it was, and where it stands: in the archive, in the spool, or nowhere."""

    time: float
    outcome: Outcome
    status: int
    content_type: str = ""
    archived: Position | None = None
    spooled: tuple[int, int] | None = None

    @property
    def is_page(self) -> bool:
        """Whether there is something to be read, or another name for it."""
        return self.outcome in (Outcome.OK, Outcome.REDIRECT)

    @property
    def told_from(self) -> Position | None:
        """Where the answer stands that a crawl is told; of what is only shown with pages it need not know more."""
        return None if self.outcome is Outcome.UNWANTED_TYPE else self.archived


class Collection:
    """The newest entry of each URL, by its place: the order in which URLs were first met."""

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

    def add(self, url: str, entry: Entry, digest: bytes | None = None) -> None:
        """`digest` is that of the payload, as the collection states it. Of two entries the newer counts."""
        place = int(self._growing.intern([url])[0])
        self._urls = None
        if place == len(self):
            self._times.append(entry.time)
            for column in (self._outcomes, self._statuses, self._types, self._files, self._offsets, self._sizes):
                column.append(0)
            self._digests += _NO_DIGEST
        elif entry.time < self._times[place]:
            return
        self._times[place] = entry.time
        self._outcomes[place] = _OUTCOMES.index(entry.outcome)
        self._statuses[place] = entry.status
        self._types[place] = self._type_number(entry.content_type[:100])
        self._files[place], self._offsets[place], self._sizes[place] = _where(entry)
        self._digests[_DIGEST_BYTES * place : _DIGEST_BYTES * (place + 1)] = digest or _NO_DIGEST

    def find(self, url: str) -> int | None:
        """The place of a URL; None where nothing is known of it."""
        return self.urls.find(url)

    @property
    def urls(self) -> UrlTable:
        if self._urls is None:
            self._urls = self._growing.freeze()
        return self._urls

    def entry(self, place: int) -> Entry:
        file, offset, size = self._files[place], self._offsets[place], self._sizes[place]
        return Entry(
            self._times[place],
            _OUTCOMES[self._outcomes[place]],
            self._statuses[place],
            self._type_names[self._types[place]],
            Position(file, offset, size) if file >= 0 else None,
            (offset, size) if file == _SPOOLED else None,
        )

    def time_span(self) -> tuple[float, float]:
        """When the first and the last answer came; there must be one."""
        return min(self._times), max(self._times)

    def digest(self, place: int) -> bytes | None:
        found = bytes(self._digests[_DIGEST_BYTES * place : _DIGEST_BYTES * (place + 1)])
        return None if found == _NO_DIGEST else found

    def with_digests(self, digests: set[bytes]) -> dict[bytes, int]:
        """For these digests the place of an entry in the archive that has it, where there is one."""
        if not digests or not len(self):
            return {}
        wanted = np.frombuffer(b"".join(sorted(digests)), f"V{_DIGEST_BYTES}")
        mine = np.frombuffer(bytes(self._digests), f"V{_DIGEST_BYTES}")
        found = np.flatnonzero(np.isin(mine, wanted) & (np.frombuffer(self._files, np.intc) >= 0))
        return {bytes(mine[place]): place for place in found.tolist()}

    def _type_number(self, name: str) -> int:
        number = self._type_numbers.get(name)
        if number is not None or len(self._type_names) > _MAX_TYPES:
            return number or 0
        self._type_numbers[name] = len(self._type_names)
        self._type_names.append(name)
        return self._type_numbers[name]


def _where(entry: Entry) -> tuple[int, int, int]:
    if entry.archived is not None:
        return entry.archived
    return (_NOWHERE, 0, 0) if entry.spooled is None else (_SPOOLED, *entry.spooled)


class Spool:
    """Small texts that are read again later, packed, in a file of its own."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._end = 0

    def append(self, text: bytes) -> tuple[int, int]:
        """Where it stands: its first byte, and how many they are."""
        packed = isal_zlib.compress(text, 1)
        self._file.seek(self._end)
        self._file.write(packed)
        self._end += len(packed)
        return self._end - len(packed), len(packed)

    def read(self, place: tuple[int, int]) -> bytes:
        self._file.seek(place[0])
        return bytes(isal_zlib.decompress(self._file.read(place[1])))
