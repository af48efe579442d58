"""The URL file of a graph file: NAME.urls.txt.gz (or NAME.urls.txt), one URL per line, in the order of the pages.

URLs are stored byte by byte; lines may end in CR LF, and a byte order mark at the start of the file is skipped.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from orienteer.errors import GraphFileError, InputError
from orienteer.files.compressed import byte_blocks, byte_writer
from orienteer.files.plain import replaced
from orienteer.graph.url_table import UrlTable
from orienteer.kernel import allocating_kernel
from orienteer.progress import Progress, silent

_GRAPH_ENDING = re.compile(r"\.(npz|(txt|csv|tsv)(\.(gz|zst))?)$", re.IGNORECASE)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_URLS_PER_BLOCK = 1 << 16


def sidecar_name(path: Path) -> Path:
    """Return the path to which the URLs of the graph file `path` are written."""
    return path.with_name(_GRAPH_ENDING.sub("", path.name) + ".urls.txt.gz")


def sidecar_of(path: Path) -> Path | None:
    """Return the file with the URLs of the graph file `path`, or None."""
    compressed = sidecar_name(path)
    plain = compressed.with_suffix("")
    return next((file for file in (compressed, plain) if file.is_file()), None)


def refuse_stale_sidecar(path: Path) -> None:
    """Raise an InputError if a graph without URLs would later be read with the existing URLs of another graph."""
    if stale := sidecar_of(path):
        raise InputError(
            f"this graph has no URLs, but would be read with those in {stale.name}; move that away or use another name"
        )


def read_urls(path: Path, progress: Progress = silent) -> UrlTable:
    text = bytearray()
    try:
        for block in byte_blocks(path, progress):
            text += block
    except (GraphFileError, OSError) as error:
        raise GraphFileError(f"{path.name}: {error}") from None
    if text and not text.endswith(b"\n"):
        text += b"\n"
    offsets = np.zeros(text.count(b"\n") + 1, np.int64)
    start = len(_BYTE_ORDER_MARK) if text.startswith(_BYTE_ORDER_MARK) else 0
    data = np.frombuffer(text, np.uint8)
    _join_lines(data, start, offsets)
    return UrlTable(data[: offsets[-1]], offsets)


def write_urls(urls: UrlTable, path: Path, progress: Progress = silent) -> None:
    """Write URLs, compressed if `path` ends in .gz; an InputError if a URL contains a line break."""
    refuse_line_breaks(urls)
    with replaced(path) as new, byte_writer(new, path.name) as out:
        if urls.data[:3].tobytes() == _BYTE_ORDER_MARK:
            out.write(_BYTE_ORDER_MARK)  # the reader skips one
        for start in range(0, len(urls), _URLS_PER_BLOCK):
            bounds = urls.offsets[start : start + _URLS_PER_BLOCK + 1]
            text = urls.data[bounds[0] : bounds[-1]]
            out.write(np.insert(text, bounds[1:] - bounds[0], ord("\n")).data)
            progress("writing URLs", start + len(bounds) - 1, len(urls))


@allocating_kernel
def _join_lines(text: Any, start: int, offsets: Any) -> None:
    """Remove the line ends in place; line k is then `text[offsets[k]:offsets[k + 1]]`."""
    used = 0
    line = 0
    for k in range(start, len(text)):
        if text[k] == 10:
            if used > offsets[line] and text[used - 1] == 13:
                used -= 1
            line += 1
            offsets[line] = used
        else:
            text[used] = text[k]
            used += 1


def refuse_line_breaks(urls: UrlTable) -> None:
    breaks = np.flatnonzero((urls.data == ord("\n")) | (urls.data == ord("\r")))
    if len(breaks):
        page = int(np.searchsorted(urls.offsets, breaks[0], side="right")) - 1
        raise InputError(f"the URL of page {page} has a line break, but URLs are written one per line: {urls[page]!r}")
