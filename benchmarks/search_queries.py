"""Known-item queries: words that a user may type to find a page, and the intended pages.

    title           the words of its title
    one word less   the same without one of them, any, of titles with three or more: perhaps the distinctive one
    a sentence      the three rarest words of a sentence on it, of those that are on another page, too
    a link          the text of a link to it that does not say its title: drawn from all links, so that pages with many
                    links are asked for more often. These texts are left out of the index

The pages are split in two halves by their titles: settings may be chosen by the one, figures are given for the other.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np

from benchmarks.sizes import sized
from orienteer.search.indexing import update_index
from orienteer.search.page_columns import PageColumns
from orienteer.store.page_texts import PageTexts, StoredText
from orienteer.url import host_of

KINDS = ("title", "one word less", "a sentence", "a link")
N_QUERIES = sized(2000, 5)
_MIN_TEXT_CHARS = 500
_N_RARE = 3
_SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")


class Query(NamedTuple):
    words: str
    urls: frozenset[str]  # the pages that are meant


class QueryMaker:
    """Makes queries for the pages of an index, the same ones for the same pages."""

    def __init__(self, folder: Path, held_out: bool) -> None:
        self._rng = np.random.default_rng(20260101)
        self._held_out = held_out
        self._index = folder / "index"
        self._pages = sorted(filter(_is_article, texts_of(folder)), key=lambda page: page.url)
        self._titles: dict[str, set[str]] = {}
        for page in self._pages:
            self._titles.setdefault(page.title, set()).add(page.url)

    def queries(self, kind: str) -> list[Query]:
        makers = {
            "title": self._by_title,
            "one word less": self._by_less,
            "a sentence": self._by_sentence,
            "a link": self._by_link,
        }
        return list(makers[kind]())

    def _is_mine(self, title: str) -> bool:
        return crc32(title.encode()) % 2 == self._held_out

    def _some(self, n: int) -> list[int]:
        """Which N_QUERIES of n things to take."""
        return [int(k) for k in self._rng.choice(n, min(N_QUERIES, n), replace=False)]

    def _by_title(self) -> Iterator[Query]:
        titles = sorted(filter(self._is_mine, self._titles))
        return (Query(titles[k], frozenset(self._titles[titles[k]])) for k in self._some(len(titles)))

    def _by_less(self) -> Iterator[Query]:
        titles = sorted(title for title in self._titles if self._is_mine(title) and len(_words(title)) >= 3)
        pairs = [(title, place) for title in titles for place in range(len(_words(title)))]
        for title, place in (pairs[k] for k in self._some(len(pairs))):
            words = _words(title)
            del words[place]
            yield Query(" ".join(words), frozenset(self._titles[title]))

    def _by_sentence(self) -> Iterator[Query]:
        n_pages = Counter(word for page in self._pages for word in set(_words(page.text.lower())))
        mine = [page for page in self._pages if self._is_mine(page.title)]
        for k in self._some(len(mine)):
            sentences = [set(_words(text.lower())) for text in _SENTENCE.split(mine[k].text)]
            useful = [
                words for said in sentences if len(words := [w for w in said if w.isalpha() and n_pages[w] > 1]) >= 8
            ]
            if useful:
                words = useful[int(self._rng.integers(len(useful)))]
                rarest = sorted(words, key=lambda word: (n_pages[word], word))[:_N_RARE]
                yield Query(" ".join(rarest), frozenset((mine[k].url,)))

    def _by_link(self) -> Iterator[Query]:
        rows = self.link_texts()
        targets: dict[str, set[str]] = {}
        for text, url in rows:
            targets.setdefault(text, set()).add(url)
        for k in self._some(len(rows)):
            yield Query(rows[k][0], frozenset(targets[rows[k][0]]))

    def link_texts(self) -> list[tuple[str, str]]:
        """For each link to a page of ours whose text is not its title, that text, in lower case, and the page's URL."""
        pages = {page.id: page for page in self._pages if self._is_mine(page.title)}
        with sqlite3.connect(self._index / "pages.db") as database:
            rows = database.execute("SELECT target, text FROM anchor").fetchall()
        database.close()
        return sorted(
            (" ".join(_words(text.lower())), pages[target].url)
            for target, text in rows
            if target in pages and _words(text.lower()) != _words(pages[target].title.lower())
        )


def _is_article(page: StoredText) -> bool:
    """Not a list of pages."""
    return bool(page.title) and len(page.text) > _MIN_TEXT_CHARS and "/index/" not in page.url


def texts_of(folder: Path) -> Iterator[StoredText]:
    """The pages that are indexed, already read."""
    with PageTexts(folder / "index" / "pages.db", read_only=True) as texts:
        pages = PageColumns(folder / "index" / "columns.npz").pages.tolist()
        for page in pages:
            text = texts.page(page)
            if text is not None:
                yield text


def leave_out(folder: Path, asked: list[Query]) -> None:
    """Take these texts of links to these pages out of the index."""
    words = {(query.words, url) for query in asked for url in query.urls}
    urls = {page.id: page.url for page in texts_of(folder)}
    with sqlite3.connect(folder / "index" / "pages.db") as database:
        rows = database.execute("SELECT target, text, source FROM anchor").fetchall()
        gone = [row for row in rows if (" ".join(_words(row[1].lower())), urls.get(row[0])) in words]
        database.executemany("DELETE FROM anchor WHERE target = ? AND text = ? AND source = ?", gone)
    database.close()
    update_index(folder, max_deleted_share=0)


def everyday_queries(folder: Path, n: int) -> dict[str, list[str]]:
    """What people may type, n of each kind: to see how long it takes, not what is found."""
    rng = np.random.default_rng(20260102)
    pages = sorted(filter(_is_article, texts_of(folder)), key=lambda page: page.url)
    chosen = [pages[int(k)] for k in rng.choice(len(pages), n, replace=False)]
    n_pages = Counter(word for page in chosen for word in set(_words(page.text.lower())) if len(word) > 3)
    frequent = sorted(n_pages, key=lambda word: (-n_pages[word], word))[:400]
    titles = [_words(page.title) for page in chosen]
    shorter = [[*words[: (k := int(rng.integers(len(words))))], *words[k + 1 :]] for words in titles if len(words) > 2]
    texts = [_words(page.text) for page in chosen]
    starts = [int(rng.integers(len(words) - 3)) for words in texts]
    return {
        "a title": [" ".join(words) for words in titles if words],
        "one word less": [" ".join(words) for words in shorter],
        "two frequent words": [" ".join(rng.choice(frequent, 2, replace=False)) for _ in chosen],
        "three frequent words": [" ".join(rng.choice(frequent, 3, replace=False)) for _ in chosen],
        "three words in a row": [
            '"' + " ".join(words[k : k + 3]) + '"' for words, k in zip(texts, starts, strict=True)
        ],
        "a frequent word, site:": [f"{rng.choice(frequent)} site:{host_of(page.url)}" for page in chosen],
    }


def _words(text: str) -> list[str]:
    return _WORD.findall(text)
