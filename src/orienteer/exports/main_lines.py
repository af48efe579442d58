"""The main text lines of exported pages, found by their scores and by repetition on the host.

This is a first pass over all pages, before they are written: the boilerplate of a host can only be recognised with all
its pages. The lines are buffered in a temporary file, so that memory stays bounded.
"""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from struct import Struct
from typing import BinaryIO, NamedTuple

from orienteer.exports.exported_crawl import ExportedCrawl, Mask
from orienteer.extract.blocks import HEADING, Block
from orienteer.extract.boilerplate import HostBoilerplate
from orienteer.inspect.archived_page import ArchivedPosition, page_reading
from orienteer.processes.ordered import in_order
from orienteer.processes.pool import Failed
from orienteer.url import host_of

IsMain = bytes  # 1 for each line of main text, 0 for others; empty if unknown: then all lines are used

_SIZES = Struct("<III")


class ScoredText(NamedTuple):
    text: str
    scores: bytes


@contextmanager
def score_reader(folder: Path) -> Iterator[Callable[[ArchivedPosition], ScoredText]]:
    """Return a function for `in_order` that reads the lines of pages and their scores."""
    with page_reading(folder, with_scores=True) as read:

        def scored(position: ArchivedPosition) -> ScoredText:
            page = read(position)
            return ScoredText(page.text, page.line_scores)

        yield scored


def main_lines(crawl: ExportedCrawl, selected: Mask) -> Iterator[IsMain]:
    """Yield which lines are main text for each of these pages, in the order they were fetched."""
    boilerplate = HostBoilerplate()
    rows = ((host_of(url), crawl.archived_position(row, url)) for row, url in crawl.rows(selected, "finding main text"))
    with tempfile.TemporaryFile() as file:
        with in_order(score_reader, (crawl.archive.folder,), rows, crawl.n_processes) as read:
            for host, scored in read:
                text, scores = ("", b"") if isinstance(scored, Failed) else scored
                if scores:
                    boilerplate.learn(host, text.split("\n"))
                _write(file, host, text if scores else "", scores)
        file.seek(0)
        for host, text, scores in _records(file):
            yield boilerplate.main_lines(host, text.split("\n"), scores).tobytes() if scores else b""


def _write(file: BinaryIO, host: str, text: str, scores: bytes) -> None:
    name, packed = host.encode(errors="replace"), zlib.compress(text.encode(errors="replace"), 1)
    file.write(_SIZES.pack(len(name), len(packed), len(scores)) + name + packed + scores)


def _records(file: BinaryIO) -> Iterator[tuple[str, str, bytes]]:
    while sizes := file.read(_SIZES.size):
        name, packed, scores = (file.read(size) for size in _SIZES.unpack(sizes))
        yield name.decode(), zlib.decompress(packed).decode(), scores


def main_text(text: str, headings: list[str], is_main: IsMain) -> str:
    """Return the main text with its headings; the whole text if `is_main` is unknown or of another version."""
    lines = text.split("\n")
    if len(lines) != len(is_main):
        return text
    of_headings = set(headings)
    mask = _with_headings(is_main, [line in of_headings for line in lines])
    return "\n".join(line for line, is_included in zip(lines, mask, strict=True) if is_included)


def main_blocks(blocks: list[Block], is_main: IsMain) -> list[Block]:
    """Return the blocks of the main text with its headings; an image belongs to the line before it."""
    is_heading = [block.kind == HEADING for block in blocks if block.text]
    if len(is_heading) != len(is_main):
        return blocks
    selected = iter(_with_headings(is_main, is_heading))
    included, is_included = [], False
    for block in blocks:
        if block.text:
            is_included = next(selected)
        if is_included:
            included.append(block)
    return included


def _with_headings(is_main: IsMain, is_heading: list[bool]) -> list[bool]:
    """Add the headings directly above main text to the mask."""
    mask = [bool(flag) for flag in is_main]
    for k in range(len(mask) - 2, -1, -1):
        mask[k] |= is_heading[k] and mask[k + 1]
    return mask
