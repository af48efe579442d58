"""Build or update the search index of a crawl folder.

    1. new and changed pages are read from the archive, and their texts and link texts are stored in pages.db (see
       `store/page_texts`)
    2. the main text of each page is decided, also by which lines repeat on its host (see `page_reading`)
    3. each page to index has a stamp: a hash of its content, the texts of links to it, the additions of hooks, and
       whether it is on the topic. Documents with an outdated stamp are replaced, those of removed pages are deleted,
       and missing ones are added
    4. titles and frequent words are collected for completion (see `completion`)
    5. ranks, relevance and groups of duplicates are computed for all pages (see `page_columns`)

Each step compares with what is stored, so indexing may be killed at any moment and run again. A running crawl is
indexed as it was at the beginning. Memory is bounded by the number of pages and links, not by their texts.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.files.plain import make_plain_folder
from orienteer.inspect.archived_page import warn_skipped
from orienteer.inspect.snapshot import page_names
from orienteer.kernel import plain_at_first
from orienteer.ledger.topic_reading import topic_threshold
from orienteer.pages.added import Additions
from orienteer.pages.states import PageState
from orienteer.processes.pool import Failed, cpu_time_s, in_order
from orienteer.progress import Progress, silent
from orienteer.search.completion import write_completions
from orienteer.search.page_columns import FILE, crawl_ranks, write_columns
from orienteer.search.page_facts import topic_term
from orienteer.search.page_reading import (
    PageToIndex,
    content_stamp,
    index_reading,
    page_text,
    stamp_of,
    to_read,
    update_main_lines,
)
from orienteer.search.text_index import TextIndex, remove_index
from orienteer.search.words import PLAIN, stemmer_of
from orienteer.store.failures import map_disk_errors
from orienteer.store.folder_view import FolderView
from orienteer.store.lock import LOCK, FolderLock
from orienteer.store.page_row import PageRow
from orienteer.store.page_texts import TEXTS, PageTexts, index_folder

MAX_DELETED_SHARE = 0.2
_PAGES_PER_COMMIT = 5_000
_PAGES_PER_TRANSACTION = 500


@dataclass(frozen=True)
class IndexReport:
    """The result of an update. `n_read` pages were read from the archive; `n_replaced` have changed content, in-links
    or additions; `position` is the last event of the crawl that was indexed. `n_skipped` pages could not be read, since
    they crashed the reading process."""

    folder: Path
    n_pages: int
    n_read: int
    n_skipped: int
    n_added: int
    n_replaced: int
    n_removed: int
    has_global_rank: bool
    position: int
    size_bytes: int
    elapsed_s: float
    cpu_s: float

    @property
    def pages_per_cpu_s(self) -> float:
        """Pages read or written per second of CPU time."""
        return max(self.n_read, self.n_added + self.n_replaced) / self.cpu_s if self.cpu_s else 0.0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"folder": str(self.folder), "pages_per_cpu_s": self.pages_per_cpu_s}


def update_index(
    path: str | Path,
    *,
    rebuild: bool = False,
    on_topic: bool = False,
    max_deleted_share: float = MAX_DELETED_SHARE,
    processes: int | None = None,
    progress: Progress = silent,
) -> IndexReport:
    """Index the pages of a crawl folder; later runs index only what has changed.

    `rebuild` discards an existing index. With `on_topic` only pages on the topic of the crawl are indexed. The text
    index is rewritten if more than `max_deleted_share` of its documents are deleted or replaced ones, which still count
    in word frequencies. Pages are read by this many `processes` (None: see `processes.parallelism`); with 1, in this
    process.
    """
    folder = Path(path)
    with FolderView.open(folder) as crawl:
        threshold = _threshold(crawl, on_topic)
        index = index_folder(folder)
        with map_disk_errors(index):
            make_plain_folder(index)
        lock = FolderLock(index)
        try:
            with plain_at_first():
                indexing = _Indexing(crawl, index, threshold, on_topic, processes, progress)
                return indexing.run(rebuild, max_deleted_share)
        finally:
            lock.release()


def _threshold(crawl: FolderView, on_topic: bool) -> float | None:
    """Return the least relevance of a page on the topic; None if the crawl has no topic."""
    if crawl.topic_path.exists():
        return topic_threshold(crawl)
    if on_topic:
        raise InputError(f"{crawl.path}: --on-topic is for crawls with a topic, and this crawl has none")
    return None


class _PageSelection(NamedTuple):
    """The pages to index, in increasing order."""

    pages: NDArray[np.int64]
    relevance: NDArray[np.float64]
    repeats: NDArray[np.int64]
    times: NDArray[np.float64]


class _ReadingResult(NamedTuple):
    """Counts of pages that were read and that could not be read, and the pages to index."""

    n_read: int
    n_skipped: int
    selection: _PageSelection


class _Stamped(NamedTuple):
    """A page, the stamp of its document, the texts of links to it, additions of hooks, and its topic term."""

    page: int
    stamp: int
    link_texts: list[str]
    added: Additions | None
    topic: str


class _Counts(NamedTuple):
    n_added: int
    n_replaced: int
    n_removed: int


class _Indexing:
    """One run of `update_index`."""

    def __init__(
        self, crawl: FolderView, index: Path, threshold: float | None, only_on_topic: bool, n_processes: int | None,
        progress: Progress,
    ) -> None:  # fmt: skip
        self._crawl, self._database, self._index = crawl, crawl.database, index
        self._threshold = threshold
        self._only_on_topic = only_on_topic
        self._n_processes = n_processes
        self._progress = progress

    def run(self, rebuild: bool, max_deleted_share: float) -> IndexReport:
        began, cpu = time.monotonic(), cpu_time_s()
        if rebuild or not (self._index / "meta.json").exists():
            remove_index(self._index, keep=(LOCK,))
        with PageTexts(self._index / TEXTS) as texts:
            n_read, n_skipped, selection = self._read(texts)
            update_main_lines(texts)
            counts = self._write(texts, selection)
            if self._text_index().deleted_share() > max_deleted_share:
                self._remove_text_index()
                self._write(texts, selection)
            n_by_stemmer = Counter({PLAIN: 0})
            for language, n_pages in texts.n_by_language().items():
                n_by_stemmer[stemmer_of(language)] += n_pages
            ranks = crawl_ranks(self._database, self._crawl.read_ranks())
            if any(counts) or not texts.has_completions():
                write_completions(self._index, texts, self._text_index().searcher(), ranks.local, selection.pages)
        write_columns(self._index, self._database, *selection, ranks, n_by_stemmer)
        return IndexReport(
            folder=self._crawl.path,
            n_pages=len(selection.pages),
            n_read=n_read,
            n_skipped=n_skipped,
            **counts._asdict(),
            has_global_rank=ranks.has_outside,
            position=self._database.history.next_position(),
            size_bytes=sum(path.stat().st_size for path in self._index.iterdir()),
            elapsed_s=time.monotonic() - began,
            cpu_s=cpu_time_s() - cpu,
        )

    # -- reading ------------------------------------------------------------------------------------------------

    def _read(self, texts: PageTexts) -> _ReadingResult:
        """Update pages.db: other processes read pages, and this one writes."""
        seen = self._database.urls.seen(self._progress)
        known, stamps = texts.stamps()
        stamp_by_page = dict(zip(known.tolist(), stamps.tolist(), strict=True))
        found: list[tuple[int, float, int, float]] = []
        skipped: list[int] = []
        n_read = 0
        changed = self._changed(stamp_by_page, found)
        with in_order(index_reading, (self._crawl.archive.folder,), changed, self._n_processes) as read:
            while batch := list(islice(read, _PAGES_PER_TRANSACTION)):
                new = []
                for (page, url), content in batch:
                    if isinstance(content, Failed):
                        warn_skipped(url, content)
                        skipped.append(page.id)
                    else:
                        new.append(page_text(page, url, content, seen))
                texts.replace((), new)
                n_read += len(new)
        removed = [*stamp_by_page, *skipped]
        for start in range(0, len(removed), _PAGES_PER_TRANSACTION):
            texts.replace(removed[start : start + _PAGES_PER_TRANSACTION], ())
        is_skipped = set(skipped).__contains__
        rows = sorted(figures for figures in found if not is_skipped(figures[0]))
        pages, relevance, repeats, times = zip(*rows, strict=True) if rows else ((), (), (), ())
        selection = _PageSelection(
            np.array(pages, np.int64), np.array(relevance), np.array(repeats, np.int64), np.array(times)
        )
        return _ReadingResult(n_read, len(skipped), selection)

    def _changed(
        self, stamp_by_page: dict[int, int], found: list[tuple[int, float, int, float]]
    ) -> Iterator[tuple[tuple[PageRow, str], PageToIndex]]:
        """Yield the pages that are new or have changed, and append all pages to index to `found`.

        Pages of the crawl are removed from `stamp_by_page`; what remains is no longer in the crawl.
        """
        database = self._database
        n_done, n_pages = 0, database.pages.n_in_states((PageState.FETCHED,))
        rendered = database.rendered.documents()
        for batch in database.pages.readable():
            changed = [page for page in batch if stamp_by_page.pop(page.id, None) != content_stamp(page)]
            for page, url in zip(changed, database.urls.of_all(page.id for page in changed), strict=True):
                yield (page, url), to_read(page, url, rendered.get(page.id))
            found += [_figures(page) for page in batch if self._is_selected(page)]
            n_done += len(batch)
            self._progress("reading pages", n_done, n_pages)

    def _is_selected(self, page: PageRow) -> bool:
        is_off_topic = self._only_on_topic and topic_term(page.relevance, self._threshold) == "off"
        return not is_off_topic and not page.noindex

    # -- writing ------------------------------------------------------------------------------------------------

    def _text_index(self) -> TextIndex:
        return TextIndex(self._index, create=True)

    def _remove_text_index(self) -> None:
        """Remove the text index only; pages.db stays, from which it is rebuilt."""
        remove_index(self._index, keep=(LOCK, FILE, *PageTexts.file_names(TEXTS)))

    def _write(self, texts: PageTexts, selection: _PageSelection) -> _Counts:
        """Update the text index."""
        text_index = self._text_index()
        stored = text_index.stamps()
        old = dict(zip(stored.pages.tolist(), stored.stamps.tolist(), strict=True))
        n_added = n_replaced = 0
        with text_index.writer() as writer:
            for page, stamp, link_texts, added, topic in self._stamped(texts, selection):
                before = old.pop(page, None)
                if before == stamp:
                    continue
                if before is not None:
                    writer.remove(page)
                if (text := texts.page(page)) is not None:
                    writer.add(text, stamp, link_texts, added, topic)
                n_added += before is None
                n_replaced += before is not None
                if (n_added + n_replaced) % _PAGES_PER_COMMIT == 0:
                    writer.commit()
            for page in old:
                writer.remove(page)
            writer.commit()
        return _Counts(n_added, n_replaced, len(old))

    def _stamped(self, texts: PageTexts, selection: _PageSelection) -> Iterator[_Stamped]:
        """Yield each page to index with the stamp that its document must have."""
        known, stamps = texts.stamps()
        content = stamps[np.searchsorted(known, selection.pages)].tolist()
        others = self._other_names()
        for n_done, page in enumerate(selection.pages.tolist()):
            link_texts = texts.link_texts((page, *others.get(page, ())))
            added = self._database.details.added(page)
            relevance = float(selection.relevance[n_done])
            topic = topic_term(None if math.isnan(relevance) else relevance, self._threshold)
            facts = (content[n_done], texts.mask(page), link_texts, None if added is None else added.to_json(), topic)
            yield _Stamped(page, stamp_of(*facts), link_texts, added, topic)
            self._progress("indexing", n_done, len(selection.pages))

    def _other_names(self) -> dict[int, list[int]]:
        """Return the pages that redirect to each page: links to them are links to the page."""
        names = page_names(self._database)
        others: dict[int, list[int]] = {}
        for other in np.flatnonzero((names >= 0) & (names != np.arange(len(names)))).tolist():
            others.setdefault(int(names[other]), []).append(other)
        return others


def _figures(page: PageRow) -> tuple[int, float, int, float]:
    relevance = math.nan if page.relevance is None else page.relevance
    return page.id, relevance, page.id if page.repeats is None else page.repeats, page.time
