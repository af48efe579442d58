"""Search in a crawl folder: words in, pages out.

    index = SearchIndex.open("example.org-crawl")
    results = index.search("opening hours", rank="global")
    for hit in results.hits: print(hit.position, hit.title, hit.url)

An index that is open shows the crawl as it was indexed last when it was opened; `reload` looks again. Several threads
may search at once, and reload; others may crawl and index meanwhile.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import tantivy
from numpy.typing import NDArray

from orienteer.errors import CrawlFolderError, InputError
from orienteer.notebook import data_frame, rows_html
from orienteer.search import ranking
from orienteer.search.index_files import TEXTS, index_folder
from orienteer.search.lookup import built, may_be_relaxed, n_found
from orienteer.search.page_columns import FILE, PageColumns
from orienteer.search.paged import has_pages
from orienteer.search.query import SENTENCE_WORDS, Ask, hints, parse, wrong_values
from orienteer.search.related import co_cited
from orienteer.search.snippet import Marker, Snippet, html_of
from orienteer.search.spelling import suggestion
from orienteer.search.text_index import TextIndex, page_numbers, refusals
from orienteer.search.vocabulary import Vocabulary
from orienteer.search.words import way_of
from orienteer.store.folder_view import FolderView
from orienteer.store.lock import holder_of
from orienteer.store.page_texts import PageText, PageTexts
from orienteer.wording import counted, plain

if TYPE_CHECKING:
    import pandas

MAX_RESULTS = 10_000  # that one can page through
_FEW = 3  # results, so that a slip of the pen is looked for
_N_HITS_FOR_RELATED = 3


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


@dataclass(frozen=True)
class RelatedPage:
    url: str
    title: str


@dataclass(frozen=True)
class Results:
    """A page of results. `total` pages were found, repetitions among them; `relaxed`: none had all of the words, so
    these have some. `hints` say why nothing was found, or which filters were left out; `suggestion` is what may have
    been meant; `related` are linked from where the first hits are."""

    query: str
    rank: str
    weight: float
    page: int
    n: int
    total: int
    hits: tuple[Hit, ...]
    relaxed: bool
    suggestion: str | None
    related: tuple[RelatedPage, ...]
    elapsed_s: float
    hints: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each hit."""
        names = ("position", "url", "title", "snippet", "score", "text_score", "local_rank", "global_rank", "relevance")
        return data_frame({name: [getattr(hit, name) for hit in self.hits] for name in (*names, "language", "time")})

    def __repr__(self) -> str:
        best = f"; first: {plain(self.hits[0].url, 80)}" if self.hits else ""
        return f"<Results of {plain(self.query, 60)!r}: {counted(self.total, 'page')} found{best}>"

    def _repr_html_(self) -> str:
        rows = [(hit.position, hit.title, hit.url, hit.snippet) for hit in self.hits]
        title = f"{counted(self.total, 'page')} found for {self.query}"
        return rows_html(title, ("", "title", "url", "snippet"), rows, self.total - len(rows))


class _View(NamedTuple):
    """The index as it was at one moment: what belongs together is replaced together."""

    columns: PageColumns
    searcher: tantivy.Searcher
    vocabulary: Vocabulary
    texts: PageTexts
    text_index: TextIndex  # it may hold files that the searcher reads


def search(folder: str | Path, words: str, **options: Any) -> Results:
    """Search once; see SearchIndex.search."""
    with SearchIndex.open(folder) as index:
        return index.search(words, **options)


