"""WebGraph's BV format: NAME.graph, a stream of bits, and NAME.properties, its parameters.

Boldi & Vigna, "The WebGraph Framework I: Compression Techniques", WWW 2004; the codes, and the options that its Java
and Rust versions have added since, are in bv_codes.py. A page's links are written as

    outdegree     nothing follows if it is 0
    reference     r: some of the links are copied from page - r; 0 for none. Absent if windowsize is 0.
    blocks        if r > 0: the number of blocks, then their lengths: runs of that page's links that are copied,
                  skipped, copied, and so on. The first may be empty; the others may not and are written less one. The
                  links after the last block are one more run.
    intervals     if links remain and minintervallength > 0: the number, then first page and length of each run of
                  consecutive pages, the length less minintervallength
    residuals     the remaining links, one by one

A page is written as a distance: the first interval and the first residual from the page itself, with the sign in the
lowest bit; the others from the previous one, less the smallest possible distance.

Decoding is sequential and needs no offsets file. Rows are decoded in place, so a reference is read from the graph
itself; therefore self-links, which a LinkGraph cannot have, are dropped only at the end.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import GraphFileError
from orienteer.graph import csr
from orienteer.graph.formats.bv_codes import (
    ENDED,
    GAMMA,
    TOO_LARGE,
    UNARY,
    ZETA,
    BitCode,
    code_named,
    load_bits,
    read_number,
    stream_of,
)
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.link_sorter import ScratchFolder
from orienteer.kernel import allocating_kernel
from orienteer.progress import Progress, silent

# Faults in the links of a page, in addition to ENDED and TOO_LARGE; _FAULTS has their messages.
BAD_REFERENCE = -3
BAD_BLOCKS = -4
TOO_MANY = -5
OUTSIDE = -6
TOO_MANY_LINKS = -7

_FAULTS = {
    ENDED: "the bit stream ends in the links of page {page}",
    TOO_LARGE: "the bit stream is corrupt: an impossible number in the links of page {page}",
    BAD_REFERENCE: "the bit stream is corrupt: page {page} copies links of a page that it cannot refer to",
    BAD_BLOCKS: "the bit stream is corrupt: page {page} copies more links than there are to copy",
    TOO_MANY: "the bit stream is corrupt: page {page} has more links than it can have",
    OUTSIDE: "the bit stream is corrupt: page {page} links outside the graph",
    TOO_MANY_LINKS: "the bit stream holds more links than the {n_links:,} that the properties declare (page {page})",
}

_CHUNK_PAGES = 1 << 16
_IN_MEMORY_BYTES = 1 << 31


class Codes(NamedTuple):
    outdegrees: BitCode
    references: BitCode
    block_count: BitCode
    blocks: BitCode
    intervals: BitCode
    residuals: BitCode


class BvShape(NamedTuple):
    """The parameters of the graph that the kernels need, except its codes."""

    n_pages: int
    n_links: int
    window: int
    min_interval: int


@allocating_kernel
def _signed(number: int) -> int:
    return -(number >> 1) - 1 if number & 1 else number >> 1


@allocating_kernel
def _copy_links(stream: Any, codes: Any, position: int, reference: Any, row: Any) -> tuple[int, int]:
    """Write the links that a page copies from another to the start of its row; return (number or fault, position)."""
    n_blocks, position = read_number(stream, codes.block_count, position)
    if n_blocks < 0:
        return n_blocks, position
    n_copied = taken = block = 0
    while block <= n_blocks:
        if block == n_blocks:
            length = len(reference) - taken
        else:
            length, position = read_number(stream, codes.blocks, position)
            if length < 0:
                return length, position
            length += block > 0
        if taken + length > len(reference):
            return BAD_BLOCKS, position
        if block & 1 == 0:
            if n_copied + length > len(row):
                return TOO_MANY, position
            for k in range(length):
                row[n_copied + k] = reference[taken + k]
            n_copied += length
        taken += length
        block += 1
    return n_copied, position


@allocating_kernel
def _read_intervals(stream: Any, codes: Any, position: int, shape: Any, page: int, room: Any) -> tuple[int, int]:
    """Write the pages of a page's intervals to `room`, in increasing order; return (number or fault, position)."""
    n_intervals, position = read_number(stream, codes.intervals, position)
    if n_intervals < 0:
        return n_intervals, position
    n = end = 0
    for interval in range(n_intervals):
        gap, position = read_number(stream, codes.intervals, position)
        if gap < 0:
            return gap, position
        length, position = read_number(stream, codes.intervals, position)
        if length < 0:
            return length, position
        first = page + _signed(gap) if interval == 0 else end + 1 + gap
        length += shape.min_interval
        end = first + length
        if first < 0 or end > shape.n_pages:
            return OUTSIDE, position
        if n + length > len(room):
            return TOO_MANY, position
        for k in range(length):
            room[n + k] = first + k
        n += length
    return n, position


