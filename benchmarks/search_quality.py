"""Search quality: is the intended page the first result, or among the first ten? Ours and three others.

Three real sites: 36 documentation hosts, an encyclopedia for schools, and manuals with very long pages (SQLite,
PostgreSQL and git, as Debian packages have them). Two kinds of queries, made from the pages themselves:

    title       the title of a page, as it is; every page with that title is meant
    sentence    a sentence from the text of a page, pasted as it is; every page that has it is meant

The others are as they come, over the same titles and texts: SQLite's FTS5 (Porter stemmer, all of the words, or any of
them where no page has all), tantivy (its default tokenizer, `parse_query` over title and text) and bm25s (its default
tokenizer with English stop words). They know no headings, no texts of links, no ranks and no phrases; ours was
set on the other half of the pages, with one exception: the weight of an exact title was raised after a look at titles
of the encyclopedia in this half. CPU time is that of one query.
"""

from __future__ import annotations

import re
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from benchmarks import search_web
from benchmarks.debian_docs import Manual, written_site
from benchmarks.measure import NotInstalledError, machine, measured, table
from benchmarks.search_queries import Query, texts_of
from benchmarks.sizes import sized
from orienteer.store.page_texts import StoredText

N_QUERIES = sized(1_000, 5)
MANUALS = (
    Manual("sqlite.test", "sqlite3-doc", "usr/share/doc/sqlite3"),
    Manual("postgresql.test", "postgresql-doc-15", "usr/share/doc/postgresql-doc-15/html"),
    Manual("git.test", "git-doc", "usr/share/doc/git-doc"),
)
KINDS = ("title", "sentence")
_N_HITS = 10
_MIN_TEXT_CHARS = 500
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_WORD = re.compile(r"\w+")
_FEWEST_WORDS, _MOST_WORDS = 8, 40


class Answered(NamedTuple):
    """Shares of the queries, and milliseconds."""

    first: float
    found_share: float
    cpu_ms: float


Answer = Callable[[str], list[str]]


def run() -> str:
    text = f"{machine('tantivy', 'bm25s')}, SQLite {sqlite3.sqlite_version}\n"
    with tempfile.TemporaryDirectory(prefix="orienteer-quality-") as place:
        for name, crawled in SITES.items():
            folder = Path(place) / name.replace(" ", "-")
            crawled(folder)
            text += "\n" + site_table(name, folder)
    return text


def _docs(folder: Path) -> None:
    search_web.crawl_set(search_web.SETS[0], folder)


def _schools(folder: Path) -> None:
    search_web.crawl_set(search_web.SETS[1], folder)


def _manuals(folder: Path) -> None:
    search_web.crawl(written_site(folder.with_suffix(".tar"), MANUALS), folder)


SITES = {"documentation": _docs, "schools": _schools, "long manuals": _manuals}


def site_table(name: str, folder: Path) -> str:
    """The figures of a crawled site, under a heading with its name."""
    from orienteer.search.indexing import update_index

    update_index(folder)
    asked = queries(folder, held_out=True)
    rows = []
    for contender, answering in CONTENDERS.items():
        try:
            found: dict[str, Answered] = measured(answering, folder, asked, rounds=1).result
        except NotInstalledError:
            continue
        figures = [figure for kind in KINDS for figure in found[kind]]
        rows.append([f"{contender}, {name}", *(f"{figure:.3f}" for figure in figures)])
    headings = [f"{kind}: {figure}" for kind in KINDS for figure in ("success@1", "@10", "CPU ms p50")]
    sizes = [len(page.text) for page in texts_of(folder)]
    counts = ", ".join(f"{len(asked[kind]):,} by {kind}" for kind in KINDS)
    median, most = np.percentile(sizes, (50, 99))
    about = f"{len(sizes):,} pages, the median with {median:,.0f} characters, one in a hundred with over {most:,.0f}"
    return f"{name}: {about}; queries: {counts}.\n\n" + table(["", *headings], rows)


# -- queries ----------------------------------------------------------------------------------------------------


def queries(folder: Path, held_out: bool) -> dict[str, list[Query]]:
    """The same ones for the same pages; pages are split in two halves by their URLs."""
    rng = np.random.default_rng(20260116)
    by_title: dict[str, set[str]] = {}
    by_sentence: dict[str, set[str]] = {}
    mine: list[tuple[str, list[str]]] = []
    for page in sorted(texts_of(folder), key=lambda page: page.url):
        said = sentences(page)
        for sentence in said:
            by_sentence.setdefault(sentence, set()).add(page.url)
        if page.title:
            by_title.setdefault(page.title, set()).add(page.url)
        if page.title and len(page.text) > _MIN_TEXT_CHARS and crc32(page.url.encode()) % 2 == held_out:
            mine.append((page.title, said))
    chosen = [mine[int(k)] for k in rng.permutation(len(mine))]
    titles = list(dict.fromkeys(title for title, _ in chosen))[:N_QUERIES]
    pasted = [said[int(rng.integers(len(said)))] for _, said in chosen if said][:N_QUERIES]
    return {
        "title": [Query(title, frozenset(by_title[title])) for title in titles],
        "sentence": [Query(sentence, frozenset(by_sentence[sentence])) for sentence in pasted],
    }


