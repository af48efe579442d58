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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import GraphFileError
from orienteer.files.compressed import byte_blocks, byte_writer
from orienteer.files.plain import replaced
from orienteer.graph.formats import url_lines
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.link_sorter import LinkSorter
from orienteer.graph.url_table import GrowingUrlTable, UrlTable
from orienteer.kernel import allocating_kernel
from orienteer.progress import Progress, silent

_N_PAGES = re.compile(rb"^[#%] pages: (\d{1,10})\s*$", re.MULTILINE)
_ONE_ID = re.compile(rb"\d+$")
_PAGES_PER_BLOCK = 1 << 16
ID_FAULTS = {0: "expected two page ids", 1: "a page id does not fit in 32 bits"}

_NEWLINE, _RETURN, _TAB, _BLANK = 10, 13, 9, 32
_COMMA, _SEMICOLON, _HASH, _PERCENT, _QUOTE = 44, 59, 35, 37, 34
_ZERO, _NINE = 48, 57
_PAGE_MARK = np.frombuffer(b"# page: ", np.uint8)


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
                out.write(b"# page: " + quoted(url.encode(), b"\n") + b"\n")
        for start in range(0, graph.n_pages, _PAGES_PER_BLOCK):
            end = min(start + _PAGES_PER_BLOCK, graph.n_pages)
            if urls and graph.urls is not None:
                out.write(lines_of_urls(graph, graph.urls, start, end, separator))
            else:
                out.write(id_lines(graph, start, end, separator))
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
        sources, targets, n_lines, fault = parsed_ids(text)
        if fault >= 0:
            raise GraphFileError(f"line {line + n_lines}: {ID_FAULTS[fault]}: {_quoted_line(block, n_lines)}")
        sorter.add(sources, targets)
        line += n_lines


def _read_urls(
    blocks: Iterator[bytes], start: int, separator: bytes, sorter: LinkSorter, table: GrowingUrlTable
) -> None:
    line = 1
    for block in blocks:
        text: NDArray[np.uint8] = np.frombuffer(block, np.uint8).copy()  # quoted URLs are unquoted in place
        spans, is_source, n_lines, fault = parsed_urls(text, start, separator[0])
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


@allocating_kernel
def _is_separator(byte: int) -> bool:
    return byte == _BLANK or byte == _TAB or byte == _COMMA or byte == _SEMICOLON or byte == _RETURN


@allocating_kernel
def _parse_ids(text: Any, sources: Any, targets: Any) -> tuple[int, int, int]:
    """Return (links, lines read, fault): fault is -1, or a key of ID_FAULTS for the line after those read."""
    k, n_links, n_lines, end = 0, 0, 0, len(text)
    pair = np.zeros(2, np.int64)
    while k < end:
        while text[k] != _NEWLINE and _is_separator(text[k]):
            k += 1
        if text[k] != _NEWLINE and text[k] != _HASH and text[k] != _PERCENT:
            for side in range(2):
                value, first = 0, k
                while text[k] >= _ZERO and text[k] <= _NINE:
                    value = value * 10 + text[k] - _ZERO
                    if value >= 4294967295:
                        return n_links, n_lines, 1
                    k += 1
                if k == first or not (text[k] == _NEWLINE or _is_separator(text[k])):
                    return n_links, n_lines, 0
                pair[side] = value
                while _is_separator(text[k]):
                    k += 1
            sources[n_links] = pair[0]
            targets[n_links] = pair[1]
            n_links += 1
        while text[k] != _NEWLINE:
            k += 1
        k += 1
        n_lines += 1
    return n_links, n_lines, -1


def parsed_ids(text: NDArray[np.uint8]) -> tuple[NDArray[np.uint32], NDArray[np.uint32], int, int]:
    """Parse whole lines of ids; return (sources, targets, lines read, fault)."""
    most = len(text) // 4 + 1  # "0 1\n" is the shortest link
    sources, targets = np.empty(most, np.uint32), np.empty(most, np.uint32)
    n_links, n_lines, fault = _parse_ids(text, sources, targets)
    return sources[:n_links], targets[:n_links], n_lines, fault


