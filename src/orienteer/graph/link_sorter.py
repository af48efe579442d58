"""External sort of links: build a graph from links in any order, also if they exceed memory.

Links stay in memory while they fit in `memory_bytes`. More links go to a temporary folder (in TMPDIR), are partitioned
there by ranges of their sources, and each range is sorted in memory:

    add, add, ...  ->  pairs.bin  ->  range-0.bin, range-1.bin, ...  ->  targets.bin, mapped by the graph

The temporary folder lives as long as the graph that is mapped from it.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph import csr
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.url_table import UrlTable
from orienteer.kernel import allocating_kernel

DEFAULT_MEMORY_BYTES = 3 << 30
_BYTES_PER_LINK_IN_MEMORY = 24  # the pair, its grouped copy, its sorted copy
_CHUNK_LINKS = 1 << 22


class ScratchFolder:
    """A new folder for temporary files (in TMPDIR), removed with this object or at exit.

    Unlike tempfile.TemporaryDirectory it does not warn when it is garbage-collected: graphs are never closed.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="orienteer-"))
        self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class LinkSorter:
    """Collects links; `graph` builds the LinkGraph from them."""

    def __init__(self, memory_bytes: int = DEFAULT_MEMORY_BYTES) -> None:
        self._links_in_memory = max(1, memory_bytes // _BYTES_PER_LINK_IN_MEMORY)
        self._buffered: list[tuple[NDArray[np.uint32], NDArray[np.uint32]]] = []
        self._n_buffered = 0
        self._n_links = 0
        self._max_id = -1
        self._folder: ScratchFolder | None = None

    def __enter__(self) -> LinkSorter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # After a success the graph owns the folder.
        if self._folder is not None and error is not None:
            self._folder.remove()

    def add(self, sources: NDArray[Any], targets: NDArray[Any]) -> None:
        """Add links; ids are from 0 to 2^32 - 2."""
        if len(sources) == 0:
            return
        for ids in (sources, targets):
            if int(ids.min()) < 0:
                raise InputError(f"page id {int(ids.min())} is negative")
            self._max_id = max(self._max_id, int(ids.max()))
        if self._max_id >= csr.MAX_PAGES:
            raise InputError(f"page id {self._max_id} is too large: ids are below {csr.MAX_PAGES:,}")
        self._buffered.append((sources.astype(np.uint32), targets.astype(np.uint32)))
        self._n_buffered += len(sources)
        self._n_links += len(sources)
        if self._n_buffered > self._links_in_memory:
            self._spill()

    def graph(
        self, n_pages: int | None = None, hosts: NDArray[Any] | None = None, urls: UrlTable | None = None
    ) -> LinkGraph:
        """Return the graph of all links; `n_pages` defaults to the highest id plus 1."""
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
        sources, targets = (np.concatenate([none, *(pair[side] for pair in self._buffered)]) for side in (0, 1))
        self._buffered.clear()
        return LinkGraph(*csr.proper_rows(n_pages, sources, targets), hosts, urls)

    def _spill(self) -> None:
        if self._folder is None:
            self._folder = ScratchFolder()
        with (self._folder.path / "pairs.bin").open("ab") as out:
            for sources, targets in self._buffered:
                out.write(_keys(sources, targets).data)
        self._buffered.clear()
        self._n_buffered = 0

    def _sorted_on_disk(self, n_pages: int, folder: Path) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Sort the links one range of sources at a time; each range fits in memory."""
        pairs = folder / "pairs.bin"
        degrees = np.zeros(n_pages, np.int64)
        for keys in _blocks(pairs):
            _count_sources(keys, degrees)
        range_of = (np.cumsum(degrees) // self._links_in_memory).astype(np.uint32)  # fits in memory, or is one page
        n_ranges = int(range_of[-1]) + 1
        _split(pairs, range_of, n_ranges, folder)
        pairs.unlink()
        degrees[:] = 0
        with (folder / "targets.bin").open("wb") as out:
            for k in range(n_ranges):
                file = folder / f"range-{k}.bin"
                if not file.exists():
                    continue
                keys = _proper_keys(np.fromfile(file, np.uint64))
                file.unlink()
                out.write(keys.astype(np.uint32).data)
                _count_sources(keys, degrees)
        offsets = np.zeros(n_pages + 1, np.int64)
        np.cumsum(degrees, out=offsets[1:])
        if offsets[-1] == 0:
            return offsets, np.empty(0, np.uint32)
        return offsets, np.memmap(folder / "targets.bin", np.uint32, "c")


def _keys(sources: NDArray[np.uint32], targets: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Pack each link into one integer that sorts by source, then target."""
    return (sources.astype(np.uint64) << np.uint64(32)) | targets


def _proper_keys(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Sort in place and drop repeats and self-links. NumPy's `unique` hashes, which is ten times slower."""
    keys.sort()
    is_proper: NDArray[np.bool_] = (keys >> np.uint64(32)) != (keys & np.uint64(0xFFFFFFFF))
    is_proper[1:] &= keys[1:] != keys[:-1]
    proper: NDArray[np.uint64] = keys[is_proper]
    return proper


def _blocks(file: Path) -> Iterator[NDArray[np.uint64]]:
    with file.open("rb") as raw:
        while len(block := np.fromfile(raw, np.uint64, _CHUNK_LINKS)):
            yield block


def _split(pairs: Path, range_of: NDArray[np.uint32], n_ranges: int, folder: Path) -> None:
    """Partition the links into one file per range of sources."""
    for keys in _blocks(pairs):
        bounds, grouped = _grouped(keys, range_of, n_ranges)
        for k in np.flatnonzero(np.diff(bounds)):
            with (folder / f"range-{k}.bin").open("ab") as out:
                out.write(grouped[bounds[k] : bounds[k + 1]].data)


@allocating_kernel
def _count_sources(keys: Any, degrees: Any) -> None:
    for key in keys:
        degrees[np.int64(key >> np.uint64(32))] += 1


@allocating_kernel
def _grouped(keys: Any, range_of: Any, n_ranges: int) -> tuple[Any, Any]:
    """Return where each range begins, and the keys grouped by the range of their source."""
    bounds = np.zeros(n_ranges + 1, np.int64)
    for key in keys:
        bounds[range_of[np.int64(key >> np.uint64(32))] + 1] += 1
    for k in range(n_ranges):
        bounds[k + 1] += bounds[k]
    cursor = bounds[:-1].copy()
    grouped = np.empty(len(keys), np.uint64)
    for key in keys:
        k = range_of[np.int64(key >> np.uint64(32))]
        grouped[cursor[k]] = key
        cursor[k] += 1
    return bounds, grouped
