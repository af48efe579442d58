"""Reads files of an archive that are in an object store.

A single record takes one range request. Sequential reads are served from blocks of 4 MiB, so that reading a whole
archive does not take a request per page.
"""

from __future__ import annotations

from collections import OrderedDict

from orienteer.store.failures import damaged
from orienteer.store.object_store import ObjectStore, StoreLocation
from orienteer.store.stored_files import StoredFile

_BLOCK_BYTES = 4 << 20
_MAX_BLOCKS = 8
_NEAR_BYTES = 1 << 20  # a read that skips at most this much counts as sequential


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
