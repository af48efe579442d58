"""The graph folder: one .npy file per array, memory-mapped.

    graph.json        {"orienteer-graph": 1, "n_pages": ..., "n_links": ..., "checksum": ...}
    offsets.npy       int64, n_pages + 1
    targets.npy       uint32, n_links
    hosts.npy         int32, n_pages                      (if known)
    url_bytes.npy     uint8                               (if known)
    url_offsets.npy   int64, n_pages + 1                  (if known)
    reverse/          the reverse graph, derived          (made when first needed, for big graphs)

Invariant: a folder appears under its name only when it is complete: it is written under a temporary name and renamed.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import GraphFileError
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.url_table import UrlTable
from orienteer.progress import Progress, silent

MARK = "orienteer-graph"
VERSION = 1
_BLOCK_BYTES = 1 << 26


def read(path: Path, progress: Progress = silent) -> LinkGraph:
    about = _about(path)
    progress("checking links", 0, 0)
    graph = LinkGraph(
        _array(path, "offsets", np.int64),
        _array(path, "targets", np.uint32),
        _optional(path, "hosts", np.int32),
        _urls(path),
        home=path,
    )
    expected = about.get("n_pages"), about.get("n_links")
    if (graph.n_pages, graph.n_links) != expected:
        raise GraphFileError(
            f"{path}: graph.json declares {expected[0]} pages and {expected[1]} links, "
            f"the arrays hold {graph.n_pages} and {graph.n_links}"
        )
    return graph


def write(graph: LinkGraph, path: Path, progress: Progress = silent) -> None:
    with _replaced(path) as new:
        checksum = _write_array(new / "offsets.npy", graph.offsets, 0, progress)
        checksum = _write_array(new / "targets.npy", graph.targets, checksum, progress)
        if graph.hosts is not None:
            _write_array(new / "hosts.npy", graph.hosts, 0, progress)
        if graph.urls is not None:
            _write_array(new / "url_bytes.npy", graph.urls.data, 0, progress)
            _write_array(new / "url_offsets.npy", graph.urls.offsets, 0, progress)
        about = {MARK: VERSION, "n_pages": graph.n_pages, "n_links": graph.n_links, "checksum": checksum}
        (new / "graph.json").write_text(json.dumps(about, indent=1) + "\n")


def read_reverse(graph: LinkGraph) -> LinkGraph | None:
    """Return the reverse stored in the graph's folder; None if there is none, or it is of another graph."""
    assert graph.home is not None
    path = graph.home / "reverse"
    try:
        if _about(path)["reverse_of"] != _about(graph.home)["checksum"]:
            return None
        offsets, targets = _array(path, "offsets", np.int64), _array(path, "targets", np.uint32)
        return LinkGraph(offsets, targets, graph.hosts, graph.urls)
    except (GraphFileError, KeyError):
        return None


def store_reverse(graph: LinkGraph, reversed_into: Callable[[NDArray[np.uint32]], LinkGraph]) -> LinkGraph:
    """Write the reverse to the graph's folder and return it; in memory if the folder is not writable."""
    assert graph.home is not None
    try:
        with _replaced(graph.home / "reverse") as new:
            sources = np.lib.format.open_memmap(new / "targets.npy", "w+", np.dtype(np.uint32), (graph.n_links,))
            reverse = reversed_into(sources)
            sources.flush()
            _write_array(new / "offsets.npy", reverse.offsets, 0, silent)
            about = {MARK: VERSION, "reverse_of": _about(graph.home)["checksum"]}
            (new / "graph.json").write_text(json.dumps(about) + "\n")
        return reverse
    except OSError:
        return reversed_into(np.empty(graph.n_links, np.uint32))


@contextmanager
def _replaced(path: Path) -> Iterator[Path]:
    """Yield a new empty folder that replaces `path` on success and is removed on failure."""
    if path.exists() and not (path / "graph.json").is_file() and not (path.is_dir() and not any(path.iterdir())):
        raise GraphFileError(f"{path}: exists and is not a graph folder; it is left unchanged")
    new = path.with_name(f".{path.name}.new-{os.getpid()}")
    old = path.with_name(f".{path.name}.old-{os.getpid()}")
    new.mkdir()
    try:
        yield new
        if path.exists():
            path.rename(old)
        new.rename(path)
    finally:
        shutil.rmtree(new, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _about(path: Path) -> dict[str, Any]:
    try:
        about = json.loads((path / "graph.json").read_text())
    except FileNotFoundError:
        raise GraphFileError(f"{path}: not a graph folder (no graph.json in it)") from None
    except (OSError, ValueError) as error:
        raise GraphFileError(f"{path}: graph.json cannot be read ({error})") from None
    if not isinstance(about, dict) or about.get(MARK) != VERSION:
        raise GraphFileError(f"{path}: graph.json is not of an Orienteer graph of version {VERSION}")
    return about


def _array(path: Path, name: str, dtype: Any) -> NDArray[Any]:
    file = path / f"{name}.npy"
    try:
        # Copy-on-write, not read-only: Numba would compile every kernel again for read-only arrays.
        array: NDArray[Any] = np.load(file, mmap_mode="c", allow_pickle=False)
    except FileNotFoundError:
        raise GraphFileError(f"{path}: {file.name} is missing") from None
    except (OSError, ValueError, EOFError) as error:
        raise GraphFileError(f"{path}: {file.name} is truncated or not an .npy file ({error})") from None
    if array.ndim != 1 or array.dtype != dtype:
        raise GraphFileError(f"{path}: {file.name} holds {array.dtype}, not {np.dtype(dtype)}")
    return array


def _optional(path: Path, name: str, dtype: Any) -> NDArray[Any] | None:
    return _array(path, name, dtype) if (path / f"{name}.npy").exists() else None


def _urls(path: Path) -> UrlTable | None:
    data = _optional(path, "url_bytes", np.uint8)
    if data is None:
        return None
    offsets = _array(path, "url_offsets", np.int64)
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(data) or (np.diff(offsets) < 0).any():
        raise GraphFileError(f"{path}: url_offsets.npy does not fit url_bytes.npy")
    return UrlTable(data, offsets)


def _write_array(file: Path, array: NDArray[Any], checksum: int, progress: Progress) -> int:
    """Write an array in blocks (it may be mapped and larger than memory) and return the updated checksum."""
    with file.open("wb") as out:
        header = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": array.shape}
        np.lib.format.write_array_header_1_0(out, header)
        step = max(1, _BLOCK_BYTES // array.itemsize)
        for start in range(0, len(array), step):
            block = np.ascontiguousarray(array[start : start + step])
            checksum = zlib.crc32(block.data.cast("B"), checksum)
            out.write(block.data)
            progress(f"writing {file.name}", start + len(block), len(array))
    return checksum
