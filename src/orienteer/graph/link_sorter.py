"""Links in any order, more of them than memory holds, become a graph.

While the links fit in `memory_bytes` they stay in memory. Beyond, they go to a temporary folder (where the system
keeps such: TMPDIR), are split there by ranges of their sources, and each range is sorted in memory on its own:

    add, add, ...  ->  pairs.bin  ->  range-0.bin, range-1.bin, ...  ->  targets.bin, mapped by the graph

The temporary folder lives as long as the graph that is mapped from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph import csr
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.scratch import ScratchFolder
from orienteer.graph.url_table import UrlTable

DEFAULT_MEMORY_BYTES = 3 << 30
_BYTES_PER_LINK_IN_MEMORY = 24  # the pair, its grouped copy, its sorted copy
_CHUNK_LINKS = 1 << 22


class LinkSorter:
    """Collects links; `graph` gives the LinkGraph of them."""

    def __init__(self, memory_bytes: int = DEFAULT_MEMORY_BYTES) -> None:
        self._links_in_memory = max(1, memory_bytes // _BYTES_PER_LINK_IN_MEMORY)
        self._held: list[tuple[NDArray[np.uint32], NDArray[np.uint32]]] = []
        self._n_held = 0
        self._n_links = 0
        self._max_id = -1
        self._folder: ScratchFolder | None = None

    def __enter__(self) -> LinkSorter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # After a success the graph owns the folder; after a failure nobody does.
        if self._folder is not None and error is not None:
            self._folder.remove()

    def add(self, sources: NDArray[Any], targets: NDArray[Any]) -> None:
        """Take more links; ids from 0 to 2^32 - 2."""
        if len(sources) == 0:
            return
        for ids in (sources, targets):
            if int(ids.min()) < 0:
                raise InputError(f"page id {int(ids.min())} is negative")
            self._max_id = max(self._max_id, int(ids.max()))
        if self._max_id >= csr.MAX_PAGES:
            raise InputError(f"page id {self._max_id} is too large: ids are below {csr.MAX_PAGES:,}")
        self._held.append((sources.astype(np.uint32), targets.astype(np.uint32)))
        self._n_held += len(sources)
        self._n_links += len(sources)
        if self._n_held > self._links_in_memory:
            self._spill()

    def graph(
        self, n_pages: int | None = None, hosts: NDArray[Any] | None = None, urls: UrlTable | None = None
    ) -> LinkGraph:
        """The graph of all links; without `n_pages` it ends at the highest id seen."""
        if n_pages is None:
            n_pages = self._max_id + 1
            if n_pages > 10_000_000 + 1000 * self._n_links:
                raise InputError(f"page ids up to {self._max_id} in only {self._n_links} links: number pages densely")
        elif self._max_id >= n_pages:
            raise InputError(f"page {self._max_id} is not in the graph (pages are 0 to {n_pages - 1})")
        if self._folder is not None:
            self._spill()
            offsets, targets = self._sorted_on_disk(n_pages, self._folder.path)
            return LinkGraph(offsets, targets, hosts, urls, resource=self._folder)
        none = np.empty(0, np.uint32)
        sources, targets = (np.concatenate([none, *(pair[side] for pair in self._held)]) for side in (0, 1))
        self._held.clear()
        return LinkGraph(*csr.proper_rows(n_pages, sources, targets), hosts, urls)

    def _spill(self) -> None:
        if self._folder is None:
            self._folder = ScratchFolder()
        with (self._folder.path / "pairs.bin").open("ab") as out:
            for sources, targets in self._held:
                out.write(_keys(sources, targets).data)
        self._held.clear()
        self._n_held = 0

    def _sorted_on_disk(self, n_pages: int, folder: Path) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Sort range by range of sources; each range is small enough for memory."""
        pairs = folder / "pairs.bin"
        degrees = np.zeros(n_pages, np.int64)
        for keys in _blocks(pairs):
            degrees += np.bincount((keys >> np.uint64(32)).astype(np.int64), minlength=n_pages)
        firsts = _range_starts(degrees, self._links_in_memory)
        _split(pairs, firsts, folder)
        pairs.unlink()
        degrees[:] = 0
        with (folder / "targets.bin").open("wb") as out:
            for k in range(len(firsts)):
                file = folder / f"range-{k}.bin"
                if not file.exists():
                    continue
                keys = _proper_keys(np.fromfile(file, np.uint64))
                file.unlink()
                sources = (keys >> np.uint64(32)).astype(np.int64)
                out.write(keys.astype(np.uint32).data)
                degrees += np.bincount(sources, minlength=n_pages)
        offsets = np.zeros(n_pages + 1, np.int64)
        np.cumsum(degrees, out=offsets[1:])
        if offsets[-1] == 0:
            return offsets, np.empty(0, np.uint32)
        return offsets, np.memmap(folder / "targets.bin", np.uint32, "c")


def _keys(sources: NDArray[np.uint32], targets: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """A link as one number that sorts by source, then target."""
    return (sources.astype(np.uint64) << np.uint64(32)) | targets


def _proper_keys(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Sorted, without repeats and self-links."""
    keys = np.unique(keys)
    is_self_link: NDArray[np.bool_] = (keys >> np.uint64(32)) == (keys & np.uint64(0xFFFFFFFF))
    kept: NDArray[np.uint64] = keys[~is_self_link]
    return kept


def _blocks(file: Path) -> Iterator[NDArray[np.uint64]]:
    with file.open("rb") as raw:
        while len(block := np.fromfile(raw, np.uint64, _CHUNK_LINKS)):
            yield block


def _range_starts(degrees: NDArray[np.int64], links_per_range: int) -> NDArray[np.int64]:
    """First source of each range; a range holds at most `links_per_range` links, or one page."""
    range_of = np.cumsum(degrees) // links_per_range
    return np.flatnonzero(np.diff(range_of, prepend=-1)).astype(np.int64)


def _split(pairs: Path, firsts: NDArray[np.int64], folder: Path) -> None:
    """Deal the links out to one file per range of sources."""
    for keys in _blocks(pairs):
        range_of = np.searchsorted(firsts, (keys >> np.uint64(32)).astype(np.int64), side="right") - 1
        order = np.argsort(range_of, kind="stable")
        bounds = np.searchsorted(range_of[order], np.arange(len(firsts) + 1))
        for k in np.flatnonzero(np.diff(bounds)):
            with (folder / f"range-{k}.bin").open("ab") as out:
                out.write(keys[order[bounds[k] : bounds[k + 1]]].data)
