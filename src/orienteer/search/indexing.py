"""Make the search index of a crawl folder, or bring it up to date.

    1. pages that are new or have changed are read from the archive: their words and the texts of their links are kept
       in pages.db (see `store/page_texts`)
    2. which of their lines are main text is told by what repeats on their hosts, too (see `main_lines`)
    3. each page that is to be found has a stamp: of its content, of what links to it say, of what hooks added, and of
       whether it is on the topic. Documents with another stamp are replaced, those of pages that are gone are removed,
       missing ones are added
    4. titles and frequent words are gathered, to complete what somebody types (see `completion`)
    5. ranks, relevance and who repeats whom are computed anew (see `page_columns`)

Each step looks at what is there, so that it may be killed at any moment and run again. The crawl may be going on: what
is indexed is the crawl as it was at the beginning. Memory is bounded by the pages' numbers and links, not their texts.
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
from orienteer.extract.furniture import Furniture
from orienteer.files.plain import make_plain_folder
from orienteer.inspect.archived_page import warn_skipped
from orienteer.inspect.local_web import page_names
from orienteer.kernel import plain_at_first
from orienteer.ledger.topic_reading import topic_threshold
from orienteer.pages.added import Additions
from orienteer.pages.states import PageState
from orienteer.processes.how_many import cpu_time_s
from orienteer.processes.ordered import in_order
from orienteer.processes.pool import Failed
from orienteer.progress import Progress, silent
from orienteer.search.column_writing import crawl_ranks, write_columns
from orienteer.search.completion_writing import has_completions, write_completions
from orienteer.search.index_files import TEXTS, index_folder
from orienteer.search.main_lines import judge_again
from orienteer.search.page_columns import FILE
from orienteer.search.page_facts import topic_term
from orienteer.search.page_reading import ToRead, content_stamp, index_reading, page_text, stamp_of, to_read
from orienteer.search.text_index import TextIndex, remove_index
from orienteer.search.words import PLAIN, way_of
from orienteer.store.database_view import DatabaseView
from orienteer.store.failures import explained
from orienteer.store.folder_view import FolderView
from orienteer.store.lock import LOCK, FolderLock
from orienteer.store.page_row import PageRow
from orienteer.store.page_texts import PageTexts
from orienteer.store.url_numbers import seen_urls

MAX_GHOST_SHARE = 0.2
_PAGES_PER_COMMIT = 5_000
_PAGES_PER_TRANSACTION = 500


@dataclass(frozen=True)
class IndexReport:
    """What indexing came to. `n_read` pages were read from the archive, `n_replaced` had another content, other links
    to them or other additions than before; `position` is that of the crawl that the index is of. `n_skipped` pages
    could not be read: processes died of them."""

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
        """Pages that were read or written, by the CPU time that took."""
        return max(self.n_read, self.n_added + self.n_replaced) / self.cpu_s if self.cpu_s else 0.0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"folder": str(self.folder), "pages_per_cpu_s": self.pages_per_cpu_s}


def update_index(
    path: str | Path,
    *,
    rebuild: bool = False,
    on_topic: bool = False,
    max_ghost_share: float = MAX_GHOST_SHARE,
    processes: int | None = None,
    progress: Progress = silent,
) -> IndexReport:
    """Index the pages of a crawl folder; run again, only what has changed.

    `rebuild` starts from nothing, whatever is there. With `on_topic` only pages on the topic of the crawl are found.
    Where more than `max_ghost_share` of the documents are replaced ones, which still count when words are weighed, the
    text index is written anew. Pages are read by this many `processes`, for which there is a sensible number; 1: none
    is started.
    """
    folder = Path(path)
    with FolderView.open(folder) as crawl:
        survey = crawl.database
        threshold = _threshold(crawl, on_topic)
        index = index_folder(folder)
        with explained(index):
            make_plain_folder(index)
        lock = FolderLock(index)
        try:
            with plain_at_first():
                indexing = _Indexing(crawl, survey, index, threshold, on_topic, processes, progress)
                return indexing.run(rebuild, max_ghost_share)
        finally:
            lock.release()


def _threshold(crawl: FolderView, on_topic: bool) -> float | None:
    """How relevant a page on the topic is; None where there is no topic."""
    if crawl.topic_path.exists():
        return topic_threshold(crawl)
    if on_topic:
        raise InputError(f"{crawl.path}: --on-topic is for crawls with a topic, and this one has none")
    return None


class _Wanted(NamedTuple):
    """The pages that are to be found, in increasing order."""

    pages: NDArray[np.int64]
    relevance: NDArray[np.float64]
    repeats: NDArray[np.int64]
    times: NDArray[np.float64]


class _Found(NamedTuple):
    """How many pages were read, how many could not be, and which are to be found."""

    n_read: int
    n_skipped: int
    wanted: _Wanted


class _Stamped(NamedTuple):
    """A page, the stamp of its document, what links to it say, what hooks added to it, and whether it is on topic."""

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
    """One run of it."""

    def __init__(
        self, crawl: FolderView, survey: DatabaseView, index: Path, threshold: float | None, only_on_topic: bool,
        n_processes: int | None, progress: Progress,
    ) -> None:  # fmt: skip
        self._crawl, self._survey, self._index = crawl, survey, index
        self._threshold = threshold
        self._only_on_topic = only_on_topic
        self._n_processes = n_processes
        self._progress = progress

    def run(self, rebuild: bool, max_ghost_share: float) -> IndexReport:
        began, cpu = time.monotonic(), cpu_time_s()
        if rebuild or not (self._index / "meta.json").exists():
            remove_index(self._index, kept=(LOCK,))
        with PageTexts(self._index / TEXTS) as texts:
            n_read, n_skipped, wanted = self._read(texts)
            judge_again(texts, Furniture)
            counts = self._write(texts, wanted)
            if self._text_index().ghost_share() > max_ghost_share:
                self._remove_text_index()
                self._write(texts, wanted)
            n_by_way = Counter({PLAIN: 0})
            for language, n_pages in texts.n_by_language().items():
                n_by_way[way_of(language)] += n_pages
            ranks = crawl_ranks(self._survey, self._crawl.read_ranks())
            if any(counts) or not has_completions(self._index):
                write_completions(self._index, texts, self._text_index().searcher(), ranks.local, wanted.pages)
        write_columns(self._index, self._survey, *wanted, ranks, n_by_way)
        return IndexReport(
            folder=self._crawl.path,
            n_pages=len(wanted.pages),
            n_read=n_read,
            n_skipped=n_skipped,
            **counts._asdict(),
            has_global_rank=ranks.has_outside,
            position=self._survey.next_position(),
            size_bytes=sum(path.stat().st_size for path in self._index.iterdir()),
            elapsed_s=time.monotonic() - began,
            cpu_s=cpu_time_s() - cpu,
        )

    # -- reading ------------------------------------------------------------------------------------------------

    def _read(self, texts: PageTexts) -> _Found:
        """Bring pages.db up to date: other processes read, this one writes."""
        seen = seen_urls(self._survey, self._progress)
        known, stamps = texts.stamps()
        has_stamp = dict(zip(known.tolist(), stamps.tolist(), strict=True))
        found: list[tuple[int, float, int, float]] = []
        skipped: list[int] = []
        n_read = 0
        changed = self._changed(has_stamp, found)
        with in_order(index_reading, (self._crawl.archive.folder,), changed, self._n_processes) as read:
            while batch := list(islice(read, _PAGES_PER_TRANSACTION)):
                new = []
                for (page, url), said in batch:
                    if isinstance(said, Failed):
                        warn_skipped(url, said)
                        skipped.append(page.id)
                    else:
                        new.append(page_text(page, url, said, seen))
                texts.replace((), new)
                n_read += len(new)
        gone = [*has_stamp, *skipped]
        for start in range(0, len(gone), _PAGES_PER_TRANSACTION):
            texts.replace(gone[start : start + _PAGES_PER_TRANSACTION], ())
        left_out = set(skipped)
        kept = sorted(figures for figures in found if figures[0] not in left_out)
        pages, relevance, repeats, times = zip(*kept, strict=True) if kept else ((), (), (), ())
        wanted = _Wanted(np.array(pages, np.int64), np.array(relevance), np.array(repeats, np.int64), np.array(times))
        return _Found(n_read, len(skipped), wanted)

    def _changed(
        self, has_stamp: dict[int, int], found: list[tuple[int, float, int, float]]
    ) -> Iterator[tuple[tuple[PageRow, str], ToRead]]:
        """The pages that are new or have changed; `found` becomes all that are to be found.

        Pages that are there still are taken out of `has_stamp`.
        """
        survey = self._survey
        n_looked_at, n_pages = 0, survey.n_in_states((PageState.FETCHED,))
        shown = survey.documents_shown()
        for batch in survey.readable_pages():
            changed = [page for page in batch if has_stamp.pop(page.id, None) != content_stamp(page)]
            for page, url in zip(changed, survey.urls(page.id for page in changed), strict=True):
                yield (page, url), to_read(page, url, shown.get(page.id))
            found += [_figures(page) for page in batch if self._is_wanted(page)]
            n_looked_at += len(batch)
            self._progress("reading pages", n_looked_at, n_pages)

    def _is_wanted(self, page: PageRow) -> bool:
        is_off_topic = self._only_on_topic and topic_term(page.relevance, self._threshold) == "off"
        return not is_off_topic and not page.noindex

    # -- writing ------------------------------------------------------------------------------------------------

    def _text_index(self) -> TextIndex:
        return TextIndex(self._index, create=True)

    def _remove_text_index(self) -> None:
        """What pages say stays: the text index is made of it again."""
        remove_index(self._index, kept=(LOCK, FILE, *PageTexts.file_names(TEXTS)))

    def _write(self, texts: PageTexts, wanted: _Wanted) -> _Counts:
        """Bring the text index up to date."""
        text_index = self._text_index()
        there = text_index.stamps()
        old = dict(zip(there.pages.tolist(), there.stamps.tolist(), strict=True))
        n_added = n_replaced = 0
        with text_index.writer() as writer:
            for page, stamp, link_texts, added, topic in self._stamped(texts, wanted):
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

    def _stamped(self, texts: PageTexts, wanted: _Wanted) -> Iterator[_Stamped]:
        """Each page that is to be found, with the stamp that its document must have."""
        known, stamps = texts.stamps()
        content = stamps[np.searchsorted(known, wanted.pages)].tolist()
        others = self._other_names()
        for n_done, page in enumerate(wanted.pages.tolist()):
            link_texts = texts.link_texts((page, *others.get(page, ())))
            added = self._survey.added(page)
            relevance = float(wanted.relevance[n_done])
            topic = topic_term(None if math.isnan(relevance) else relevance, self._threshold)
            facts = (content[n_done], texts.mask(page), link_texts, None if added is None else added.to_json(), topic)
            yield _Stamped(page, stamp_of(*facts), link_texts, added, topic)
            self._progress("indexing", n_done, len(wanted.pages))

    def _other_names(self) -> dict[int, list[int]]:
        """For pages that others redirect to, those others: links to them are links to the page."""
        names = page_names(self._survey)
        others: dict[int, list[int]] = {}
        for other in np.flatnonzero((names >= 0) & (names != np.arange(len(names)))).tolist():
            others.setdefault(int(names[other]), []).append(other)
        return others


def _figures(page: PageRow) -> tuple[int, float, int, float]:
    relevance = math.nan if page.relevance is None else page.relevance
    return page.id, relevance, page.id if page.repeats is None else page.repeats, page.time