@allocating_kernel
def _read_residuals(stream: Any, codes: Any, position: int, shape: Any, page: int, room: Any) -> tuple[int, int]:
    """Fill `room` with the residual links of a page; return (number or fault, position)."""
    target = page
    for k in range(len(room)):
        gap, position = read_number(stream, codes.residuals, position)
        if gap < 0:
            return gap, position
        target += _signed(gap) if k == 0 else gap + 1
        if target < 0 or target >= shape.n_pages:
            return OUTSIDE, position
        room[k] = target
    return len(room), position


@allocating_kernel
def _merge(row: Any, n: int, others: Any) -> None:
    """Merge `others` into the first n entries of a row, from the end, so that no entry is overwritten too early."""
    end = n + len(others) - 1
    a, b = n - 1, len(others) - 1
    while b >= 0:
        if a >= 0 and row[a] > others[b]:
            row[end] = row[a]
            a -= 1
        else:
            row[end] = others[b]
            b -= 1
        end -= 1


@allocating_kernel
def _decode_row(
    stream: Any, codes: Any, shape: Any, position: int, page: int, offsets: Any, targets: Any, room: Any
) -> tuple[int, int]:
    """Decode the links of a page with a known outdegree above 0; return (number or fault, position)."""
    row = targets[offsets[page] : offsets[page + 1]]
    n = 0
    if shape.window > 0:
        back, position = read_number(stream, codes.references, position)
        if back < 0:
            return back, position
        if back > min(page, shape.window):
            return BAD_REFERENCE, position
        if back > 0:
            reference = targets[offsets[page - back] : offsets[page - back + 1]]
            n, position = _copy_links(stream, codes, position, reference, row)
    if 0 <= n < len(row) and shape.min_interval > 0:
        m, position = _read_intervals(stream, codes, position, shape, page, room[: len(row) - n])
        if m < 0:
            return m, position
        _merge(row, n, room[:m])
        n += m
    if 0 <= n < len(row):
        m, position = _read_residuals(stream, codes, position, shape, page, room[: len(row) - n])
        if m < 0:
            return m, position
        _merge(row, n, room[:m])
        n += m
    return n, position


@allocating_kernel
def _decode_pages(
    bits: Any, codes: Any, shape: Any, position: int, first: int, last: int, offsets: Any, targets: Any
) -> tuple[int, int, int]:
    """Decode the rows of the pages from `first` to before `last`; return (fault or 0, page of the fault, position)."""
    stream = stream_of(bits)
    room = np.empty(1024, np.uint32)
    for page in range(first, last):
        degree, position = read_number(stream, codes.outdegrees, position)
        if degree < 0:
            return degree, page, position
        if degree > shape.n_pages:
            return TOO_MANY, page, position
        if degree > shape.n_links - offsets[page]:
            return TOO_MANY_LINKS, page, position
        offsets[page + 1] = offsets[page] + degree
        if degree == 0:
            continue
        if degree > len(room):
            room = np.empty(2 * degree, np.uint32)
        n, position = _decode_row(stream, codes, shape, position, page, offsets, targets, room)
        if n < 0:
            return n, page, position
    return 0, last, position


@allocating_kernel
def _drop_self_links(offsets: Any, targets: Any) -> int:
    """Remove self-links in place and return the number of links left."""
    n = start = 0
    for page in range(len(offsets) - 1):
        end = offsets[page + 1]
        for k in range(start, end):
            if targets[k] != page:
                if n < k:  # unmodified pages of a mapped file need not be written back
                    targets[n] = targets[k]
                n += 1
        start = end
        offsets[page + 1] = n
    return n


def read(path: Path, progress: Progress = silent) -> LinkGraph:
    basename = path.with_suffix("") if path.suffix.lower() in (".graph", ".properties") else path
    properties = Properties.of(_file(basename, ".properties").read_text("latin-1"))
    bits = load_bits(_file(basename, ".graph"), properties.mirrored)
    shape = properties.shape
    if bits.n_bits < shape.n_pages:
        raise GraphFileError(f"the bit stream has {bits.n_bits:,} bits, too few for {shape.n_pages:,} pages")
    offsets = np.zeros(shape.n_pages + 1, np.int64)
    folder, targets = _new_targets(shape.n_links)
    position = 0
    for first in range(0, shape.n_pages, _CHUNK_PAGES):
        progress("decoding links", first, shape.n_pages)
        last = min(first + _CHUNK_PAGES, shape.n_pages)
        fault, page, position = _decode_pages(bits, properties.codes, shape, position, first, last, offsets, targets)
        if fault:
            raise GraphFileError(_FAULTS[fault].format(page=page, n_links=shape.n_links))
    progress("decoding links", shape.n_pages, shape.n_pages)
    if offsets[-1] != shape.n_links:
        raise GraphFileError(f"{int(offsets[-1]):,} links found, but the properties declare {shape.n_links:,}")
    n_links = _drop_self_links(offsets, targets)
    return LinkGraph(offsets, targets[:n_links], resource=folder)


