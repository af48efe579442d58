"""Reads files of an archive that are in an object store.

A single record is one request for its bytes. Whoever reads one record after the other gets them out of blocks of some
MiB, so that reading a whole archive takes no request a page.
"""

from __future__ import annotations

from collections import OrderedDict

from orienteer.store.failures import damaged
from orienteer.store.object_store import ObjectStore, Place
from orienteer.store.stored_files import StoredFile

_BLOCK_BYTES = 4 << 20
_MAX_BLOCKS = 8
_NEAR_BYTES = 1 << 20  # what is skipped at most where one reads on


class RemoteFiles:
    """Reads from the object stores that the files of an archive are in."""

    def __init__(self) -> None:
        self._stores: dict[Place, ObjectStore] = {}
        self._blocks: OrderedDict[tuple[str, int], bytes] = OrderedDict()  # by name and offset, the last used behind
        self._ends: dict[str, int] = {}  # by name: the end of what was read last

    def read(self, name: str, stored: StoredFile, offset: int, n_bytes: int) -> bytes:
        """These bytes of a file; they must be inside it."""
        found = self._kept(name, offset, n_bytes)
        if found is None:
            reads_on = 0 <= offset - self._ends.get(name, offset + 1) <= _NEAR_BYTES
            wanted = max(n_bytes, _BLOCK_BYTES) if reads_on else n_bytes
            block = self._asked(name, stored, offset, min(offset + wanted, stored.size_bytes))
            if reads_on:
                self._keep(name, offset, block)
            found = block[:n_bytes]
        self._ends[name] = offset + n_bytes
        return found

    def store_of(self, place: Place) -> ObjectStore:
        if place not in self._stores:
            self._stores[place] = ObjectStore(place)
        return self._stores[place]

    def _asked(self, name: str, stored: StoredFile, start: int, stop: int) -> bytes:
        found, size_bytes = self.store_of(stored.place).read(name, start, stop)
        if size_bytes != stored.size_bytes or len(found) != stop - start:
            where = stored.place.address(name)
            raise damaged(where, f"it holds {size_bytes:,} bytes, {stored.size_bytes:,} were uploaded")
        return found

    def _kept(self, name: str, offset: int, n_bytes: int) -> bytes | None:
        for (of, start), block in self._blocks.items():
            if of == name and start <= offset and offset + n_bytes <= start + len(block):
                self._blocks.move_to_end((of, start))
                return block[offset - start : offset - start + n_bytes]
        return None

    def _keep(self, name: str, offset: int, block: bytes) -> None:
        self._blocks[name, offset] = block
        if len(self._blocks) > _MAX_BLOCKS:
            self._blocks.popitem(last=False)
