"""Chunks: sections of pages of limited size, one JSON object per line, for retrieval and language models.

    {"url": "http://a.org/guide#install", "page": "http://a.org/guide", "position": 3, "headings": ["Guide", "Install"],
     "text": "Run `make`.", "n_words": 2, "title": "Guide", "language": "en", ...}

A chunk belongs to one section: `headings` is the path to it, and the URL has its fragment if the page has an anchor.
The text is Markdown. The other fields are those of the format jsonl, without its text and headings.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from orienteer.errors import InputError
from orienteer.exports.chunking import Chunk, chunks_of
from orienteer.exports.exported_crawl import ExportedCrawl
from orienteer.exports.exporter import Exporter, Written, exporter, packed
from orienteer.exports.jsonl import as_line, as_object
from orienteer.exports.page_texts import TextPage, pages_with_bodies
from orienteer.exports.staging import Staging
from orienteer.extract.page import Page
from orienteer.files.compressed import byte_writer
from orienteer.progress import Progress
from orienteer.search.page_reading import encodable

MIN_WORDS, MAX_WORDS = 20, 100_000
_NOT_OF_CHUNKS = ("url", "text", "headings")


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