@allocating_kernel
def _field(text: Any, k: int, separator: int) -> tuple[int, int, int]:
    """Return (start, end, next) of the field at k, unquoted in place; `next` is the index of its terminator."""
    if text[k] == _QUOTE:
        k += 1
        start, end = k, k
        while text[k] != _NEWLINE:
            if text[k] == _QUOTE:
                if text[k + 1] != _QUOTE:
                    return start, end, k + 1
                k += 1
            text[end] = text[k]
            end += 1
            k += 1
        return start, start, k  # the quote is never closed
    start = k
    while text[k] != _NEWLINE and text[k] != separator and not (separator == _BLANK and text[k] == _TAB):
        k += 1
    end = k
    while end > start and (text[end - 1] == _RETURN or text[end - 1] == _BLANK):
        end -= 1
    return start, end, k


@allocating_kernel
def _is_page_line(text: Any, k: int, mark: Any) -> bool:
    for j in range(len(mark)):
        if text[k + j] != mark[j]:  # a line that ends earlier differs at its newline
            return False
    return True


@allocating_kernel
def _parse_urls(text: Any, k: int, separator: int, mark: Any, spans: Any, is_source: Any) -> tuple[int, int, bool]:
    """Return (spans, lines read, fault). A link has two spans, the first marked as source; a page line has one."""
    n_spans, n_lines, end = 0, 0, len(text)
    while k < end:
        while text[k] == _BLANK or text[k] == _RETURN or (text[k] == _TAB and separator != _TAB):
            k += 1
        if text[k] == _HASH and _is_page_line(text, k, mark):
            start, stop, k = _field(text, k + len(mark), _NEWLINE)
            spans[n_spans, 0], spans[n_spans, 1] = start, stop
            is_source[n_spans] = False
            n_spans += 1
        elif text[k] != _NEWLINE and text[k] != _HASH and text[k] != _PERCENT:
            for side in range(2):
                start, stop, k = _field(text, k, separator)
                if stop == start:
                    return n_spans, n_lines, True
                spans[n_spans, 0], spans[n_spans, 1] = start, stop
                is_source[n_spans] = side == 0
                n_spans += 1
                if side == 0:
                    if text[k] == _NEWLINE:
                        return n_spans, n_lines, True
                    k += 1
                    while text[k] == _BLANK or (separator == _BLANK and text[k] == _TAB):
                        k += 1
        while text[k] != _NEWLINE:
            k += 1
        k += 1
        n_lines += 1
    return n_spans, n_lines, False


def parsed_urls(
    text: NDArray[np.uint8], start: int, separator: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_], int, bool]:
    """Parse whole lines of URLs from `start` on; return (spans, whether a span is a source, lines read, fault)."""
    most = len(text) // 2 + 2  # "a b\n" is the shortest link
    spans, is_source = np.empty((most, 2), np.int64), np.empty(most, np.bool_)
    n_spans, n_lines, fault = _parse_urls(text, start, separator, _PAGE_MARK, spans, is_source)
    return spans[:n_spans], is_source[:n_spans], n_lines, fault


@allocating_kernel
def _put_number(out: Any, at: int, value: int) -> int:
    digits = 1
    power = 10
    while value >= power:
        digits += 1
        power *= 10
    for k in range(at + digits - 1, at - 1, -1):
        out[k] = _ZERO + value % 10
        value //= 10
    return at + digits


@allocating_kernel
def _id_lines(offsets: Any, targets: Any, first: int, last: int, separator: int, out: Any) -> int:
    at = 0
    for page in range(first, last):
        for k in range(offsets[page], offsets[page + 1]):
            at = _put_number(out, at, page)
            out[at] = separator
            at = _put_number(out, at + 1, targets[k])
            out[at] = _NEWLINE
            at += 1
    return at


def id_lines(graph: LinkGraph, first: int, last: int, separator: bytes) -> memoryview:
    """Return the lines of the pages from `first` to before `last`, as ids."""
    n_links = int(graph.offsets[last] - graph.offsets[first])
    out = np.empty(n_links * 22, np.uint8)  # two ids of up to ten digits, a separator, a newline
    return out[: _id_lines(graph.offsets, graph.targets, first, last, separator[0], out)].data


def lines_of_urls(graph: LinkGraph, urls: UrlTable, first: int, last: int, separator: bytes) -> bytes:
    """Return the lines of the pages from `first` to before `last`, as URLs."""
    lines = []
    for page in range(first, last):
        source = quoted(urls[page].encode(), separator)
        for target in graph.links(page):
            lines.append(source + separator + quoted(urls[int(target)].encode(), separator) + b"\n")
    return b"".join(lines)


def quoted(field: bytes, separator: bytes) -> bytes:
    """Return the field for a line: in quotes if it contains the separator or a quote."""
    if separator in field or b'"' in field:
        return b'"' + field.replace(b'"', b'""') + b'"'
    return field
