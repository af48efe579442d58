"""Chunks: sections of pages of limited size, one JSON object per line, for retrieval and language models.

    {"url": "http://a.org/guide#install", "page": "http://a.org/guide", "position": 3, "headings": ["Guide", "Install"],
     "text": "Run `make`.", "n_words": 2, "title": "Guide", "language": "en", ...}

A chunk belongs to one section: `headings` is the path to it, and the URL has its fragment if the page has an anchor.
The text is Markdown. The other fields are those of the format jsonl, without its text and headings.

A chunk never crosses a heading. A section larger than the limit is split between units (`markdown_units`): after a
paragraph, an item, or code. Tables are split between rows, and each piece repeats the header; larger paragraphs are
split after a sentence, or after a word if there is no sentence end. Code is never split: a larger one is a chunk of its
own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import quote

from orienteer.errors import InputError
from orienteer.exports.exported_crawl import ExportedCrawl
from orienteer.exports.exporter import Exporter, Staging, Written, exporter, packed
from orienteer.exports.markdown_blocks import rendered
from orienteer.exports.markdown_units import TABLE, TableRow, Unit, units_of
from orienteer.exports.page_texts import TextPage, pages_with_bodies
from orienteer.exports.tables import as_line, as_object
from orienteer.extract.blocks import CODE, HEADING, TERM, Block, Item, Quote
from orienteer.extract.page import Page
from orienteer.files.compressed import byte_writer
from orienteer.progress import Progress
from orienteer.search.page_reading import encodable

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])[\"')\]»”’]*\s+|(?<=[。！？])")
_WORD_END = re.compile(r"\s+")
_MAX_CHARS_PER_WORD = 12  # longer words do not occur in text with spaces: then characters count


_Containers = tuple[Quote | Item, ...]
MIN_WORDS, MAX_WORDS = 20, 100_000
_NOT_OF_CHUNKS = ("url", "text", "headings")


class Chunk(NamedTuple):
    """A chunk; `headings` is the path to its section, `anchor` the nearest preceding fragment of the URL."""

    headings: list[str]
    anchor: str
    text: str
    n_words: int


@dataclass(slots=True)
class _Section:
    headings: list[tuple[int, str]]
    anchor: str
    units: list[Unit]


def chunks_of(blocks: Sequence[Block], base: str, max_words: int, mask: Sequence[bool] | None = None) -> list[Chunk]:
    """Return the chunks of a page, in document order; with `mask`, of the selected blocks."""
    found = []
    sections = list(_sections(units_of(blocks, mask)))
    for k, section in enumerate(sections):
        headings = [heading for _, heading in section.headings]
        if not section.units:
            has_subsection = k + 1 < len(sections) and len(sections[k + 1].headings) > len(headings)
            if headings and not has_subsection:
                found.append(Chunk(headings, section.anchor, headings[-1], len(headings[-1].split())))
            continue
        anchor = section.anchor
        outer: _Containers = ()
        for units in _packed(section.units, max_words):
            anchor = units[0].anchor or anchor
            text = rendered(_without_begun(outer, units), base).strip("\n")
            if text:
                found.append(Chunk(headings, anchor, text, sum(map(_size, units))))
            anchor = next((unit.anchor for unit in reversed(units) if unit.anchor), anchor)
            outer = units[-1].containers
    return found


def _without_begun(outer: _Containers, units: list[Unit]) -> list[Unit]:
    """Return units without the quotes and items that began in the previous chunk."""
    n_begun = _n_same(outer, units[0].containers)
    if n_begun == 0:
        return units
    begun = outer[:n_begun]
    return [replace(unit, containers=unit.containers[_n_same(begun, unit.containers) :]) for unit in units]


def _n_same(containers: _Containers, others: _Containers) -> int:
    n_same = 0
    while n_same < min(len(containers), len(others)) and containers[n_same] is others[n_same]:
        n_same += 1
    return n_same


def _sections(units: list[Unit]) -> Iterator[_Section]:
    section = _Section([], "", [])
    for unit in units:
        if unit.kind != HEADING:
            section.units.append(unit)
            continue
        if section.units or section.headings:
            yield section
        level = unit.blocks[0].level
        outer = [(other, heading) for other, heading in section.headings if other < level]
        text = " ".join(block.text for block in unit.blocks)
        section = _Section([*outer, (level, text)], unit.anchor, [])
    if section.units or section.headings:
        yield section


def _packed(units: list[Unit], max_words: int) -> Iterator[list[Unit]]:
    """Group consecutive units, as many as fit into a chunk; a term may exceed the limit."""
    packed: list[Unit] = []
    size = 0
    for unit in units:
        for piece in _split(unit, max_words):
            if packed and size + _size(piece) > max_words:
                # A term stays with its definition.
                n_complete = len(packed) - (len(packed) > 1 and packed[-1].blocks[0].kind == TERM)
                yield packed[:n_complete]
                packed = packed[n_complete:]
                size = sum(map(_size, packed))
            packed.append(piece)
            size += _size(piece)
    if packed:
        yield packed


def _size(unit: Unit) -> int:
    if unit.code is not None:
        return _words_in(unit.code.text)
    return sum(_words_in(block.text) for block in unit.blocks)


def _words_in(text: str) -> int:
    """Count words; for scripts without spaces estimate them from the characters."""
    return max(len(text.split()), len(text) // _MAX_CHARS_PER_WORD)


def _split(unit: Unit, max_words: int) -> Iterator[Unit]:
    """Yield a unit, or pieces of it if it is larger than a chunk."""
    if unit.kind == CODE or _size(unit) <= max_words:
        yield unit
    elif unit.kind == TABLE:
        yield from _split_table(unit, max_words)
    else:
        for block in unit.blocks:
            for piece in _split_block(block, max_words):
                yield replace(unit, blocks=[piece])


def _split_table(unit: Unit, max_words: int) -> Iterator[Unit]:
    header = [] if unit.header is None else list(unit.header.blocks)
    header_size = sum(_words_in(block.text) for block in header)
    rows: list[TableRow] = []
    size = header_size
    for row in unit.rows:
        row_size = sum(_words_in(block.text) for block in row.blocks)
        if rows and size + row_size > max_words:
            yield _table_of(unit, header, rows)
            rows, size = [], header_size
        rows.append(row)
        size += row_size
    yield _table_of(unit, header, rows)


def _table_of(unit: Unit, header: list[Block], rows: list[TableRow]) -> Unit:
    return replace(unit, rows=rows, blocks=header + [block for row in rows for block in row.blocks])


def _split_block(block: Block, max_words: int) -> Iterator[Block]:
    start = 0
    for end in _ends(block.text, max_words):
        yield _piece(block, start, end)
        start = end


def _ends(text: str, max_words: int) -> Iterator[int]:
    """Yield the ends of the pieces of a text: as late as possible, after a sentence if there is one, else a word."""
    max_chars = max_words * _MAX_CHARS_PER_WORD
    sentence_ends = [found.end() for found in _SENTENCE_END.finditer(text)]
    word_ends = [found.end() for found in _WORD_END.finditer(text)] + [len(text)]
    start = next_word = next_sentence = 0
    while start < len(text):
        n_words, end = 0, start
        while next_word < len(word_ends) and n_words < max_words and word_ends[next_word] - start <= max_chars:
            end = word_ends[next_word]
            next_word, n_words = next_word + 1, n_words + 1
        if end == start:  # one endless word
            end = min(start + max_chars, len(text))
        last_sentence = start
        while next_sentence < len(sentence_ends) and sentence_ends[next_sentence] <= end:
            last_sentence = sentence_ends[next_sentence]
            next_sentence += 1
        if end < len(text) and last_sentence > start:
            end = last_sentence
        while next_word and word_ends[next_word - 1] > end:
            next_word -= 1
        yield end
        start = end


def _piece(block: Block, start: int, end: int) -> Block:
    """Return a piece of a line, with the spans in it."""
    spans = [
        span._replace(start=max(span.start - start, 0), end=min(span.end, end) - start)
        for span in block.spans
        if (span.start < end and span.end > start)
        or (span.start == span.end and (start <= span.start < end or span.start == end == len(block.text)))
    ]
    return replace(block, text=block.text[start:end], spans=spans, anchor=block.anchor if start == 0 else "")


@exporter
class Chunks(Exporter):
    name = "chunks"
    about = "sections of pages with the headings above them, one JSON object per line"
    suffixes = packed(".chunks.jsonl", ".jsonl")

    def __init__(self, words: int = 300, full_text: bool = False) -> None:
        """`words` is the maximal size of a chunk; only code may have more, since it is never split. With `full_text`
        the boilerplate becomes chunks, too.
        """
        self._full_text = full_text
        if not MIN_WORDS <= words <= MAX_WORDS:
            raise InputError(f"a chunk has {MIN_WORDS} to {MAX_WORDS:,} words, not {words:,}")
        self._max_words = words

    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        selected = crawl.distinct(archived=True)
        with byte_writer(staging.main, staging.name) as out:
            for page, chunks in pages_with_bodies(crawl, selected, self._full_text, page_chunks, self._max_words):
                for position, chunk in enumerate(chunks or ()):
                    out.write(as_line(chunk_object(page, chunk, position)))
        return Written(int(selected.sum()))


def page_chunks(page: Page, max_words: int) -> list[Chunk]:
    """Return the chunks of a page that has blocks."""
    return [
        Chunk(
            [encodable(heading) for heading in chunk.headings],
            encodable(chunk.anchor),
            encodable(chunk.text),
            chunk.n_words,
        )
        for chunk in chunks_of(page.blocks, page.base, max_words)
    ]


def chunk_object(page: TextPage, chunk: Chunk, position: int) -> dict[str, Any]:
    """Return a chunk as a JSON object."""
    fragment = quote(chunk.anchor, safe="!$&'()*+,-./:;=?@_~%")
    return {
        "url": f"{page.url}#{fragment}" if fragment else page.url,
        "page": page.url,
        "position": position,
        "headings": chunk.headings,
        "text": chunk.text,
        "n_words": chunk.n_words,
        **{name: value for name, value in as_object(page).items() if name not in _NOT_OF_CHUNKS},
    }
