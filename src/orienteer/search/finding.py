"""The pages that match a query, before any of them is loaded for display."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tantivy
from numpy.typing import NDArray

from orienteer.search import facets, ranking
from orienteer.search.hit import Hit, hits
from orienteer.search.index_view import IndexView
from orienteer.search.lookup import may_be_relaxed, n_matches, tantivy_query
from orienteer.search.query import SENTENCE_WORDS, ParsedQuery, hints, wrong_values
from orienteer.search.spelling import suggestion
from orienteer.search.text_index import page_numbers, tantivy_errors
from orienteer.search.vocabulary import Vocabulary

MAX_RESULTS = 10_000  # that can be paged through
FEW = 3  # results, up to which the spelling is checked


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
