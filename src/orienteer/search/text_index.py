"""The text index: the inverted index of a crawl, by tantivy, in its folder `index`.

A page is a document with its id, a stamp of the indexed content, and the words of its zones: title, headings, main
text, boilerplate (`aside`), and texts of links to it, in one field for each zone and stemmer (`title_en`, `text_plain`,
...); also its filter values, and the additions of page hooks (see `page_facts`). Texts are not stored. Because of the
stamps an update may be killed: the next one compares them and continues.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
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
from orienteer.search.page_facts import added_text, date_number, field_terms, tag_term, type_terms
from orienteer.search.words import PLAIN, STEMMER_NAMES, analyzer, normalized, stemmer_of, words_of
from orienteer.store.failures import map_disk_errors
from orienteer.store.page_texts import REBUILD_HINT, StoredText
from orienteer.url import host_of, site_of

_MANIFESTS = ("meta.json", ".managed.json")
_LOCKS = (".tantivy-meta.lock", ".tantivy-writer.lock")
ZONES = ("title", "headings", "text", "aside", "anchors")
NAME = "name"  # the whole title, as one word
# What page hooks added: its words, tags, values of fields by name, and the names of fields.
ADDED, TAG, VALUE, FIELD_NAME = "added", "tag", "value", "field_name"
WRITTEN = "words"  # unstemmed, for completions and spelling
_WRITTEN_CHARS = 4_000  # of each zone: words only further down are unlikely to be the intended ones
_MEMORY_BYTES = 64 << 20
_PAGES_PER_QUERY = 50_000
_PAGE, _STAMP = "page", "stamp"
HOST, LANGUAGE, TYPE, DATE, TOPIC = "host", "language", "type", "date", "topic"
COUNTED = (HOST, LANGUAGE, TYPE, TOPIC, TAG)  # facets, in addition to dates


def is_writable(folder: Path) -> bool:
    """Whether tantivy can create its lock files in the folder."""
    places = [folder, *(folder / name for name in _LOCKS if (folder / name).exists())]
    return all(os.access(place, os.W_OK, effective_ids=os.access in os.supports_effective_ids) for place in places)


class Mirror:
    """A writable folder with the content of a read-only index; it is removed with this object.

    Tantivy writes lock files into the folder of an index. This folder has symbolic links to the files of the index,
    which are immutable, and copies of its manifests.
    """

    def __init__(self, index: Path) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="orienteer-index-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
        for name in _MANIFESTS:
            if (index / name).is_file():
                shutil.copyfile(index / name, self.path / name)
        for path in index.iterdir():
            if path.is_file() and path.name not in (*_MANIFESTS, *_LOCKS):
                (self.path / path.name).symlink_to(path.resolve())


def field(zone: str, stemmer: str) -> str:
    """Return the name of the field for a zone and a stemmer."""
    return f"{zone}_{stemmer}"


@lru_cache(maxsize=1)
def schema() -> tantivy.Schema:
    fields = tantivy.SchemaBuilder()
    # Signed, because deletion by an unsigned id silently deletes nothing in tantivy.
    fields.add_integer_field(_PAGE, indexed=True, fast=True)
    fields.add_integer_field(_STAMP, fast=True)
    fields.add_integer_field(DATE, indexed=True, fast=True)
    for name in COUNTED:
        fields.add_text_field(name, tokenizer_name="raw", index_option="basic", fast=True)
    for name in ("site", NAME, VALUE, FIELD_NAME):
        fields.add_text_field(name, tokenizer_name="raw", index_option="basic")
    fields.add_text_field("url", tokenizer_name=PLAIN)
    fields.add_text_field(WRITTEN, tokenizer_name="unfolded", index_option="basic")
    for stemmer in STEMMER_NAMES:
        for zone in ZONES:
            fields.add_text_field(field(zone, stemmer), tokenizer_name=stemmer)
    fields.add_text_field(ADDED, tokenizer_name=PLAIN)
    return fields.build()


def name_of(text: str) -> str:
    """Return a title or a query normalized, so that titles with the same words are equal.

    >>> name_of("Foxes & Hounds!") == name_of("foxes hounds")
    True
    """
    return " ".join(words_of(text, PLAIN))


class TextIndex:
    """The tantivy index of a crawl, for reading or writing; errors of tantivy are raised as CrawlFolderError."""

    def __init__(self, folder: Path, create: bool = False) -> None:
        self.folder = folder
        self._mirror: Mirror | None = None
        with tantivy_errors(folder):
            if not create and not is_writable(folder):
                self._mirror = Mirror(folder)
            place = folder if self._mirror is None else self._mirror.path
            if create and not tantivy.Index.exists(str(folder)):
                self._index = tantivy.Index(schema(), str(folder))
            else:
                self._index = tantivy.Index.open(str(place))
            for stemmer in STEMMER_NAMES:
                self._index.register_tokenizer(stemmer, analyzer(stemmer))
            self._index.register_tokenizer("unfolded", _unfolded())
            self._index.config_reader("manual")

    def searcher(self) -> tantivy.Searcher:
        """Return a searcher of the last commit."""
        with tantivy_errors(self.folder):
            self._index.reload()
            return self._index.searcher()

    def stamps(self) -> Stamps:
        """Return the pages and stamps of all documents."""
        searcher = self.searcher()
        pages: list[int] = []
        stamps: list[int] = []
        with tantivy_errors(self.folder):
            for first, last in _ranges(searcher):
                kind = tantivy.FieldType.Integer
                some = tantivy.Query.range_query(schema(), _PAGE, kind, first, last, include_upper=False)
                addresses = [address for _, address in searcher.search(some, max(1, searcher.num_docs)).hits]
                pages += page_numbers(searcher, addresses)
                stamps += [int(stamp or 0) for stamp in searcher.fast_field_values(_STAMP, addresses)]
        return Stamps(np.array(pages, np.int64), np.array(stamps, np.int64))

    def deleted_share(self) -> float:
        """Return the share of deleted documents in the index, which still count in word frequencies."""
        with self._meta("segments") as segments:
            n_all = sum(segment["max_doc"] for segment in segments)
            n_deleted = sum((segment.get("deletes") or {}).get("num_deleted_docs", 0) for segment in segments)
        return n_deleted / n_all if n_all else 0.0

    @contextmanager
    def _meta(self, key: str) -> Iterator[Any]:
        """Yield an entry of tantivy's meta.json."""
        try:
            yield json.loads((self.folder / "meta.json").read_text())[key]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise _damaged(self.folder, error) from None

    @contextmanager
    def writer(self) -> Iterator[TextIndexWriter]:
        """Open a writer to add and remove pages; uncommitted changes are lost."""
        with tantivy_errors(self.folder):
            writer = self._index.writer(_MEMORY_BYTES, 1)
            try:
                yield TextIndexWriter(writer)
            finally:
                writer.wait_merging_threads()  # it has the lock until then


