"""Search in a crawl folder: words in, pages out.

    index = SearchIndex.open("example.org-crawl")
    results = index.search("opening hours", rank="global")
    for hit in results.hits: print(hit.position, hit.title, hit.url)

An index that is open shows the crawl as it was indexed last when it was opened; `reload` looks again. Several threads
may search at once, and reload; others may crawl and index meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from orienteer.errors import CrawlFolderError, InputError
from orienteer.notebook import data_frame, rows_html
from orienteer.search import ranking
from orienteer.search.completing import completed
from orienteer.search.completion import Suggestion
from orienteer.search.facets import Facet, Filter, filters
from orienteer.search.finding import MAX_RESULTS, Finding
from orienteer.search.hit import Hit
from orienteer.search.index_files import TEXTS, index_folder
from orienteer.search.index_view import Overview, RelatedPage, View
from orienteer.search.page_columns import FILE, PageColumns
from orienteer.search.query import MAX_QUERY_CHARS, parse
from orienteer.search.related import co_cited
from orienteer.search.text_index import TextIndex, refusals
from orienteer.search.vocabulary import Vocabulary
from orienteer.store.folder_view import FolderView
from orienteer.store.lock import holder_of
from orienteer.store.page_texts import PageTexts
from orienteer.wording import counted, plain

__all__ = ["MAX_RESULTS", "Hit", "RelatedPage", "Results", "SearchIndex", "search"]

if TYPE_CHECKING:
    import pandas

_N_HITS_FOR_RELATED = 3


@dataclass(frozen=True)
class Results:
    """A page of results. `total` pages were found, repetitions among them; `relaxed`: none had all of the words, so
    these have some. `hints` say why nothing was found, or which filters were left out; `suggestion` is what may have
    been meant; `related` are linked from where the first hits are. `filters` are those of the query, `facets` what all
    that was found can be narrowed by."""

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
    filters: tuple[Filter, ...] = ()
    facets: tuple[Facet, ...] = ()

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
        self._outdated: View | None = None

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

    def _seen(self) -> View:
        index = index_folder(self.folder)
        columns, text_index = PageColumns(index / FILE), TextIndex(index)
        searcher = text_index.searcher()
        if not self._opened[-1].is_still_there():  # made anew; whoever is searching still needs the old one
            self._opened.append(PageTexts(index / TEXTS, read_only=True))
        with refusals(index):
            vocabulary = Vocabulary(searcher, columns.n_by_way)
            return View(index, columns, searcher, vocabulary, self._opened[-1], text_index)

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
        view = self._view
        if self._outdated is not view:
            with FolderView.open(self.folder) as crawl:
                if crawl.database.next_position() == view.columns.position:
                    return True
            self._outdated = view  # for ever: a crawl only goes forward
        return False

    def search(
        self,
        words: str,
        *,
        rank: str = "blend",
        weight: float | None = None,
        page: int = 1,
        n: int = 10,
        n_related: int = 0,
        with_facets: bool = False,
    ) -> Results:
        """The pages that say what is asked for (see `query`), in the order of `rank` (see `ranking`).

        `weight` is that of the rank, from 0 to 1; None: as the order has it. Of the results, those of the `page`-th n
        are shown. With `with_facets` they are counted by what they can be narrowed by (see `facets`).
        """
        began = time.perf_counter()
        finding = self.find(words, page * n, rank)
        used_weight = ranking.checked_weight(rank, weight, len(finding.ask.sought))
        expect_page(page, n)
        orders = finding.orders()
        scores = orders.scores(rank, used_weight)
        ordered = ranking.order(scores)
        shown = ordered[(page - 1) * n : page * n]
        best = [int(finding.found.pages[place]) for place in ordered[:_N_HITS_FOR_RELATED]]
        return Results(
            query=str(finding.ask),
            rank=rank,
            weight=used_weight,
            page=page,
            n=n,
            total=finding.total,
            hits=finding.hits(shown, scores, orders.positions(), (page - 1) * n + 1),
            relaxed=finding.relaxed,
            hints=finding.hints(words),
            suggestion=finding.suggestion(),
            related=self._related(finding.view, best, n_related) if n_related else (),
            filters=filters(finding.ask),
            facets=finding.facets() if with_facets else (),
            elapsed_s=time.perf_counter() - began,
        )

    def find(self, words: str, n_wanted: int, rank: str = "text", others: Sequence[SearchIndex] = ()) -> Finding:
        """All that says what is asked for: at least the best `n_wanted` by their words, of which none is read yet.

        That there are ranks for the order is seen to. With `others`, words weigh what they would in one index of all.
        """
        view = self._view
        ranking.expect_rank(rank)
        if rank == "global" and not view.columns.has_outside:
            how = f"`orienteer estimate {self.folder}`, then `orienteer index {self.folder}`"
            raise InputError(f"nothing is known of the global rank of these pages; estimate it with {how}")
        ask = parse(words, view.vocabulary.field_names)
        searchers = [index._view.searcher for index in others]
        vocabulary = view.vocabulary.together_with((view.searcher, *searchers)) if searchers else view.vocabulary
        return Finding.of(view, ask, min(n_wanted, MAX_RESULTS), vocabulary)

    def complete(self, typed: str, n: int = 8) -> tuple[Suggestion, ...]:
        """What somebody may be about to type (see `completion`): words first, then titles."""
        view = self._view
        with refusals(view.index):
            return completed(view, typed[:MAX_QUERY_CHARS], n)

    def overview(self) -> Overview:
        """What can be found, for who has not asked for anything yet."""
        return self._view.overview()

    def related(self, url: str, n: int = 10) -> tuple[RelatedPage, ...]:
        """The pages most often linked to together with this one."""
        page = self._view.texts.id_of(url)
        if page is None:
            raise InputError(f"{url}: no page with this URL is in the search index of {self.folder}")
        return self._related(self._view, [page], n)

    # -- steps --------------------------------------------------------------------------------------------------

    def _related(self, view: View, pages: list[int], n: int) -> tuple[RelatedPage, ...]:
        """Of the pages in the index: others may not be shown."""
        near = [page for page in co_cited(view.columns.links, set(pages), 3 * n) if page in view.columns]
        return view.named(near)[:n]


def expect_page(page: int, n: int) -> None:
    """InputError where one cannot see this page of n results each."""
    if n < 1 or page < 1:
        raise InputError(f"n is {n} and page is {page}; both must be 1 or more")
    if page * n > MAX_RESULTS:
        raise InputError(f"page {page} with {n} results each is too far: one can see the first {MAX_RESULTS:,}")
