"""A page that was found, as it is shown: its title, a snippet, where it stands."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orienteer.search import ranking
from orienteer.search.paged import has_pages
from orienteer.search.query import Ask
from orienteer.search.snippet import Marker, Snippet, html_of
from orienteer.search.words import way_of
from orienteer.store.page_texts import PageText, PageTexts


@dataclass(frozen=True)
class Hit:
    """A page that was found. `positions` are those under each order, from 1 on; None for one there are no ranks for.

    `snippet` and `title` are plain text, as strangers wrote them; the others are escaped, with `<mark>` around words;
    `parts` are the pieces of the snippet, every second one to be marked.
    `page_number` is the page of a document (PDF) that the snippet is from; None where there are none, or no word was
    found on one. `n_duplicates` more pages say the same, and are left out. Ranks sum to 1 over the crawl; time is Unix
    time.
    """

    url: str
    title: str
    title_html: str
    snippet: str
    snippet_html: str
    parts: tuple[str, ...]
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
        """Where a browser finds it: the URL, with the page of a document."""
        return self.url if self.page_number is None else f"{self.url}#page={self.page_number}"


def hits(
    source: PageTexts, ask: Ask, found: ranking.Found, shown: NDArray[np.int64],
    scores: NDArray[np.float64], positions: dict[str, NDArray[np.int64] | None], first: int,
) -> tuple[Hit, ...]:  # fmt: skip
    """The pages at these places of what was found; the `first` of them has this position."""
    made = []
    markers: dict[str, Marker] = {}
    texts = source.pages(found.pages[shown].tolist(), lead_only=True)
    for number, place in enumerate(shown.tolist(), first):
        text = texts.get(int(found.pages[place]))
        if text is None:  # it was removed a moment ago
            continue
        way = way_of(text.language)
        if way not in markers:
            markers[way] = Marker(ask, way)
        there = {name: None if where is None else int(where[place]) for name, where in positions.items()}
        title, snippet = markers[way].marked(text.title), markers[way].snippet(text.text, text.title)
        if has_pages(text.text):
            snippet = markers[way].snippet_of_pages(text.text + source.rest(text.id), text.title)
        elif not snippet.marks and not title.marks:
            snippet = _further(source, text, markers[way], snippet)
        made.append(_hit(text, title, snippet, found, place, number, there, float(scores[place])))
    return tuple(made)


def _further(source: PageTexts, text: PageText, marker: Marker, snippet: Snippet) -> Snippet:
    """A snippet that shows why a page was found: from further down, or aside from the main text."""
    rest = source.rest(text.id)
    better = marker.snippet(text.text + rest, text.title) if rest else snippet
    if not better.marks:
        better = marker.snippet(source.aside(text.id), text.title)
    return better if better.marks else snippet


def _hit(
    text: PageText, title: Snippet, snippet: Snippet, found: ranking.Found, place: int, position: int,
    positions: dict[str, int | None], score: float,
) -> Hit:  # fmt: skip
    figures, parts = found.figures, snippet.parts
    relevance = float(figures.relevance[place])
    return Hit(
        url=text.url,
        title=title.plain,
        title_html=html_of(title.parts),
        snippet=snippet.plain,
        snippet_html=html_of(parts),
        parts=parts,
        position=position,
        positions=positions,
        score=score,
        text_score=float(found.text[place]),
        local_rank=float(figures.local[place]),
        global_rank=None if positions["global"] is None else float(figures.outside[place]),
        relevance=None if math.isnan(relevance) else relevance,
        language=text.language,
        time=text.time,
        n_duplicates=int(found.n_repeating[place]),
        page_number=snippet.page,
        type=text.type,
        published=text.published,
        changed=text.changed,
    )