def sentences(page: StoredText) -> list[str]:
    """What of a page may be pasted: sentences of 8 to 40 words that end as sentences do."""
    found = [sentence for line in page.text.split("\n") for sentence in _SENTENCE.split(line)]
    return [s for s in found if s[-1:] in ".!?" and _FEWEST_WORDS <= len(_WORD.findall(s)) <= _MOST_WORDS]


# -- contenders -------------------------------------------------------------------------------------------------


def answered(asked: dict[str, list[Query]], answer: Answer) -> Callable[[], dict[str, Answered]]:
    return lambda: {kind: _answered(some, answer) for kind, some in asked.items()}


def _answered(asked: list[Query], answer: Answer) -> Answered:
    places, times = [], []
    for query in asked:
        began = time.process_time()
        found = answer(query.words)
        times.append(1000 * (time.process_time() - began))
        places.append(next((k for k, url in enumerate(found, 1) if url in query.urls), 0))
    first, found_share = np.mean([place == 1 for place in places]), np.mean([place > 0 for place in places])
    return Answered(float(first), float(found_share), float(np.median(times)))


def ours(folder: Path, asked: dict[str, list[Query]]) -> Callable[[], Any]:
    from orienteer.search.search_index import SearchIndex

    index = SearchIndex.open(folder)
    return answered(asked, lambda words: [hit.url for hit in index.search(words, n=_N_HITS).hits])


def fts5(folder: Path, asked: dict[str, list[Query]]) -> Callable[[], Any]:
    return _fts5(folder, asked, "porter unicode61")


def fts5_plain(folder: Path, asked: dict[str, list[Query]]) -> Callable[[], Any]:
    """Without a stemmer."""
    return _fts5(folder, asked, "unicode61")


def _fts5(folder: Path, asked: dict[str, list[Query]], tokenizer: str) -> Callable[[], Any]:
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE VIRTUAL TABLE page USING fts5(url UNINDEXED, title, text, tokenize='{tokenizer}')")
    rows = ((page.url, page.title, page.text) for page in texts_of(folder))
    database.executemany("INSERT INTO page VALUES (?, ?, ?)", rows)
    sql = f"SELECT url FROM page WHERE page MATCH ? ORDER BY rank LIMIT {_N_HITS}"

    def answer(words: str) -> list[str]:
        quoted = [f'"{word}"' for word in _WORD.findall(words)]
        for how in (" ", " OR "):
            if found := [url for (url,) in database.execute(sql, (how.join(quoted),))]:
                return found
        return []

    return answered(asked, answer)


def tantivy_defaults(folder: Path, asked: dict[str, list[Query]]) -> Callable[[], Any]:
    import tantivy

    fields = tantivy.SchemaBuilder().add_text_field("url", stored=True)
    index = tantivy.Index(fields.add_text_field("title").add_text_field("text").build())
    writer = index.writer(num_threads=1)
    for page in texts_of(folder):
        writer.add_document(tantivy.Document(url=page.url, title=page.title, text=page.text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def answer(words: str) -> list[str]:
        quoted = " ".join(f'"{word}"' for word in _WORD.findall(words))  # AND, OR, NOT and IN are rules there
        try:
            query = index.parse_query(quoted, ["title", "text"])
        except ValueError:  # its tokenizer sees no word
            return []
        return [str(searcher.doc(address)["url"][0]) for _, address in searcher.search(query, _N_HITS).hits]

    return answered(asked, answer)


def bm25s_defaults(folder: Path, asked: dict[str, list[Query]]) -> Callable[[], Any]:
    import bm25s

    pages = list(texts_of(folder))
    urls = np.array([page.url for page in pages])
    retriever = bm25s.BM25()
    texts = [f"{page.title}\n{page.text}" for page in pages]
    retriever.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)

    def answer(words: str) -> list[str]:
        tokens = bm25s.tokenize([words], return_ids=False, show_progress=False)
        known = [[word for word in tokens[0] if word in retriever.vocab_dict]]
        if not known[0]:
            return []
        found, _ = retriever.retrieve(known, k=_N_HITS, show_progress=False)
        return [str(url) for url in urls[found[0]]]

    return answered(asked, answer)


CONTENDERS: dict[str, Callable[..., Callable[[], Any]]] = {
    "orienteer": ours,
    "FTS5": fts5,
    "tantivy": tantivy_defaults,
    "bm25s": bm25s_defaults,
}
