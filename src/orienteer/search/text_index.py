"""The text index: which words stand on which pages, by tantivy, in the folder `index` of a crawl.

A page is a document with its number, a stamp that tells which content of it was indexed, and its words: those of title,
headings, main text, what stands aside from it, and links to it, each in the field of the way they are read in
(`title_en`, `text_plain`, ...); besides, what it can be filtered by, and what page hooks added (see `added_terms`).
Nothing else is kept here. The stamps make it safe to kill: whoever comes next sees what is there, and what is not.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import tantivy
from numpy.typing import NDArray

from orienteer.errors import CrawlFolderError
from orienteer.pages.added import Additions
from orienteer.search.added_terms import added_text, field_terms, tag_term
from orienteer.search.mirror import Mirror, can_be_written
from orienteer.search.page_facts import date_number, type_terms
from orienteer.search.scripts import prepared
from orienteer.search.words import PLAIN, WAYS, analyzer, way_of, words_of
from orienteer.store.failures import explained
from orienteer.store.page_texts import MAKE_ANEW, PageText
from orienteer.url import host_of, site_of

PARTS = ("title", "headings", "text", "aside", "anchors")
NAME = "name"  # the whole title, as one word
# What page hooks added: its words, tags, values of fields by name, and the names of fields.
ADDED, TAG, VALUE, FIELD_NAME = "added", "tag", "value", "field_name"
WRITTEN = "words"  # as they are written, for who misspells them
_WRITTEN_CHARS = 4_000  # of each part: what stands only further down is hardly what somebody meant
_MEMORY_BYTES = 64 << 20
_PAGES_PER_LOOK = 50_000
_PAGE, _STAMP = "page", "stamp"
HOST, LANGUAGE, TYPE, DATE, TOPIC = "host", "language", "type", "date", "topic"
COUNTED = (HOST, LANGUAGE, TYPE, TOPIC, TAG)  # what results are counted by, besides dates


def field(part: str, way: str) -> str:
    """The field that holds the words of a part of pages that are read in this way."""
    return f"{part}_{way}"


@lru_cache(maxsize=1)
def schema() -> tantivy.Schema:
    fields = tantivy.SchemaBuilder()
    # Signed: tantivy deletes nothing, and says nothing, where a page is an unsigned number.
    fields.add_integer_field(_PAGE, indexed=True, fast=True)
    fields.add_integer_field(_STAMP, fast=True)
    fields.add_integer_field(DATE, indexed=True, fast=True)
    for name in COUNTED:
        fields.add_text_field(name, tokenizer_name="raw", index_option="basic", fast=True)
    for name in ("site", NAME, VALUE, FIELD_NAME):
        fields.add_text_field(name, tokenizer_name="raw", index_option="basic")
    fields.add_text_field("url", tokenizer_name=PLAIN)
    fields.add_text_field(WRITTEN, tokenizer_name="unfolded", index_option="basic")
    for way in WAYS:
        for part in PARTS:
            fields.add_text_field(field(part, way), tokenizer_name=way)
    fields.add_text_field(ADDED, tokenizer_name=PLAIN)
    return fields.build()


def name_of(text: str) -> str:
    """A title or a query, such that one that says the same is the same.

    >>> name_of("Foxes & Hounds!") == name_of("foxes hounds")
    True
    """
    return " ".join(words_of(text, PLAIN))


class TextIndex:
    """Opened for reading or writing; what tantivy refuses is a CrawlFolderError that says how to go on."""

    def __init__(self, folder: Path, create: bool = False) -> None:
        self.folder = folder
        self._mirror: Mirror | None = None
        with refusals(folder):
            if not create and not can_be_written(folder):
                self._mirror = Mirror(folder)
            place = folder if self._mirror is None else self._mirror.path
            if create and not tantivy.Index.exists(str(folder)):
                self._index = tantivy.Index(schema(), str(folder))
            else:
                self._index = tantivy.Index.open(str(place))
            for way in WAYS:
                self._index.register_tokenizer(way, analyzer(way))
            self._index.register_tokenizer("unfolded", _unfolded())
            self._index.config_reader("manual")

    def searcher(self) -> tantivy.Searcher:
        """The index as it was committed last."""
        with refusals(self.folder):
            self._index.reload()
            return self._index.searcher()

    def stamps(self) -> Stamps:
        """All documents: their pages and stamps."""
        searcher = self.searcher()
        pages: list[int] = []
        stamps: list[int] = []
        with refusals(self.folder):
            for first, last in _ranges(searcher):
                kind = tantivy.FieldType.Integer
                some = tantivy.Query.range_query(schema(), _PAGE, kind, first, last, include_upper=False)
                addresses = [address for _, address in searcher.search(some, max(1, searcher.num_docs)).hits]
                pages += page_numbers(searcher, addresses)
                stamps += [int(stamp or 0) for stamp in searcher.fast_field_values(_STAMP, addresses)]
        return Stamps(np.array(pages, np.int64), np.array(stamps, np.int64))

    def ghost_share(self) -> float:
        """How much of the index are pages that were replaced or removed: they still count when words are weighed."""
        with self._meta("segments") as segments:
            n_all = sum(segment["max_doc"] for segment in segments)
            n_ghosts = sum((segment.get("deletes") or {}).get("num_deleted_docs", 0) for segment in segments)
        return n_ghosts / n_all if n_all else 0.0

    @contextmanager
    def _meta(self, key: str) -> Iterator[Any]:
        """What tantivy wrote down about the index."""
        try:
            yield json.loads((self.folder / "meta.json").read_text())[key]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise _unusable(self.folder, error) from None

    @contextmanager
    def writer(self) -> Iterator[Writer]:
        """To add and remove pages; what is not committed is lost."""
        with refusals(self.folder):
            writer = self._index.writer(_MEMORY_BYTES, 1)
            try:
                yield Writer(writer)
            finally:
                writer.wait_merging_threads()  # it has the lock until then


class Stamps(NamedTuple):
    pages: NDArray[np.int64]
    stamps: NDArray[np.int64]


class Writer:
    def __init__(self, writer: tantivy.IndexWriter) -> None:
        self._writer = writer
        self.commit: Callable[[], object] = writer.commit

    def remove(self, page: int) -> None:
        self._writer.delete_documents_by_term(_PAGE, int(page))

    def add(
        self, page: PageText, stamp: int, link_texts: list[str], added: Additions | None = None, topic: str = ""
    ) -> None:
        document = _document(page, stamp, link_texts)
        if topic:
            document.add_text(TOPIC, topic)
        if added is not None:
            _add_added(document, added)
        self._writer.add_document(document)


def page_numbers(searcher: tantivy.Searcher, addresses: list[tantivy.DocAddress]) -> list[int]:
    """The pages that documents stand for."""
    return [int(page or 0) for page in searcher.fast_field_values(_PAGE, addresses)]


def remove_index(folder: Path, kept: Collection[str]) -> None:
    """Remove all that is in the folder of an index but these files; killed half-way, what is left is no index."""
    with explained(folder):
        (folder / "meta.json").unlink(missing_ok=True)
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name not in kept:
                path.unlink()


@contextmanager
def refusals(folder: Path) -> Iterator[None]:
    """What tantivy refuses, in one line."""
    try:
        with explained(folder):
            yield
    except CrawlFolderError:
        raise
    except ValueError as error:
        if "LockBusy" in str(error):
            raise CrawlFolderError(f"{folder} is being written by another process") from None
        raise _unusable(folder, error) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # tantivy gave up; it is no Exception
            raise
        raise _unusable(folder, error) from None


def _unusable(folder: Path, why: object) -> CrawlFolderError:
    reason = " ".join(str(why).split())[:200]
    return CrawlFolderError(f"{folder}: the search index is damaged ({reason}); {MAKE_ANEW}")


def written_words(text: str) -> list[str]:
    """The words of a text as they are written, in small letters.

    >>> written_words("Café-Bar")
    ['café', 'bar']
    """
    return _unfolded().analyze(prepared(text))


@lru_cache(maxsize=1)
def _unfolded() -> tantivy.TextAnalyzer:
    made = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    return made.filter(tantivy.Filter.remove_long(30)).filter(tantivy.Filter.lowercase()).build()


def _ranges(searcher: tantivy.Searcher) -> Iterator[tuple[int, int]]:
    """Stretches of page numbers that hold all documents."""
    if not searcher.num_docs:
        return
    facts = searcher.aggregate(tantivy.Query.all_query(), {"last": {"max": {"field": _PAGE}}})
    for first in range(0, int(facts["last"]["value"]) + 1, _PAGES_PER_LOOK):
        yield first, first + _PAGES_PER_LOOK


def _document(page: PageText, stamp: int, link_texts: list[str]) -> tantivy.Document:
    way, host = way_of(page.language), host_of(page.url)
    document = tantivy.Document()
    document.add_integer(_PAGE, page.id)
    document.add_integer(_STAMP, stamp)
    document.add_text(HOST, host)
    document.add_text("site", site_of(host))
    document.add_text(LANGUAGE, page.language)
    for term in type_terms(page.type):
        document.add_text(TYPE, term)
    if (day := date_number(page.published or page.changed)) is not None:
        document.add_integer(DATE, day)
    document.add_text(NAME, name_of(page.title))
    document.add_text("url", prepared(unquote(page.url.partition("://")[2], errors="replace")))
    texts = (page.title, page.headings, page.text, page.aside, "\n".join(link_texts))
    for part, text in zip(PARTS, texts, strict=True):
        if text:
            document.add_text(field(part, way), prepared(text, way))
            document.add_text(WRITTEN, prepared(text[:_WRITTEN_CHARS]))
    return document


def _add_added(document: tantivy.Document, added: Additions) -> None:
    if text := prepared(added_text(added)):
        document.add_text(ADDED, text)
        document.add_text(WRITTEN, text[:_WRITTEN_CHARS])
    for tag in added.tags:
        document.add_text(TAG, tag_term(tag))
    for term in sorted(field_terms(added)):
        document.add_text(VALUE, term)
    for name in added.fields:
        document.add_text(FIELD_NAME, name)
