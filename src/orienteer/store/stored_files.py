"""The files of an archive that are in an object store: their list, archive/stored.json, and reading them.

A file is listed when its upload is confirmed, and only then may it be deleted locally. The list is signed (see
`files/signing`), since it names servers to connect to: the list of another user is ignored until the user has named the
same location.

A *sealed* file is complete although it is small: the next record begins a new file.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from dataclasses import astuple
from pathlib import Path
from typing import Any, NamedTuple

from orienteer.errors import CrawlFolderError, InputError
from orienteer.files.plain import make_plain_folder, write_durably
from orienteer.files.signing import is_signed, signature
from orienteer.store.failures import damaged, map_disk_errors
from orienteer.store.object_store import ObjectStore, StoreLocation, parse_location
from orienteer.wording import plain

STORED = "stored.json"
_PURPOSE = "where the files of an archive are"
_MAX_BYTES = 64 << 20
_MAX_FILES = 1_000_000
_BLOCK_BYTES = 4 << 20
_MAX_BLOCKS = 8
_NEAR_BYTES = 1 << 20  # a read that skips at most this much counts as sequential


class StoredFile(NamedTuple):
    """A file of the archive, as it was when its upload was confirmed."""

    location: StoreLocation
    size_bytes: int
    sha256: str


class StoredFiles:
    """The list in the folder of an archive; without one, no file is in an object store.

    `problem` is the last error of an upload, "" if there is none.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / STORED
        self.files: dict[int, StoredFile] = {}
        self.sealed: set[int] = set()
        self.problem = ""
        self.is_ours = True
        self.read()

    def read(self) -> None:
        """Read the file again: another process may have written it."""
        with map_disk_errors(self.path):
            try:
                descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            except FileNotFoundError:
                return
            with os.fdopen(descriptor, "rb") as file:
                text = file.read(_MAX_BYTES)
        try:
            self._load(json.loads(text))
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, InputError) as error:
            raise damaged(self.path, error) from None

    def add(self, number: int, stored: StoredFile) -> None:
        """List a file whose upload is confirmed; durable on return."""
        self.files[number] = stored
        self.problem = ""
        self._write()

    def seal(self, number: int) -> None:
        """Mark a file as complete; durable on return."""
        if number not in self.sealed:
            self.sealed.add(number)
            self._write()

    def record_problem(self, problem: str) -> None:
        if problem != self.problem:
            self.problem = problem
            self._write()

    def allow(self, location: StoreLocation) -> None:
        """Trust the list if it names no location but this one, which the user has named."""
        if not self.is_ours and {stored.location for stored in self.files.values()} <= {location}:
            self.is_ours = True
            self._write()

    def expect_allowed(self, number: int) -> None:
        """Raise an error if the location of a file comes from an untrusted list."""
        if not self.is_ours:
            location = self.files[number].location
            where = plain(location.url, 200) + (f" at {plain(location.endpoint, 200)}" if location.endpoint else "")
            raise CrawlFolderError(
                f"{self.path}: a file of the archive is in {where}, which is not known to be yours; "
                f"`orienteer upload DIR --archive-to {plain(location.url, 200)}` allows to read it"
            )

    @property
    def can_be_signed(self) -> bool:
        """Whether the list can be signed, so that this user's next process trusts it."""
        return self.is_ours and signature(_PURPOSE, ()) is not None

    def _load(self, tables: dict[str, Any]) -> None:
        locations = [parse_location(*_texts(values)) for values in tables["places"]]
        files = {
            int(number): StoredFile(locations[int(index)], int(size_bytes), str(sha256))
            for number, (index, size_bytes, sha256) in tables["files"].items()
        }
        if not all(0 <= number < _MAX_FILES and stored.size_bytes > 0 for number, stored in files.items()):
            raise ValueError("impossible number or size of a file")
        sealed, problem = set(map(int, tables["sealed"])), plain(str(tables["trouble"]), 300)
        signed = bytes.fromhex(tables["signature"])
        # Assign only when all is parsed: the list is read again while it is in use.
        self.files, self.sealed, self.problem = files, sealed, problem
        self.is_ours = not files or is_signed(signed, _PURPOSE, [self._content()])

    def _tables(self) -> dict[str, Any]:
        locations = list(dict.fromkeys(stored.location for stored in self.files.values()))
        return {
            "places": [astuple(location) for location in locations],
            "files": {
                str(number): [locations.index(stored.location), stored.size_bytes, stored.sha256]
                for number, stored in sorted(self.files.items())
            },
            "sealed": sorted(self.sealed),
        }

    def _content(self) -> bytes:
        """Return the signed content."""
        return json.dumps(self._tables()).encode()

    def _write(self) -> None:
        signed = signature(_PURPOSE, [self._content()]) if self.is_ours else None
        tables = self._tables() | {"trouble": self.problem, "signature": (signed or b"").hex()}
        with map_disk_errors(self.path):
            make_plain_folder(self.path.parent)
            write_durably(self.path, json.dumps(tables, indent=1) + "\n")


def _texts(values: Any) -> tuple[str, str | None, str | None]:
    url, endpoint, region = values
    if not all(text is None or isinstance(text, str) for text in values):
        raise TypeError("a location is not a list of texts")
    return url, endpoint, region


class RemoteFiles:
    """Reads from the object stores that the files of an archive are in."""

    def __init__(self) -> None:
        self._stores: dict[StoreLocation, ObjectStore] = {}
        self._blocks: OrderedDict[tuple[str, int], bytes] = OrderedDict()  # by name and offset, in LRU order
        self._ends: dict[str, int] = {}  # by name: the end of the last read

    def read(self, name: str, stored: StoredFile, offset: int, n_bytes: int) -> bytes:
        """Return the bytes of a file from `offset` on; they must be inside it."""
        data = self._cached(name, offset, n_bytes)
        if data is None:
            is_sequential = 0 <= offset - self._ends.get(name, offset + 1) <= _NEAR_BYTES
            n_read = max(n_bytes, _BLOCK_BYTES) if is_sequential else n_bytes
            block = self._fetch(name, stored, offset, min(offset + n_read, stored.size_bytes))
            if is_sequential:
                self._cache(name, offset, block)
            data = block[:n_bytes]
        self._ends[name] = offset + n_bytes
        return data

    def store_of(self, location: StoreLocation) -> ObjectStore:
        if location not in self._stores:
            self._stores[location] = ObjectStore(location)
        return self._stores[location]

    def _fetch(self, name: str, stored: StoredFile, start: int, stop: int) -> bytes:
        data, size_bytes = self.store_of(stored.location).read(name, start, stop)
        if size_bytes != stored.size_bytes or len(data) != stop - start:
            where = stored.location.address(name)
            raise damaged(where, f"it holds {size_bytes:,} bytes, {stored.size_bytes:,} were uploaded")
        return data

    def _cached(self, name: str, offset: int, n_bytes: int) -> bytes | None:
        for (of, start), block in self._blocks.items():
            if of == name and start <= offset and offset + n_bytes <= start + len(block):
                self._blocks.move_to_end((of, start))
                return block[offset - start : offset - start + n_bytes]
        return None

    def _cache(self, name: str, offset: int, block: bytes) -> None:
        self._blocks[name, offset] = block
        if len(self._blocks) > _MAX_BLOCKS:
            self._blocks.popitem(last=False)
