"""Query completions: titles and frequent words by prefix.

pages.db of an index stores them with keys, normalized like indexed words (see `words`), so that `cafe` is a prefix of
`Café` and a title in any script matches by its first characters. Titles come from the pages of the highest rank, each
once; words are those that occur on the most pages. A title matches from its beginning and from each of its first words:
`charts` completes to `Old sea charts`.

The last word of a query is completed from the words of the index, and the whole of it from titles. Of the forms of a
word (index, indexes), which match the same pages, only the most frequent is offered. A word after others is offered
only if it occurs on a page together with them, the most frequent first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tantivy
from numpy.typing import NDArray
from tantivy import Occur, Query

from orienteer.search.index_view import IndexView
from orienteer.search.lookup import n_matches, tantivy_query
from orienteer.search.query import FIELDS, ParsedQuery, parse
from orienteer.search.text_index import WRITTEN, schema, tantivy_errors, written_words
from orienteer.search.words import PLAIN, words_of
from orienteer.store.page_texts import MAX_KEYS_PER_TEXT, Completion, PageTexts

WORD, TITLE = 0, 1
MAX_TYPED_CHARS = 200  # longer queries are not completed
_OPERATOR = re.compile(rf'"|\b({"|".join(FIELDS)}):', re.IGNORECASE)
MAX_TITLES = 50_000
MAX_WORDS = 50_000
_MAX_TITLE_CHARS = 120
_MIN_WORD_CHARS = 3  # shorter words are quicker to type than to choose; also excludes single characters of CJK scripts
_N_TRIED = 12  # candidates for a word after others: each costs a query
_LAST = re.compile(r"(?:^|(?<=\s))[^\s\"]+$")  # the word that is being typed
_RULE = re.compile(r"[+-]|(?:" + "|".join(FIELDS) + "):", re.IGNORECASE)


@dataclass(frozen=True)
class Suggestion:
    """A suggested query; `kind` is `word` or `title`."""

    text: str
    kind: str


def cleaned(title: str) -> str:
    """Return a title without the operators of the query language.

    >>> cleaned('  "Red"  +apples - and Title:pears')
    'Red apples and Title pears'
    """
    words = (word.lstrip("+-") for word in _OPERATOR.sub(r"\1 ", title).split())
    return " ".join(word for word in words if word)


def write_completions(
    folder: Path, texts: PageTexts, searcher: tantivy.Searcher, ranks: NDArray[np.float64], pages: NDArray[np.int64]
) -> None:
    """Collect the titles of `pages`, which must be in increasing order, and the words of the index.

    `ranks` has the ranks of all pages of the crawl.
    """
    texts.replace_completions([*_titles(texts, ranks, pages), *_words(folder, searcher)])


def _titles(texts: PageTexts, ranks: NDArray[np.float64], pages: NDArray[np.int64]) -> Iterator[Completion]:
    """Yield titles of the pages of the highest rank; of equal titles, the one of the best page."""
    best = pages[np.argsort(-ranks[pages], kind="stable")[:MAX_TITLES]]
    selected = set(best.tolist())
    found: dict[tuple[str, ...], tuple[float, str]] = {}
    for page, title in texts.titles():
        if page in selected:
            text = cleaned(title)[:_MAX_TITLE_CHARS].strip()
            words = words_of(text, PLAIN)
            rank = float(ranks[page])
            if words and rank > found.get(words, (-1.0, ""))[0]:
                found[words] = (rank, text)
    for words, (rank, text) in found.items():
        starts = range(min(len(words), MAX_KEYS_PER_TEXT))
        yield from (Completion(TITLE, " ".join(words[start:]), rank, text) for start in starts)


def _words(folder: Path, searcher: tantivy.Searcher) -> Iterator[Completion]:
    """Yield the words that occur on the most pages, as they are written."""
    with tantivy_errors(folder):
        counted = searcher.terms_with_prefix(WRITTEN, "", limit=MAX_WORDS)
    for word, n_pages in counted:
        keys = words_of(word, PLAIN)
        if len(keys) == 1 and len(word) >= _MIN_WORD_CHARS and not word[0].isdigit():
            yield Completion(WORD, keys[0], float(n_pages), word)


def completed(view: IndexView, typed: str, n: int) -> tuple[Suggestion, ...]:
    """Return the n best completions: words first, which are at most half of them, then titles."""
    text = typed.lstrip()
    if not text.strip() or len(text) > MAX_TYPED_CHARS or n < 1:
        return ()
    words = _completed_words(view, text, (n + 1) // 2)
    typed_so_far = " ".join(text.split()).casefold()
    titles = [title for title in _titles_beginning(view, text, n + 1) if title.casefold() != typed_so_far]
    titles = [title for title in titles if title.casefold() not in {word.casefold() for word in words}]
    chosen = [Suggestion(word, "word") for word in words]
    return (*chosen, *(Suggestion(title, "title") for title in titles[: n - len(chosen)]))


def _completed_words(view: IndexView, text: str, n: int) -> list[str]:
    """Return the text with its last word completed."""
    last = _LAST.search(text)
    if last is None or _RULE.match(last[0]) or text.count('"') % 2:
        return []
    head = text[: last.start()]
    found = _distinct_forms(view, last[0].lower(), _words_beginning(view, last[0], 2 * max(n + 1, _N_TRIED)))[:_N_TRIED]
    if not head.strip():
        return found[:n]
    n_pages = _n_pages_with(view, head, found)
    best = sorted(n_pages, key=lambda word: -n_pages[word])
    return [head + word for word in best if n_pages[word]][:n]


def _n_pages_with(view: IndexView, head: str, words: list[str]) -> dict[str, int]:
    """Count the pages with each word and all words of `head`, as they are written.

    The words of `head` are not stemmed either: to match all of their forms would take ten times as long.
    """
    before = []
    for clause in parse(head, view.vocabulary.field_names).clauses:
        if clause.field or clause.sign == "-":
            before.append(tantivy_query(ParsedQuery((clause,)), view.vocabulary))
        else:
            known = [word for word in written_words(clause.text) if view.searcher.doc_freq(WRITTEN, word)]
            before += [Query.term_query(schema(), WRITTEN, word) for word in known]
    return {word: _n_pages(view, (*before, Query.term_query(schema(), WRITTEN, word))) for word in words}


def _n_pages(view: IndexView, queries: Sequence[Query]) -> int:
    """Count the pages that match all of these queries, without scoring."""
    all_of_them = [(Occur.Must, Query.const_score_query(query, 0.0)) for query in queries]
    return n_matches(view.searcher.search(Query.boolean_query(all_of_them), 1))


def _distinct_forms(view: IndexView, typed: str, words: list[str]) -> list[str]:
    """Drop forms of an earlier word (by the stemmer of most pages), and the typed word itself."""
    stemmer = view.vocabulary.main_stemmer
    forms = {words_of(word, stemmer): word for word in reversed(words) if word != typed}
    return [word for word in words if forms.get(words_of(word, stemmer)) == word]


def _words_beginning(view: IndexView, typed: str, n: int) -> list[str]:
    """Return the n words with this prefix that occur on the most pages; none if `typed` is several words."""
    keys = words_of(typed, PLAIN)
    return view.texts.completions(WORD, keys[0], n) if len(keys) == 1 else []


def _titles_beginning(view: IndexView, typed: str, n: int) -> list[str]:
    """Return the n titles of the highest rank that have these words, the last one as a prefix."""
    key = " ".join(words_of(typed, PLAIN))
    is_complete = key and not typed[-1:].isalnum() and key.isascii()  # a space ends a word
    return view.texts.completions(TITLE, key + " " * bool(is_complete), n) if key else []