class SearchIndex:
    """The index of a crawl folder, open for searches."""

    def __init__(self, folder: Path, texts: PageTexts) -> None:
        self.folder = folder
        self._opened = [texts]
        self._view = self._seen()

    @classmethod
    def open(cls, folder: str | Path) -> SearchIndex:
        path = Path(folder)
        index = index_folder(path)
        FolderView.open(path).close()  # says in one line where there is none
        if not (index / "meta.json").exists() or not (index / TEXTS).exists():
            raise CrawlFolderError(f"{path}: there is no search index yet; make it with `orienteer index {path}`")
        texts = PageTexts(index / TEXTS, read_only=True)
        try:
            return cls(path, texts)
        except BaseException:
            texts.close()
            raise

    def reload(self) -> bool:
        """Look at what was indexed last, unless the index is being written just now; whether that could be done."""
        try:
            view = self._seen()
        except CrawlFolderError:
            if holder_of(index_folder(self.folder)) is not None:
                return False
            view = self._seen()  # whoever was writing may have just ended
        if holder_of(index_folder(self.folder)) is not None:  # what was seen may be half of it
            return False
        self._view = view
        return True

    def _seen(self) -> _View:
        index = index_folder(self.folder)
        columns, text_index = PageColumns(index / FILE), TextIndex(index)
        searcher = text_index.searcher()
        if not self._opened[-1].is_still_there():  # made anew; whoever is searching still needs the old one
            self._opened.append(PageTexts(index / TEXTS, read_only=True))
        with refusals(index):
            vocabulary = Vocabulary(searcher, columns.n_by_way)
            return _View(columns, searcher, vocabulary, self._opened[-1], text_index)

    def close(self) -> None:
        for texts in self._opened:
            texts.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    @property
    def n_pages(self) -> int:
        return len(self._view.columns)

    @property
    def has_global_rank(self) -> bool:
        return self._view.columns.has_outside

    def is_current(self) -> bool:
        """Whether nothing has happened in the crawl since it was indexed."""
        with FolderView.open(self.folder) as crawl:
            return crawl.database.next_position() == self._view.columns.position

    def search(
        self,
        words: str,
        *,
        rank: str = "blend",
        weight: float | None = None,
        page: int = 1,
        n: int = 10,
        n_related: int = 0,
    ) -> Results:
        """The pages that say what is asked for (see `query`), in the order of `rank` (see `ranking`).

        `weight` is that of the rank, from 0 to 1; None: as the order has it. Of the results, those of the `page`-th n
        are shown.
        """
        began = time.perf_counter()
        view = self._view
        ask = parse(words, view.vocabulary.field_names)
        used_weight = self._checked(view, rank, weight, len(ask.sought), page, n)
        found, total, relaxed = self._found(view, ask, page * n)
        orders = ranking.Orders(found, view.columns)
        scores = orders.scores(rank, used_weight)
        ordered = ranking.order(scores)
        shown = ordered[(page - 1) * n : page * n]
        hits = self._hits(view.texts, ask, found, shown, scores, orders.positions(), (page - 1) * n + 1)
        best = [int(found.pages[place]) for place in ordered[:_N_HITS_FOR_RELATED]]
        return Results(
            query=str(ask),
            rank=rank,
            weight=used_weight,
            page=page,
            n=n,
            total=total,
            hits=hits,
            relaxed=relaxed,
            hints=wrong_values(ask) if total else hints(words, view.vocabulary.field_names),
            suggestion=self._suggestion(view, ask)
            if (relaxed or total <= _FEW) and len(ask.sought) < SENTENCE_WORDS
            else None,
            related=self._related(view, best, n_related) if n_related else (),
            elapsed_s=time.perf_counter() - began,
        )

    def related(self, url: str, n: int = 10) -> tuple[RelatedPage, ...]:
        """The pages most often linked to together with this one."""
        page = self._view.texts.id_of(url)
        if page is None:
            raise InputError(f"{url}: no page with this URL is in the search index of {self.folder}")
        return self._related(self._view, [page], n)

    # -- steps --------------------------------------------------------------------------------------------------

    def _checked(self, view: _View, rank: str, weight: float | None, n_words: int, page: int, n: int) -> float:
        used_weight = ranking.checked_weight(rank, weight, n_words)
        if rank == "global" and not view.columns.has_outside:
            how = f"`orienteer estimate {self.folder}`, then `orienteer index {self.folder}`"
            raise InputError(f"nothing is known of the global rank of these pages; estimate it with {how}")
        if n < 1 or page < 1:
            raise InputError(f"n is {n} and page is {page}; both must be 1 or more")
        if page * n > MAX_RESULTS:
            raise InputError(f"page {page} with {n} results each is too far: one can see the first {MAX_RESULTS:,}")
        return used_weight

    def _found(self, view: _View, ask: Ask, n_wanted: int) -> tuple[ranking.Found, int, bool]:
        """What was found, how many pages that are, and whether some of the words had to be enough."""
        limit = max(ranking.N_REORDERED, n_wanted) if ask.sought else MAX_RESULTS
        relaxed = False
        with refusals(index_folder(self.folder)):
            for relaxed in (False, True) if may_be_relaxed(ask) else (False,):
                result = view.searcher.search(built(ask, view.vocabulary, relaxed), limit)
                hits = result.hits
                if hits:
                    break
            pages = page_numbers(view.searcher, [address for _, address in hits])
        text = np.array([score for score, _ in hits], np.float64)
        found = ranking.collapsed(np.array(pages, np.int64), text, view.columns)
        return found, n_found(result), relaxed and bool(hits)

    def _hits(
        self, source: PageTexts, ask: Ask, found: ranking.Found, shown: NDArray[np.int64],
        scores: NDArray[np.float64], positions: dict[str, NDArray[np.int64] | None], first: int,
    ) -> tuple[Hit, ...]:  # fmt: skip
        hits = []
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
                snippet = markers[way].snippet_of_pages((source.page(text.id) or text).text, text.title)
            elif not snippet.marks and not title.marks:
                snippet = self._further(source, text, markers[way], snippet)
            hits.append(_hit(text, title, snippet, found, place, number, there, float(scores[place])))
        return tuple(hits)

    def _further(self, source: PageTexts, text: PageText, marker: Marker, snippet: Snippet) -> Snippet:
        """A snippet that shows why a page was found: from further down, or aside from the main text."""
        whole = source.page(text.id)
        for further in () if whole is None else (whole.text, whole.aside):
            better = marker.snippet(further, text.title)
            if better.marks:
                return better
        return snippet

    def _suggestion(self, view: _View, ask: Ask) -> str | None:
        with refusals(index_folder(self.folder)):
            return suggestion(view.searcher, ask, view.vocabulary)

    def _related(self, view: _View, pages: list[int], n: int) -> tuple[RelatedPage, ...]:
        """Of the pages in the index: others may not be shown."""
        near = [page for page in co_cited(view.columns.links, set(pages), 3 * n) if page in view.columns]
        texts = view.texts.pages(near, lead_only=True)
        return tuple(RelatedPage(texts[page].url, texts[page].title) for page in near if page in texts)[:n]


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
