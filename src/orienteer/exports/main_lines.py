"""Which lines of the pages that are exported are main text: by their scores, and by what repeats on their hosts.

All pages are read once for that, before they are read to be written: a page cannot be told from the furniture of its
host before the others are known. Meanwhile their lines are in a temporary file, so that there may be any number.
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
from orienteer.extract.furniture import Furniture
from orienteer.inspect.archived_page import Archived, page_reading
from orienteer.processes.ordered import in_order
from orienteer.processes.pool import Failed
from orienteer.url import host_of

IsMain = bytes  # 1 for each line that is main text, 0 for others; empty where nothing is known, and all is taken

_SIZES = Struct("<III")


class ScoredText(NamedTuple):
    text: str
    scores: bytes


@contextmanager
def score_reading(folder: Path) -> Iterator[Callable[[Archived], ScoredText]]:
    """For `in_order`: the lines of pages, and their scores."""
    with page_reading(folder, with_scores=True) as read:

        def scored(wanted: Archived) -> ScoredText:
            page = read(wanted)
            return ScoredText(page.text, page.line_scores)

        yield scored


def main_lines(crawl: ExportedCrawl, wanted: Mask) -> Iterator[IsMain]:
    """Of each of these pages, in the order they were fetched, which lines are main text."""
    furniture = Furniture()
    rows = ((host_of(url), crawl.to_read(row, url)) for row, url in crawl.rows(wanted, "telling main text"))
    with tempfile.TemporaryFile() as file:
        with in_order(score_reading, (crawl.archive.folder,), rows, crawl.n_processes) as read:
            for host, scored in read:
                text, scores = ("", b"") if isinstance(scored, Failed) else scored
                if scores:
                    furniture.learn(host, text.split("\n"))
                _write(file, host, text if scores else "", scores)
        file.seek(0)
        for host, text, scores in _records(file):
            yield furniture.main_lines(host, text.split("\n"), scores).tobytes() if scores else b""


def _write(file: BinaryIO, host: str, text: str, scores: bytes) -> None:
    name, packed = host.encode(errors="replace"), zlib.compress(text.encode(errors="replace"), 1)
    file.write(_SIZES.pack(len(name), len(packed), len(scores)) + name + packed + scores)


def _records(file: BinaryIO) -> Iterator[tuple[str, str, bytes]]:
    while sizes := file.read(_SIZES.size):
        name, packed, scores = (file.read(size) for size in _SIZES.unpack(sizes))
        yield name.decode(), zlib.decompress(packed).decode(), scores


def kept_text(text: str, headings: list[str], is_main: IsMain) -> str:
    """The main text with its headings; all of it where nothing is known, or the page is another one by now."""
    lines = text.split("\n")
    if len(lines) != len(is_main):
        return text
    of_headings = set(headings)
    kept = _with_headings(is_main, [line in of_headings for line in lines])
    return "\n".join(line for line, is_kept in zip(lines, kept, strict=True) if is_kept)


def kept_blocks(blocks: list[Block], is_main: IsMain) -> list[Block]:
    """The same of blocks; an image goes with the line before it."""
    is_heading = [block.kind == HEADING for block in blocks if block.text]
    if len(is_heading) != len(is_main):
        return blocks
    wanted = iter(_with_headings(is_main, is_heading))
    kept, is_kept = [], False
    for block in blocks:
        if block.text:
            is_kept = next(wanted)
        if is_kept:
            kept.append(block)
    return kept


def _with_headings(is_main: IsMain, is_heading: list[bool]) -> list[bool]:
    """The headings right above main text belong to it."""
    kept = [bool(one) for one in is_main]
    for k in range(len(kept) - 2, -1, -1):
        kept[k] |= is_heading[k] and kept[k + 1]
    return kept
