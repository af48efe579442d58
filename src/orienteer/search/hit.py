"""A search result for display: title, snippet, and positions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orienteer.search import ranking
from orienteer.search.query import ParsedQuery
from orienteer.search.snippet import Marker, Snippet, has_pages, html_of
from orienteer.search.words import stemmer_of
from orienteer.store.page_texts import PageText, PageTexts


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


def _fallback_snippet(source: PageTexts, text: PageText, marker: Marker, snippet: Snippet) -> Snippet:
    """Return a snippet with a matching word from further down, or from the boilerplate; else `snippet`."""
    rest = source.remainder(text.id)
    further = marker.snippet(text.text + rest, text.title) if rest else snippet
    if not further.marks:
        further = marker.snippet(source.boilerplate(text.id), text.title)
    return further if further.marks else snippet


def _hit(
    text: PageText, title: Snippet, snippet: Snippet, candidates: ranking.Candidates, index: int, position: int,
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