def _file(basename: Path, ending: str) -> Path:
    path = basename.with_name(basename.name + ending)
    if not path.is_file():
        raise GraphFileError(f"there is no {path.name}; a BV graph is NAME.graph and NAME.properties")
    return path


def _new_targets(n_links: int) -> tuple[ScratchFolder | None, NDArray[np.uint32]]:
    """Return an array for the targets: in memory or, if it is large, mapped from a file in a scratch folder."""
    size_bytes = 4 * n_links
    if size_bytes <= _IN_MEMORY_BYTES:
        return None, np.empty(n_links, np.uint32)
    folder = ScratchFolder()
    # A sparse file of any size can be created; the process would be killed by SIGBUS once the disk is full.
    free_bytes = shutil.disk_usage(folder.path).free
    if size_bytes > free_bytes:
        raise GraphFileError(
            f"{n_links:,} links need {size_bytes:,} bytes in {folder.path.parent}; {free_bytes:,} free"
        )
    return folder, np.memmap(folder.path / "targets", np.uint32, "w+", shape=(n_links,))


@dataclass(frozen=True)
class Properties:
    """The content of NAME.properties."""

    shape: BvShape
    codes: Codes
    mirrored: bool

    @classmethod
    def of(cls, text: str) -> Properties:
        values = _java_properties(text)
        graph_class = values.get("graphclass", "BVGraph")
        if graph_class.rpartition(".")[2].lower() != "bvgraph":
            raise GraphFileError(f"the properties are those of {graph_class}, not of a BVGraph")
        version = _number(values, "version", 0, 0, 2**31 - 1)
        if version > 1:
            raise GraphFileError(f"the properties are of format version {version}; versions 0 and 1 are known")
        endianness = values.get("endianness", "big")
        if endianness not in ("big", "little"):
            raise GraphFileError(f"endianness is {endianness!r}; it must be big or little")
        n_pages = _number(values, "nodes", None, 0, csr.MAX_PAGES - 1)
        shape = BvShape(
            n_pages,
            _number(values, "arcs", None, 0, min(n_pages**2, 2**62)),
            _number(values, "windowsize", 7, 0, 2**31 - 1),
            _number(values, "minintervallength", 4, 0, 2**31 - 1),
        )
        return cls(shape, _codes(values), endianness == "little")


def _java_properties(text: str) -> dict[str, str]:
    lines = (line.strip() for line in text.splitlines())
    pairs = (re.split(r"\s*[=:\s]\s*", line, maxsplit=1) for line in lines if line and line[0] not in "#!")
    return {pair[0]: pair[1] if len(pair) > 1 else "" for pair in pairs}


def _number(values: dict[str, str], name: str, default: int | None, least: int, most: int) -> int:
    text = values.get(name)
    if text is None:
        if default is None:
            raise GraphFileError(f"the properties have no number of {name}")
        return default
    if not re.fullmatch(r"[0-9]{1,19}", text) or not least <= int(text) <= most:
        raise GraphFileError(f"{name} is {text[:40]!r}; it must be a whole number from {least:,} to {most:,}")
    return int(text)


def _codes(values: dict[str, str]) -> Codes:
    """Parse `compressionflags`, for example "RESIDUALS_GAMMA | BLOCK_COUNT_DELTA"."""
    k = _number(values, "zetak", 3, 1, 2**31 - 1)
    chosen = {
        "OUTDEGREES": BitCode(GAMMA, k),
        "REFERENCES": BitCode(UNARY, k),
        "BLOCKS": BitCode(GAMMA, k),
        "INTERVALS": BitCode(GAMMA, k),
        "RESIDUALS": BitCode(ZETA, k),
    }
    for flag in filter(None, (flag.strip() for flag in values.get("compressionflags", "").split("|"))):
        field, _, name = flag.upper().rpartition("_")
        code = code_named(name, k)
        if code is None or field not in (*chosen, "BLOCK_COUNT", "OFFSETS"):
            raise GraphFileError(f"the compression flag {flag!r} is unknown")
        chosen[field] = code
    # WebGraph's Java version has a flag for the number of blocks; its Rust version, the only one that writes the
    # endianness, uses the code of the lengths.
    block_count = chosen["BLOCKS"] if "endianness" in values else BitCode(GAMMA, k)
    return Codes(
        outdegrees=chosen["OUTDEGREES"],
        references=chosen["REFERENCES"],
        block_count=chosen.get("BLOCK_COUNT", block_count),
        blocks=chosen["BLOCKS"],
        intervals=chosen["INTERVALS"],
        residuals=chosen["RESIDUALS"],
    )
