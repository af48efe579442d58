"""Search the index of a crawl folder.

    index = SearchIndex.open("example.org-crawl")
    results = index.search("opening hours", rank="global")
    for hit in results.hits: print(hit.position, hit.title, hit.url)

An open index is a snapshot of the last indexing; `reload` loads the latest one. It is safe to search and reload in
several threads at once, while other processes crawl and index.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orienteer.errors import CrawlFolderError, InputError
from orienteer.files.plain import Closeable
from orienteer.notebook import data_frame, rows_html
from orienteer.search import ranking
from orienteer.search.completion import Suggestion, completed
from orienteer.search.facets import Facet, Filter, filters
from orienteer.search.finding import MAX_RESULTS, FoundPages, Hit
from orienteer.search.index_view import IndexView, Overview, RelatedPage
from orienteer.search.lookup import Vocabulary
from orienteer.search.page_columns import FILE, PageColumns
from orienteer.search.query import MAX_QUERY_CHARS, parse
from orienteer.search.ranking import co_cited
from orienteer.search.text_index import TextIndex, tantivy_errors
from orienteer.store.folder_view import FolderView
from orienteer.store.lock import holder_of
from orienteer.store.page_texts import TEXTS, PageTexts, index_folder
from orienteer.wording import counted, plain

__all__ = ["MAX_RESULTS", "Hit", "RelatedPage", "SearchIndex", "SearchResults", "search"]

if TYPE_CHECKING:
    import pandas

_N_HITS_FOR_RELATED = 3


@dataclass(frozen=True)
class SearchResults:
    """A page of results. `total` pages match, including duplicates; `relaxed`: no page has all of the words, the hits
    have some of them. `hints` explain why nothing matches, or which filters were ignored; `suggestion` is a corrected
    query; `related` pages are linked from the same pages as the first hits. `filters` are those of the query, `facets`
    count all matching pages."""

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
        """Return a data frame with a row for each hit."""
        names = ("position", "url", "title", "snippet", "score", "text_score", "local_rank", "global_rank", "relevance")
        return data_frame({name: [getattr(hit, name) for hit in self.hits] for name in (*names, "language", "time")})

    def __repr__(self) -> str:
        best = f"; first: {plain(self.hits[0].url, 80)}" if self.hits else ""
        return f"<Results of {plain(self.query, 60)!r}: {counted(self.total, 'page')} found{best}>"

    def _repr_html_(self) -> str:
        rows = [(hit.position, hit.title, hit.url, hit.snippet) for hit in self.hits]
        title = f"{counted(self.total, 'page')} found for {self.query}"
        return rows_html(title, ("", "title", "url", "snippet"), rows, self.total - len(rows))


def search(folder: str | Path, words: str, **options: Any) -> SearchResults:
    """Search once; see SearchIndex.search."""
    with SearchIndex.open(folder) as index:
        return index.search(words, **options)


class SearchIndex(Closeable):
    """The index of a crawl folder, open for searches."""

    def __init__(self, folder: Path, texts: PageTexts) -> None:
        self.folder = folder
        self._opened = [texts]
        self._view = self._load_view()
        self._outdated: IndexView | None = None

    @classmethod
    def open(cls, folder: str | Path) -> SearchIndex:
        path = Path(folder)
        index = index_folder(path)
        FolderView.open(path).close()  # raises a clear error if there is no crawl folder
        if not (index / "meta.json").exists() or not (index / TEXTS).exists():
            raise CrawlFolderError(f"{path}: there is no search index yet; make it with `orienteer index {path}`")
        texts = PageTexts(index / TEXTS, read_only=True)
        try:
            return cls(path, texts)
        except BaseException:
            texts.close()
            raise

    def reload(self) -> bool:
        """Load the latest index; return False, and keep the loaded one, while the index is being written."""
        try:
            view = self._load_view()
        except CrawlFolderError:
            if holder_of(index_folder(self.folder)) is not None:
                return False
            view = self._load_view()  # the writer may have finished between the two calls
        if holder_of(index_folder(self.folder)) is not None:  # the view may mix old and new files
            return False
        self._view = view
        return True

    def _load_view(self) -> IndexView:
        index = index_folder(self.folder)
        columns, text_index = PageColumns(index / FILE), TextIndex(index)
        searcher = text_index.searcher()
        if not self._opened[-1].is_current_file():  # rebuilt; concurrent searches still use the old one
            self._opened.append(PageTexts(index / TEXTS, read_only=True))
        with tantivy_errors(index):
            vocabulary = Vocabulary(searcher, columns.n_by_stemmer)
            return IndexView(index, columns, searcher, vocabulary, self._opened[-1], text_index)

    def close(self) -> None:
        for texts in self._opened:
            texts.close()

    @property
    def n_pages(self) -> int:
        return len(self._view.columns)

    @property
    def has_global_rank(self) -> bool:
        return self._view.columns.has_outside

    def is_current(self) -> bool:
        """Whether the crawl has not changed since it was indexed."""
        view = self._view
        if self._outdated is not view:
            with FolderView.open(self.folder) as crawl:
                if crawl.database.history.next_position() == view.columns.position:
                    return True
            self._outdated = view  # it stays outdated, since the position of a crawl only grows
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
    ) -> SearchResults:
        """Return the pages that match a query (see `query`), in the order of `rank` (see `ranking`).

        `weight` is that of the rank, from 0 to 1; None: the default of the order. Results are paged: `page` is from 1
        on and has `n` hits. `with_facets` adds counts by facet (see `facets`).
        """
        began = time.perf_counter()
        finding = self.find(words, page * n, rank)
        used_weight = ranking.checked_weight(rank, weight, len(finding.parsed.scored_clauses))
        check_page(page, n)
        orders = finding.orders()
        scores = orders.scores(rank, used_weight)
        ordered = ranking.order(scores)
        listed = ordered[(page - 1) * n : page * n]
        best = [int(finding.candidates.pages[index]) for index in ordered[:_N_HITS_FOR_RELATED]]
        return SearchResults(
            query=str(finding.parsed),
            rank=rank,
            weight=used_weight,
            page=page,
            n=n,
            total=finding.total,
            hits=finding.hits(listed, scores, orders.positions(), (page - 1) * n + 1),
            relaxed=finding.relaxed,
            hints=finding.hints(words),
            suggestion=finding.suggestion(),
            related=self._related(finding.view, best, n_related) if n_related else (),
            filters=filters(finding.parsed),
            facets=finding.facets() if with_facets else (),
            elapsed_s=time.perf_counter() - began,
        )

    def find(self, words: str, n_best: int, rank: str = "text", others: Sequence[SearchIndex] = ()) -> FoundPages:
        """Find at least the best `n_best` matches by text score, without loading their texts.

        InputError if there are no ranks for the order. With `others`, word frequencies are those of all the indexes.
        """
        view = self._view
        ranking.check_rank(rank)
        if rank == "global" and not view.columns.has_outside:
            how = f"`orienteer estimate {self.folder}`, then `orienteer index {self.folder}`"
            raise InputError(f"the global rank of these pages is unknown; estimate it with {how}")
        parsed = parse(words, view.vocabulary.field_names)
        searchers = [index._view.searcher for index in others]
        vocabulary = view.vocabulary.with_shared_idf((view.searcher, *searchers)) if searchers else view.vocabulary
        return FoundPages.of(view, parsed, min(n_best, MAX_RESULTS), vocabulary)

    def complete(self, typed: str, n: int = 8) -> tuple[Suggestion, ...]:
        """Return completions of a partial query (see `completion`): words first, then titles."""
        view = self._view
        with tantivy_errors(view.index):
            return completed(view, typed[:MAX_QUERY_CHARS], n)

    def overview(self) -> Overview:
        """Return a summary of the index."""
        return self._view.overview

    def related(self, url: str, n: int = 10) -> tuple[RelatedPage, ...]:
        """Return the pages that are linked most often from the same pages as this one."""
        page = self._view.texts.id_of(url)
        if page is None:
            raise InputError(f"{url}: no page with this URL is in the search index of {self.folder}")
        return self._related(self._view, [page], n)

    def _related(self, view: IndexView, pages: list[int], n: int) -> tuple[RelatedPage, ...]:
        """Return the related pages that are in the index; pages outside it, such as off-topic ones, are no results."""
        near = [page for page in co_cited(view.columns.links, set(pages), 3 * n) if page in view.columns]
        return view.named(near)[:n]


def check_page(page: int, n: int) -> None:
    """Raise InputError unless `page`, of n results each, is within the first MAX_RESULTS."""
    if n < 1 or page < 1:
        raise InputError(f"n is {n} and page is {page}; both must be 1 or more")
    if page * n > MAX_RESULTS:
        raise InputError(f"page {page} with {n} results each is too far: only the first {MAX_RESULTS:,} are available")
