"""The pages that match a query: before they are loaded, and as hits for display; and spelling suggestions for it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import tantivy
from numpy.typing import NDArray

from orienteer.search import facets, ranking
from orienteer.search.index_view import IndexView
from orienteer.search.lookup import Vocabulary, may_be_relaxed, n_matches, tantivy_query
from orienteer.search.query import SENTENCE_WORDS, Clause, ParsedQuery, hints, wrong_values
from orienteer.search.snippet import Marker, Snippet, has_pages, html_of
from orienteer.search.text_index import WRITTEN, page_numbers, tantivy_errors
from orienteer.search.words import MAX_WORD_BYTES, stemmer_of
from orienteer.store.page_texts import PageTexts, StoredText

MAX_RESULTS = 10_000  # that can be paged through
FEW = 3  # results, up to which the spelling is checked
_MIN_CHARS = 4  # shorter words are within one edit of too many others
_MIN_CHARS_TWICE = 7  # longer words may have two edits
_MAX_CHARS = 30
_RARE = 2  # pages, up to which an indexed word may be a typo itself
_TIMES_AS_FREQUENT = 50
_PREFIX_CHARS, _MAX_TERMS = 3, 5_000


class FoundPages(NamedTuple):
    """The best matches by text score. `total` pages match; `relaxed`: no page has all words, these have some."""

    view: IndexView
    parsed: ParsedQuery
    query: tantivy.Query
    candidates: ranking.Candidates
    total: int
    relaxed: bool

    @classmethod
    def of(cls, view: IndexView, parsed: ParsedQuery, n_best: int, vocabulary: Vocabulary | None = None) -> FoundPages:
        """Run the query. `vocabulary` weighs the words; by default it is that of the index."""
        limit = max(ranking.N_REORDERED, n_best) if parsed.scored_clauses else MAX_RESULTS
        with tantivy_errors(view.index):
            for relaxed in (False, True) if may_be_relaxed(parsed) else (False,):
                query = tantivy_query(parsed, vocabulary or view.vocabulary, relaxed)
                result = view.searcher.search(query, limit)
                best = result.hits  # tantivy makes a new list each time
                if best:
                    break
            pages = page_numbers(view.searcher, [address for _, address in best])
        text = np.array([score for score, _ in best], np.float64)
        candidates = ranking.without_duplicates(np.array(pages, np.int64), text, view.columns)
        return cls(view, parsed, query, candidates, n_matches(result), relaxed and bool(pages))

    def orders(self, best: float | None = None) -> ranking.ResultOrders:
        """Return the possible orders; `best` is the text score that is normalized to 1."""
        return ranking.ResultOrders(self.candidates, self.view.columns, best)

    def hits(
        self, places: NDArray[np.int64], scores: NDArray[np.float64],
        positions: dict[str, NDArray[np.int64] | None], first: int,
    ) -> tuple[Hit, ...]:  # fmt: skip
        """Load the candidates at these indices; the first of them has the position `first`."""
        return hits(self.view.texts, self.parsed, self.candidates, places, scores, positions, first)

    def counts(self, n_values: int = facets.N_VALUES) -> dict[str, facets.FacetCounts]:
        """Count all matching pages by facet value."""
        with tantivy_errors(self.view.index):
            return facets.counted(self.view.searcher, self.query, self.view.vocabulary, n_values)

    def facets(self) -> tuple[facets.Facet, ...]:
        return facets.facets(self.counts(), self.parsed) if self.total else ()

    def hints(self, words: str) -> tuple[str, ...]:
        """Explain why nothing matches these words, or which filters were ignored."""
        return wrong_values(self.parsed) if self.total else hints(words, self.view.vocabulary.field_names)

    def suggestion(self) -> str | None:
        """Return a corrected query if there are few results, or None."""
        if not (self.relaxed or self.total <= FEW) or len(self.parsed.scored_clauses) >= SENTENCE_WORDS:
            return None
        with tantivy_errors(self.view.index):
            return suggestion(self.view.searcher, self.parsed, self.view.vocabulary)


def suggestion(searcher: tantivy.Searcher, parsed: ParsedQuery, vocabulary: Vocabulary) -> str | None:
    """Return the query with misspelt words replaced; None if there are none, or if that finds no more pages."""
    clauses = [_corrected(searcher, clause) for clause in parsed.clauses]
    better = parsed._replace(clauses=tuple(clauses))
    if better == parsed:
        return None
    n_before, n_after = (n_matches(searcher.search(tantivy_query(each, vocabulary), 1)) for each in (parsed, better))
    return str(better) if n_after > n_before else None


def _corrected(searcher: tantivy.Searcher, clause: Clause) -> Clause:
    if clause.field not in ("", "title") or clause.sign == "-":
        return clause
    words = clause.text.split()
    return clause._replace(text=" ".join(_better(searcher, word) for word in words)) if words else clause


def _better(searcher: tantivy.Searcher, word: str) -> str:
    lower = word.lower()
    if not (_MIN_CHARS <= len(lower) <= _MAX_CHARS and lower.isalpha() and len(lower.encode()) <= MAX_WORD_BYTES):
        return word
    n_pages = searcher.doc_freq(WRITTEN, lower)
    if n_pages > _RARE:
        return word
    enough = max(1, n_pages * _TIMES_AS_FREQUENT)
    near = {other: n for other in one_edit_away(lower) if (n := searcher.doc_freq(WRITTEN, other)) >= enough}
    if not near and not n_pages and len(lower) >= _MIN_CHARS_TWICE:
        terms = searcher.terms_with_prefix(WRITTEN, lower[:_PREFIX_CHARS], limit=_MAX_TERMS)
        near = {
            other: n for other, n in terms if abs(len(other) - len(lower)) <= 2 and edit_distance(lower, other) <= 2
        }
    return max(near, key=lambda other: (near[other], other)) if near else word


def one_edit_away(word: str) -> Iterator[str]:
    """Yield all words at edit distance 1: a letter deleted, swapped with the next, replaced, or inserted."""
    letters = sorted(set("abcdefghijklmnopqrstuvwxyz") | set(word)) if word.isascii() else sorted(set(word))
    for i in range(len(word) + 1):
        head, tail = word[:i], word[i:]
        if tail:
            yield head + tail[1:]
            yield from (head + letter + tail[1:] for letter in letters if letter != tail[0])
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        yield from (head + letter + tail for letter in letters)


def edit_distance(one: str, other: str) -> int:
    """Return the Damerau-Levenshtein distance (deletions, insertions, replacements, swaps of neighbors).

    >>> edit_distance("community", "comunnity"), edit_distance("form", "from"), edit_distance("a", "a")
    (2, 1, 0)
    """
    before_last: list[int] = []
    last = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            least = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                least = min(least, before_last[j - 2] + 1)
            row.append(least)
        before_last, last = last, row
    return last[-1]


@dataclass(frozen=True)
class Hit:
    """A matching page. `positions` has its position in each order, from 1 on; None for an order without ranks.

    `snippet` and `title` are plain, untrusted text; `snippet_html` and `title_html` are escaped, with `<mark>`;
    `segments` is the snippet split into pieces, every second of which is to be marked.
    `page_number` is the page of a document (PDF) that the snippet is from; None if the document has no pages or no word
    matches. `n_duplicates` pages of the same content are omitted. Ranks sum to 1 over the crawl; time is Unix time.
    """

    url: str
    title: str
    title_html: str
    snippet: str
    snippet_html: str
    segments: tuple[str, ...]
    position: int
    positions: dict[str, int | None]
    score: float
    text_score: float
    local_rank: float
    global_rank: float | None
    relevance: float | None
    language: str
    time: float
    n_duplicates: int
    page_number: int | None = None
    type: str = ""
    published: str = ""
    changed: str = ""

    @property
    def link(self) -> str:
        """The URL, with the page of a document as its fragment."""
        return self.url if self.page_number is None else f"{self.url}#page={self.page_number}"


def hits(
    source: PageTexts, parsed: ParsedQuery, candidates: ranking.Candidates, indices: NDArray[np.int64],
    scores: NDArray[np.float64], positions: dict[str, NDArray[np.int64] | None], first: int,
) -> tuple[Hit, ...]:  # fmt: skip
    """Load the candidates at these indices; the first of them has the position `first`."""
    results = []
    markers: dict[str, Marker] = {}
    texts = source.pages(candidates.pages[indices].tolist(), lead_only=True)
    for number, index in enumerate(indices.tolist(), first):
        text = texts.get(int(candidates.pages[index]))
        if text is None:  # removed by a concurrent update of the index
            continue
        stemmer = stemmer_of(text.language)
        if stemmer not in markers:
            markers[stemmer] = Marker(parsed, stemmer)
        page_positions = {name: None if where is None else int(where[index]) for name, where in positions.items()}
        title, snippet = markers[stemmer].marked(text.title), markers[stemmer].snippet(text.text, text.title)
        if has_pages(text.text):
            snippet = markers[stemmer].snippet_of_pages(text.text + source.remainder(text.id), text.title)
        elif not snippet.marks and not title.marks:
            snippet = _fallback_snippet(source, text, markers[stemmer], snippet)
        results.append(_hit(text, title, snippet, candidates, index, number, page_positions, float(scores[index])))
    return tuple(results)


def _fallback_snippet(source: PageTexts, text: StoredText, marker: Marker, snippet: Snippet) -> Snippet:
    """Return a snippet with a matching word from further down, or from the boilerplate; else `snippet`."""
    rest = source.remainder(text.id)
    further = marker.snippet(text.text + rest, text.title) if rest else snippet
    if not further.marks:
        further = marker.snippet(source.boilerplate(text.id), text.title)
    return further if further.marks else snippet


def _hit(
    text: StoredText, title: Snippet, snippet: Snippet, candidates: ranking.Candidates, index: int, position: int,
    positions: dict[str, int | None], score: float,
) -> Hit:  # fmt: skip
    figures, segments = candidates.figures, snippet.segments
    relevance = float(figures.relevance[index])
    return Hit(
        url=text.url,
        title=title.plain,
        title_html=html_of(title.segments),
        snippet=snippet.plain,
        snippet_html=html_of(segments),
        segments=segments,
        position=position,
        positions=positions,
        score=score,
        text_score=float(candidates.text[index]),
        local_rank=float(figures.local[index]),
        global_rank=None if positions["global"] is None else float(figures.outside[index]),
        relevance=None if math.isnan(relevance) else relevance,
        language=text.language,
        time=text.time,
        n_duplicates=int(candidates.n_repeating[index]),
        page_number=snippet.page,
        type=text.type,
        published=text.published,
        changed=text.changed,
    )
