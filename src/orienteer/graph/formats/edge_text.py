"""The text of edge lists: parsers from lines to arrays and writers, byte by byte."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.url_table import UrlTable
from orienteer.kernel import allocating_kernel

ID_FAULTS = {0: "expected two page ids", 1: "a page id does not fit in 32 bits"}

_NEWLINE, _RETURN, _TAB, _BLANK = 10, 13, 9, 32
_COMMA, _SEMICOLON, _HASH, _PERCENT, _QUOTE = 44, 59, 35, 37, 34
_ZERO, _NINE = 48, 57
_PAGE_MARK = np.frombuffer(b"# page: ", np.uint8)


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


def url_lines(graph: LinkGraph, urls: UrlTable, first: int, last: int, separator: bytes) -> bytes:
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
