"""NumPy archive: `indptr` and `indices` (compressed sparse rows), optional `host`; URLs in NAME.urls.txt.gz.

Other arrays are ignored. Rows may be unsorted and contain repeats and self-links, which are dropped. Matrices written
by scipy.sparse.save_npz are read, too: a link for every entry that is not zero.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import GraphFileError, OrienteerError
from orienteer.files.plain import replaced
from orienteer.graph import csr
from orienteer.graph.formats.url_lines import (
    read_urls,
    refuse_stale_sidecar,
    sidecar_name,
    sidecar_of,
    write_urls,
)
from orienteer.graph.link_graph import LinkGraph, page_ids
from orienteer.graph.url_table import UrlTable
from orienteer.progress import Progress, silent

_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
_BLOCK_BYTES = 1 << 24


def read(path: Path, progress: Progress = silent) -> LinkGraph:
    progress("reading links", 0, 0)
    with path.open("rb") as raw:
        if raw.read(4) not in _ZIP_STARTS:
            raise GraphFileError("not a NumPy archive (.npz)")
        raw.seek(0)
        with _corruption_named():
            content = _content(raw)
    if isinstance(content, _Matrix):
        urls = _urls(path, content.n_pages, progress)
        return LinkGraph.from_links(content.n_pages, content.rows, content.columns, urls=urls)
    offsets = _offsets(content["indptr"], len(content["indices"]))
    return _graph(offsets, content["indices"], content.get("host"), _urls(path, len(offsets) - 1, progress))


def write(graph: LinkGraph, path: Path, progress: Progress = silent) -> None:
    if graph.urls is None:
        refuse_stale_sidecar(path)
    with replaced(path) as new:
        with zipfile.ZipFile(new, "w") as archive:
            _write_array(archive, "indptr", graph.offsets, progress)
            _write_array(archive, "indices", graph.targets, progress)
            if graph.hosts is not None:
                _write_array(archive, "host", graph.hosts, progress)
        if graph.urls is not None:
            write_urls(graph.urls, sidecar_name(path), progress)


@contextmanager
def _corruption_named() -> Iterator[None]:
    """Turn any error of NumPy and zipfile about a corrupt file into a GraphFileError."""
    try:
        yield
    except (OrienteerError, MemoryError):
        raise
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise GraphFileError(f"the archive is truncated or corrupt ({reason})") from None


class _Matrix(NamedTuple):
    """The places of the entries of a square matrix that are not zero."""

    n_pages: int
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]


def _content(raw: BinaryIO) -> _Matrix | dict[str, NDArray[Any]]:
    """Return a matrix, or arrays by name."""
    with np.load(raw, allow_pickle=False) as archive:
        if {"format", "shape"} <= set(archive.files):
            return _matrix(archive)
        missing = [name for name in ("indptr", "indices") if name not in archive.files]
        if missing:
            present = ", ".join(archive.files)[:200] or "nothing"
            raise GraphFileError(f"no array {missing[0]!r} in the archive (it holds {present})")
        names = [name for name in ("indptr", "indices", "host") if name in archive.files]
        return {name: _whole_numbers(name, archive[name]) for name in names}


def _matrix(archive: Mapping[str, NDArray[Any]]) -> _Matrix:
    """Return a matrix written by SciPy; a ValueError if its arrays contradict each other."""
    shape = archive["shape"].tolist()
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphFileError(f"an adjacency matrix is square; this one is {' x '.join(map(str, shape))}")
    data, kind = archive["data"], archive["format"].item().decode()
    if kind == "coo":
        rows, columns = archive["row"], archive["col"]
    elif kind == "dia":  # data[k, j] is in column j of the diagonal that begins offsets[k] to the right
        columns = np.broadcast_to(np.arange(data.shape[1]), data.shape)
        rows = columns - archive["offsets"][:, None]
        inside = (rows >= 0) & (rows < shape[0]) & (columns < shape[0])
        rows, columns, data = rows[inside], columns[inside], data[inside]
    elif kind in ("csr", "csc", "bsr"):
        columns = archive["indices"]
        rows = np.repeat(np.arange(len(archive["indptr"]) - 1), np.diff(archive["indptr"]))
        if kind == "bsr":  # data[k] is the k-th block
            _, n_rows, n_columns = data.shape
            rows = np.broadcast_to(rows[:, None, None] * n_rows + np.arange(n_rows)[:, None], data.shape)
            columns = np.broadcast_to(columns[:, None, None] * n_columns + np.arange(n_columns), data.shape)
        rows, columns = (columns, rows) if kind == "csc" else (rows, columns)
    else:
        raise ValueError(f"the format {kind!r} is unknown")
    if rows.size and not 0 <= min(rows.min(), columns.min()) <= max(rows.max(), columns.max()) < shape[0]:
        raise ValueError("an index outside the matrix")
    is_link = data != 0
    return _Matrix(shape[0], rows[is_link], columns[is_link])


def _urls(path: Path, n_pages: int, progress: Progress) -> UrlTable | None:
    sidecar = sidecar_of(path)
    if sidecar is None:
        return None
    urls = read_urls(sidecar, progress)
    if len(urls) != n_pages:
        raise GraphFileError(f"{sidecar.name} holds {len(urls):,} URLs, but the graph has {n_pages:,} pages")
    return urls


def _whole_numbers(name: str, array: Any) -> NDArray[Any]:
    if not isinstance(array, np.ndarray):
        raise GraphFileError(f"{name} is not an array")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise GraphFileError(f"{name} is {array.ndim}-dimensional {array.dtype}; expected a row of whole numbers")
    return array


def _offsets(indptr: NDArray[Any], n_indices: int) -> NDArray[np.int64]:
    offsets = np.ascontiguousarray(indptr, np.int64)
    if len(offsets) == 0:
        raise GraphFileError("indptr is empty (that of an empty graph holds one 0)")
    if offsets[0] != 0:
        raise GraphFileError(f"indptr starts at {offsets[0]}, not 0")
    decreasing = np.flatnonzero(offsets[1:] < offsets[:-1])
    if len(decreasing):
        raise GraphFileError(f"indptr decreases after page {decreasing[0]}")
    if offsets[-1] != n_indices:
        raise GraphFileError(f"indptr ends at {offsets[-1]:,}, but there are {n_indices:,} indices")
    return offsets


def _graph(
    offsets: NDArray[np.int64], indices: NDArray[Any], hosts: NDArray[Any] | None, urls: UrlTable | None
) -> LinkGraph:
    n_pages = len(offsets) - 1
    targets = np.ascontiguousarray(page_ids("indices", indices, n_pages))
    fault, _ = csr.first_fault(offsets, targets, len(targets))
    if fault:
        return LinkGraph.from_links(n_pages, csr.row_ids(offsets), targets, hosts, urls)
    return LinkGraph(offsets, targets, hosts, urls)


def _write_array(archive: zipfile.ZipFile, name: str, array: NDArray[Any], progress: Progress) -> None:
    """Write like np.savez_compressed, but report progress, and write equal bytes for equal graphs (no timestamps)."""
    entry = zipfile.ZipInfo(f"{name}.npy")
    entry.compress_type = zipfile.ZIP_DEFLATED
    with archive.open(entry, "w", force_zip64=True) as out:
        header = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": array.shape}
        np.lib.format.write_array_header_1_0(out, header)
        step = _BLOCK_BYTES // array.itemsize
        for start in range(0, len(array), step):
            out.write(np.ascontiguousarray(array[start : start + step]).data)
            progress(f"writing {name}", min(start + step, len(array)), len(array))
