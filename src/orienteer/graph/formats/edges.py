"""Edge lists: one link per line, as two ids or two URLs, in .txt, .csv or .tsv, plain, .gz or .zst.

    # pages: 4                  comment lines start with # or %; this one gives the number of pages
    0 1                         ids: separated by blanks, tabs, commas or semicolons; further columns are ignored
    http://a/ http://b/         URLs: separated according to the ending (.txt blanks or tabs, .csv comma, .tsv tab)
    # page: http://c/           a page without links, or one that must have this position in the order

The first link decides whether a file holds ids or URLs. The first line of a .csv or .tsv may be a heading.
Ids are page numbers; URLs are numbered in order of first appearance. A file may be larger than memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import GraphFileError
from orienteer.files.atomic import replaced
from orienteer.files.compressed import byte_blocks, byte_writer
from orienteer.graph.formats import edge_text, url_lines
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.link_sorter import LinkSorter
from orienteer.graph.url_table import GrowingUrlTable
from orienteer.progress import Progress, silent

_N_PAGES = re.compile(rb"^[#%] pages: (\d{1,10})\s*$", re.MULTILINE)
_ONE_ID = re.compile(rb"\d+$")
_PAGES_PER_BLOCK = 1 << 16


def read(path: Path, progress: Progress = silent) -> LinkGraph:
    blocks = _whole_lines(byte_blocks(path, progress))
    first = next(blocks, b"")
    start, holds_ids = _first_link(first, _separator(path))
    with LinkSorter() as sorter:
        if holds_ids:
            _read_ids(_chain(first[start:], blocks), _line_of(first, start), sorter)
            n_pages = _N_PAGES.search(first)
            sidecar = url_lines.sidecar_of(path)
            urls = None if sidecar is None else url_lines.read_urls(sidecar)
            return sorter.graph(int(n_pages[1]) if n_pages else None if urls is None else len(urls), urls=urls)
        table = GrowingUrlTable()
        _read_urls(_chain(first, blocks), start, _separator(path), sorter, table)
        return sorter.graph(len(table), urls=table.freeze())


def write(graph: LinkGraph, path: Path, progress: Progress = silent, urls: bool = False) -> None:
    """Write ids, and known URLs to NAME.urls.txt.gz; or, with `urls`, pairs of URLs."""
    if urls and graph.urls is None:
        raise GraphFileError("the graph has no URLs to write")
    if urls and graph.urls is not None:
        url_lines.refuse_line_breaks(graph.urls)
    elif graph.urls is not None:
        url_lines.write_urls(graph.urls, url_lines.sidecar_name(path))
    else:
        url_lines.refuse_stale_sidecar(path)
    separator = _separator(path)
    with replaced(path) as new, byte_writer(new, path.name) as out:
        out.write(b"# pages: %d\n" % graph.n_pages)
        if urls and graph.urls is not None:
            for url in graph.urls:
                out.write(b"# page: " + edge_text.quoted(url.encode(), b"\n") + b"\n")
        for start in range(0, graph.n_pages, _PAGES_PER_BLOCK):
            end = min(start + _PAGES_PER_BLOCK, graph.n_pages)
            if urls and graph.urls is not None:
                out.write(edge_text.url_lines(graph, graph.urls, start, end, separator))
            else:
                out.write(edge_text.id_lines(graph, start, end, separator))
            progress("writing links", int(graph.offsets[end]), graph.n_links)


def _separator(path: Path) -> bytes:
    """Return the separator of two URLs; in .txt any white space is read as one."""
    name = path.name.lower()
    return b"," if ".csv" in name else b"\t" if ".tsv" in name else b" "


def _whole_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the same bytes in blocks of whole lines."""
    rest = b""
    for block in blocks:
        cut = block.rfind(b"\n") + 1
        if cut:
            yield rest + block[:cut]
            rest = block[cut:]
        else:
            rest += block
            if len(rest) > 1 << 28:
                raise GraphFileError("a line of over 256 MiB: this is not an edge list")
    if rest:
        yield rest + b"\n"


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _line_of(text: bytes, position: int) -> int:
    return text.count(b"\n", 0, position) + 1


def _first_link(text: bytes, separator: bytes) -> tuple[int, bool]:
    """Return where the links start, and whether they are ids. A heading is a first line without a digit or a slash."""
    position = 0
    heading_allowed = True
    for line in text.splitlines(keepends=True):
        fields = re.split(rb"[\s,;]+", line.strip())
        if fields == [b""] or line[:1] in b"#%":
            if line.startswith(b"# page: "):
                return position, False
        elif heading_allowed and len(fields) > 1 and not re.search(rb"[\d/.:]", fields[0] + fields[1]):
            heading_allowed = False
        else:
            return position, all(_ONE_ID.match(field) for field in fields[:2])
        position += len(line)
    return position, True


def _read_ids(blocks: Iterator[bytes], line: int, sorter: LinkSorter) -> None:
    for block in blocks:
        text = np.frombuffer(block, np.uint8)
        sources, targets, n_lines, fault = edge_text.parsed_ids(text)
        if fault >= 0:
            raise GraphFileError(f"line {line + n_lines}: {edge_text.ID_FAULTS[fault]}: {_quoted_line(block, n_lines)}")
        sorter.add(sources, targets)
        line += n_lines


def _read_urls(
    blocks: Iterator[bytes], start: int, separator: bytes, sorter: LinkSorter, table: GrowingUrlTable
) -> None:
    line = 1
    for block in blocks:
        text: NDArray[np.uint8] = np.frombuffer(block, np.uint8).copy()  # quoted URLs are unquoted in place
        spans, is_source, n_lines, fault = edge_text.parsed_urls(text, start, separator[0])
        if fault:
            line += block.count(b"\n", 0, start) + n_lines
            raise GraphFileError(f"line {line}: expected two URLs: {_quoted_line(block[start:], n_lines)}")
        ids = table.intern_spans(text, spans)
        first = np.flatnonzero(is_source)
        sorter.add(ids[first], ids[first + 1])
        line += block.count(b"\n")
        start = 0


def _quoted_line(block: bytes, n_lines: int) -> str:
    line = block.split(b"\n", n_lines + 1)[n_lines]
    return repr(line[:60].decode("utf-8", "replace")) + ("…" if len(line) > 60 else "")
