"""What was found for a query, before anything of it is shown."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tantivy
from numpy.typing import NDArray

from orienteer.search import facets, ranking
from orienteer.search.hit import Hit, hits
from orienteer.search.index_view import View
from orienteer.search.lookup import built, may_be_relaxed, n_found
from orienteer.search.query import SENTENCE_WORDS, Ask, hints, wrong_values
from orienteer.search.spelling import suggestion
from orienteer.search.text_index import page_numbers, refusals
from orienteer.search.vocabulary import Vocabulary

MAX_RESULTS = 10_000  # that one can page through
FEW = 3  # results, so that a slip of the pen is looked for


class Finding(NamedTuple):
    """The best pages by their words; `total` were found, `relaxed`: some of the words had to be enough."""

    view: View
    ask: Ask
    query: tantivy.Query
    found: ranking.Found
    total: int
    relaxed: bool

    @classmethod
    def of(cls, view: View, ask: Ask, n_wanted: int, vocabulary: Vocabulary | None = None) -> Finding:
        """Look for what is asked; the vocabulary, by default that of the index, says what words are worth."""
        limit = max(ranking.N_REORDERED, n_wanted) if ask.sought else MAX_RESULTS
        with refusals(view.index):
            for relaxed in (False, True) if may_be_relaxed(ask) else (False,):
                query = built(ask, vocabulary or view.vocabulary, relaxed)
                result = view.searcher.search(query, limit)
                best = result.hits  # tantivy makes a new list each time
                if best:
                    break
            pages = page_numbers(view.searcher, [address for _, address in best])
        text = np.array([score for score, _ in best], np.float64)
        found = ranking.collapsed(np.array(pages, np.int64), text, view.columns)
        return cls(view, ask, query, found, n_found(result), relaxed and bool(pages))

    def orders(self, best: float | None = None) -> ranking.Orders:
        """The orders it can be shown in; `best` is the text score that counts as 1."""
        return ranking.Orders(self.found, self.view.columns, best)

    def hits(
        self, places: NDArray[np.int64], scores: NDArray[np.float64],
        positions: dict[str, NDArray[np.int64] | None], first: int,
    ) -> tuple[Hit, ...]:  # fmt: skip
        """The pages at these places, with their texts; the first has the position `first`."""
        return hits(self.view.texts, self.ask, self.found, places, scores, positions, first)

    def counts(self, n_values: int = facets.N_VALUES) -> dict[str, facets.Counts]:
        """How many of all that was found have which values."""
        with refusals(self.view.index):
            return facets.counted(self.view.searcher, self.query, self.view.vocabulary, n_values)

    def facets(self) -> tuple[facets.Facet, ...]:
        return facets.facets(self.counts(), self.ask) if self.total else ()

    def hints(self, words: str) -> tuple[str, ...]:
        """Why nothing was found for these words, or which filters were left out."""
        return wrong_values(self.ask) if self.total else hints(words, self.view.vocabulary.field_names)

    def suggestion(self) -> str | None:
        """What may have been meant, where little was found."""
        if not (self.relaxed or self.total <= FEW) or len(self.ask.sought) >= SENTENCE_WORDS:
            return None
        with refusals(self.view.index):
            return suggestion(self.view.searcher, self.ask, self.view.vocabulary)