class Stamps(NamedTuple):
    pages: NDArray[np.int64]
    stamps: NDArray[np.int64]


class TextIndexWriter:
    def __init__(self, writer: tantivy.IndexWriter) -> None:
        self._writer = writer
        self.commit: Callable[[], object] = writer.commit

    def remove(self, page: int) -> None:
        self._writer.delete_documents_by_term(_PAGE, int(page))

    def add(
        self, page: StoredText, stamp: int, link_texts: list[str], added: Additions | None = None, topic: str = ""
    ) -> None:
        document = _document(page, stamp, link_texts)
        if topic:
            document.add_text(TOPIC, topic)
        if added is not None:
            _add_added(document, added)
        self._writer.add_document(document)


def page_numbers(searcher: tantivy.Searcher, addresses: list[tantivy.DocAddress]) -> list[int]:
    """Return the page ids of documents."""
    return [int(page or 0) for page in searcher.fast_field_values(_PAGE, addresses)]


def remove_index(folder: Path, keep: Collection[str]) -> None:
    """Remove all files of an index except `keep`. If this is interrupted, the folder is no index any more."""
    with map_disk_errors(folder):
        (folder / "meta.json").unlink(missing_ok=True)
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name not in keep:
                path.unlink()


@contextmanager
def tantivy_errors(folder: Path) -> Iterator[None]:
    """Raise errors of tantivy as CrawlFolderError with a message of one line."""
    try:
        with map_disk_errors(folder):
            yield
    except CrawlFolderError:
        raise
    except ValueError as error:
        if "LockBusy" in str(error):
            raise CrawlFolderError(f"{folder} is being written by another process") from None
        raise _damaged(folder, error) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # a panic in tantivy, which derives from BaseException
            raise
        raise _damaged(folder, error) from None


def _damaged(folder: Path, why: object) -> CrawlFolderError:
    reason = " ".join(str(why).split())[:200]
    return CrawlFolderError(f"{folder}: the search index is damaged ({reason}); {REBUILD_HINT}")


def written_words(text: str) -> list[str]:
    """Return the words of a text in lower case, unstemmed and with accents.

    >>> written_words("Café-Bar")
    ['café', 'bar']
    """
    return _unfolded().analyze(normalized(text))


@lru_cache(maxsize=1)
def _unfolded() -> tantivy.TextAnalyzer:
    made = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    return made.filter(tantivy.Filter.remove_long(30)).filter(tantivy.Filter.lowercase()).build()


def _ranges(searcher: tantivy.Searcher) -> Iterator[tuple[int, int]]:
    """Yield ranges of page ids that cover all documents."""
    if not searcher.num_docs:
        return
    facts = searcher.aggregate(tantivy.Query.all_query(), {"last": {"max": {"field": _PAGE}}})
    for first in range(0, int(facts["last"]["value"]) + 1, _PAGES_PER_QUERY):
        yield first, first + _PAGES_PER_QUERY


def _document(page: StoredText, stamp: int, link_texts: list[str]) -> tantivy.Document:
    stemmer, host = stemmer_of(page.language), host_of(page.url)
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
    document.add_text("url", normalized(unquote(page.url.partition("://")[2], errors="replace")))
    texts = (page.title, page.headings, page.text, page.boilerplate, "\n".join(link_texts))
    for zone, text in zip(ZONES, texts, strict=True):
        if text:
            document.add_text(field(zone, stemmer), normalized(text, stemmer))
            document.add_text(WRITTEN, normalized(text[:_WRITTEN_CHARS]))
    return document


def _add_added(document: tantivy.Document, added: Additions) -> None:
    if text := normalized(added_text(added)):
        document.add_text(ADDED, text)
        document.add_text(WRITTEN, text[:_WRITTEN_CHARS])
    for tag in added.tags:
        document.add_text(TAG, tag_term(tag))
    for term in sorted(field_terms(added)):
        document.add_text(VALUE, term)
    for name in added.fields:
        document.add_text(FIELD_NAME, name)
