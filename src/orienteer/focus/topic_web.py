"""A crawled web with a topic: the relevance of its pages, and the words that focused policies use.

    a crawl folder             archived pages are read; their relevance is stored if the topic is that of the crawl
    WARC or WACZ, or a folder  the HTML pages are read
    a graph                    has no texts: only for topics that need nothing but URLs

Known pages without a response are excluded, since their relevance is unknown. Redirects and missing pages are included,
since they cost a fetch in a crawl, too, and have no relevance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.extract.page import Page
from orienteer.extract.tokens import link_tokens, page_tokens
from orienteer.graph.formats.warc import ArchivedState, read_archives
from orienteer.graph.hosts import with_hosts
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.page_names import page_named
from orienteer.inspect.archived_page import ArchivedPosition, page_reading, warn_skipped
from orienteer.inspect.snapshot import is_crawl_folder, web_of_crawl
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.topic_reading import LoadedTopic
from orienteer.pages.states import PageState
from orienteer.policies.focused import NO_WORDS, LabelledWeb, WebText
from orienteer.processes.pool import Failed, Opening, in_order
from orienteer.progress import Progress, silent
from orienteer.responses.response import Response
from orienteer.responses.verdict import verdict_of
from orienteer.store.database import DatabaseView
from orienteer.store.folder_view import FolderView
from orienteer.store.history import DonePages
from orienteer.topics.rules import Labels
from orienteer.topics.topic import PageContent, Topic
from orienteer.warc.archived_responses import html_pages
from orienteer.warc.files import ArchiveFile, is_warc, warc_files
from orienteer.warc.records import RecordCounts

_PAGES_PER_BATCH = 256  # scored at a time

ReadPages = Iterator[tuple[int, Page]]


@dataclass(frozen=True)
class TopicWeb:
    """`pages` of the `whole` graph are the pages of `web`, in increasing order; `seeds` are pages of `web`."""

    whole: LinkGraph
    pages: NDArray[np.int64]
    web: LabelledWeb
    seeds: NDArray[np.int64]
    threshold: float  # a page of at least this relevance is on topic

    @property
    def n_left_out(self) -> int:
        return self.whole.n_pages - len(self.pages)

    @property
    def relevance(self) -> NDArray[np.float64]:
        """The relevance of the pages of `web`; 0 for unknown."""
        assert self.web.relevance is not None
        return np.nan_to_num(self.web.relevance, nan=0.0)

    @property
    def n_on_topic(self) -> int:
        return int((self.relevance >= self.threshold).sum())

    def page_named(self, name: str) -> int:
        """Return a page of `web` by its URL, or by its id in `whole`."""
        page = page_named(self.whole, name)
        place = int(np.searchsorted(self.pages, page))
        if place == len(self.pages) or self.pages[place] != page:
            raise InputError(f"page {name!r} is known, but it was not fetched")
        return place


def topic_web(
    path: Path,
    topic: LoadedTopic,
    *,
    format: str | None = None,
    reads_links: bool = True,
    reads_pages: bool = True,
    processes: int | None = None,
    progress: Progress = silent,
) -> TopicWeb:
    """Load the web of a crawl folder, a WARC file, a folder of them or a graph, with words of links and of pages.

    Pages are read by this many `processes` (None: see `processes.parallelism`); with 1, in this process.
    """
    if format is None and is_crawl_folder(path):
        return _of_crawl(path, topic, reads_links, reads_pages, processes, progress)
    if format == "warc" or (format is None and _is_archive(path)):
        return _of_archive(path, topic.topic, reads_links, reads_pages, processes, progress)
    return _of_graph(path, topic.topic, format, progress)


def _of_crawl(
    path: Path, loaded: LoadedTopic, reads_links: bool, reads_pages: bool, processes: int | None, progress: Progress
) -> TopicWeb:
    topic = loaded.topic
    with FolderView.open(path) as folder:
        database = folder.database
        known = web_of_crawl(database, progress)
        has_response, is_page, relevance = _page_facts(database, known.pages)
        graph, pages = _subgraph(known.graph, has_response)
        is_page, relevance = is_page[pages], relevance[pages]
        numbers = np.full(database.urls.count(), -1)  # of the pages that can be read
        numbers[known.pages[pages[is_page]]] = np.flatnonzero(is_page)
        words = WordsOfWeb(graph, reads_links, reads_pages)
        to_read = _archived_pages(folder, database, numbers, graph, processes, progress)
        if not topic.reads_text or loaded.is_of(folder):
            if not topic.reads_text:
                relevance = _relevance_by_url(topic, graph, is_page)
            _score_and_collect(to_read, words, None, graph, relevance)
        else:
            relevance = np.where(is_page, 0.0, np.nan)
            _expect_texts(_score_and_collect(to_read, words, topic, graph, relevance), path, topic)
        n_seeds = len(CrawlPlan.of_folder(folder).crawl.seeds)
    seeds = np.flatnonzero(known.pages[pages] < n_seeds)  # they have the first ids
    return TopicWeb(known.graph, pages, LabelledWeb(graph, relevance, words.text()), seeds, topic.threshold)


def _page_facts(
    database: DatabaseView, pages: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.float64]]:
    """Return for these pages of a crawl: is there a response, is it a page, and its stored relevance or NaN."""
    has_response, is_page = np.zeros((2, database.urls.count()), np.bool_)
    relevance = np.full(database.urls.count(), np.nan)
    for events in database.history.pages_after():
        if isinstance(events, DonePages):
            has_response[events.pages] = events.states != PageState.BLOCKED
            is_fetched = (events.states == PageState.FETCHED) & (events.redirects < 0)
            is_page[events.pages] = is_fetched
            relevance[events.pages] = np.where(is_fetched, events.relevance, np.nan)
    return has_response[pages], is_page[pages], relevance[pages]


def _archived_pages(
    folder: FolderView, database: DatabaseView, numbers: NDArray[np.int64], graph: LinkGraph, processes: int | None,
    progress: Progress,
) -> ReadPages:  # fmt: skip
    """Yield the pages in the archive of a crawl with their ids in the graph."""
    n_pages = int((numbers >= 0).sum())

    def to_load() -> Iterator[tuple[int, ArchivedPosition]]:
        assert graph.urls is not None
        n_read, rendered = 0, database.rendered.documents()
        for batch in database.pages.readable():
            for page in batch:
                number = int(numbers[page.id])
                if number >= 0 and page.archived is not None:
                    url = graph.urls[number]
                    yield number, ArchivedPosition(page.archived, page.content_type, url, rendered.get(page.id))
                    n_read += 1
            progress("reading pages", n_read, n_pages)

    yield from _read_in_processes(page_reading, (folder.archive.folder,), to_load(), graph, processes)


def _read_in_processes(
    reading: Opening[Any, Page | None],
    arguments: tuple[Any, ...],
    to_load: Iterator[tuple[int, Any]],
    graph: LinkGraph,
    processes: int | None,
) -> ReadPages:
    assert graph.urls is not None
    with in_order(reading, arguments, to_load, processes) as read:
        for number, page in read:
            if isinstance(page, Failed):
                warn_skipped(graph.urls[number], page)
            elif page is not None:
                yield number, page


def _of_archive(
    path: Path, topic: Topic, reads_links: bool, reads_pages: bool, processes: int | None, progress: Progress
) -> TopicWeb:
    files = warc_files(path)
    known = read_archives(files, progress=progress)
    graph, pages = _subgraph(known.graph, known.states != ArchivedState.NONE)
    is_page = known.states[pages] == ArchivedState.PAGE
    relevance = np.where(is_page, 0.0, np.nan) if topic.reads_text else _relevance_by_url(topic, graph, is_page)
    words = WordsOfWeb(graph, reads_links, reads_pages)
    to_read = _pages_of_archive(files, graph, is_page, processes, progress)
    n_read = _score_and_collect(to_read, words, topic if topic.reads_text else None, graph, relevance)
    _expect_texts(n_read, path, topic)
    no_seeds = np.empty(0, np.int64)
    return TopicWeb(known.graph, pages, LabelledWeb(graph, relevance, words.text()), no_seeds, topic.threshold)


def _pages_of_archive(
    files: list[ArchiveFile], graph: LinkGraph, is_page: NDArray[np.bool_], processes: int | None, progress: Progress
) -> ReadPages:
    """Yield the HTML pages of an archive with their ids in the graph; of several records of a page the last counts."""

    def to_load() -> Iterator[tuple[int, Response]]:
        assert graph.urls is not None
        for response in html_pages(files, RecordCounts(), progress):  # damage was reported when the graph was read
            number = graph.urls.find(response.request.url)
            if number is not None and is_page[number]:
                yield number, response

    yield from _read_in_processes(response_reading, (), to_load(), graph, processes)


@contextmanager
def response_reading() -> Iterator[Callable[[Response], Page | None]]:
    """Yield the function that reads the page of a response; for `in_order`."""
    yield lambda response: verdict_of(response).page


def _of_graph(path: Path, topic: Topic, format: str | None, progress: Progress) -> TopicWeb:
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    if path.is_dir() and not (path / "graph.json").is_file():
        raise InputError(f"{path}: this is no crawl folder and no graph, and it has no WARC files")
    if topic.reads_text:
        raise InputError(
            f"{path}: a graph has no texts, and a topic of kind {topic.name} reads them; name a crawl folder or a WARC "
            "file, or a topic by url-pattern or labels"
        )
    graph = LinkGraph.load(path, format, progress=progress)
    if graph.hosts is None and graph.urls is not None:
        graph = with_hosts(graph)
    if isinstance(topic, Labels):
        relevance = topic.of_graph(graph)
    elif graph.urls is None:
        raise InputError(f"{path}: the graph has no URLs, and a topic of kind {topic.name} needs them")
    else:
        relevance = _relevance_by_url(topic, graph, np.ones(graph.n_pages, np.bool_))
    all_pages, no_seeds = np.arange(graph.n_pages), np.empty(0, np.int64)
    return TopicWeb(graph, all_pages, LabelledWeb(graph, relevance), no_seeds, topic.threshold)


def _is_archive(path: Path) -> bool:
    return any(map(is_warc, path.iterdir())) if path.is_dir() else is_warc(path)


def _subgraph(graph: LinkGraph, is_included: NDArray[np.bool_]) -> tuple[LinkGraph, NDArray[np.int64]]:
    """Return the graph of these pages and the links between them, and their old ids."""
    assert graph.urls is not None
    assert graph.hosts is not None
    pages = np.flatnonzero(is_included)
    new = np.cumsum(is_included) - 1
    sources = graph.sources()
    inside = is_included[sources] & is_included[graph.targets]
    links = new[sources[inside]], new[graph.targets[inside]]
    return LinkGraph.from_links(len(pages), *links, graph.hosts[pages], graph.urls.taken(pages)), pages


def _relevance_by_url(topic: Topic, graph: LinkGraph, is_page: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the relevance of pages by their URLs alone."""
    assert graph.urls is not None
    contents = [PageContent(graph.urls[page], "", "") for page in np.flatnonzero(is_page).tolist()]
    relevance = np.full(graph.n_pages, np.nan)
    relevance[is_page] = topic.relevance(contents)
    return relevance


def _score_and_collect(
    pages: ReadPages, words: WordsOfWeb, topic: Topic | None, graph: LinkGraph, relevance: NDArray[np.float64]
) -> int:
    """Add the words of all pages, and store their relevance if there is a topic; return the number of pages."""
    assert graph.urls is not None
    n_read = 0
    while batch := list(islice(pages, _PAGES_PER_BATCH)):
        if topic is not None:
            contents = [PageContent.of(graph.urls[number], page) for number, page in batch]
            relevance[[number for number, _ in batch]] = np.nan_to_num(topic.relevance(contents), nan=0.0)
        for number, page in batch:
            words.add_page(number, page)
        n_read += len(batch)
    return n_read


def _expect_texts(n_read: int, path: Path, topic: Topic) -> None:
    if n_read == 0:
        raise InputError(f"{path}: no page is archived in it, and a topic of kind {topic.name} reads their text")


class WordsOfWeb:
    """The words of links and of pages, each only on request; if a page is added twice, the second one counts.

    The words of a link are those of all anchors from the page to its target, and of its URL. Links without an anchor
    have none, as in a crawl.
    """

    def __init__(self, graph: LinkGraph, reads_links: bool, reads_pages: bool) -> None:
        self._graph = graph
        self._reads_links, self._reads_pages = reads_links, reads_pages
        self._of_links: dict[int, tuple[NDArray[np.int64], NDArray[np.uint32]]] = {}  # by page: lengths, words
        self._of_pages: dict[int, NDArray[np.uint32]] = {}
        self.n_read = 0

    def add_page(self, number: int, page: Page) -> None:
        """Add the words of a page and its links."""
        self.n_read += 1
        if self._reads_links:
            words = self._link_words(number, page)
            self._of_links[number] = (
                np.array([len(of_link) for of_link in words], np.int64),
                np.concatenate([NO_WORDS, *words]),
            )
        if self._reads_pages:
            self._of_pages[number] = page_tokens(page.text)

    def text(self) -> WebText | None:
        """Return all words; None if no page was read."""
        if self.n_read == 0:
            return None
        graph = self._graph
        of_links, of_pages = np.zeros(graph.n_links, np.int64), np.zeros(graph.n_pages, np.int64)
        link_words, words = [NO_WORDS], [NO_WORDS]
        for page in sorted(self._of_links):
            lengths, tokens = self._of_links[page]
            of_links[graph.offsets[page] : graph.offsets[page + 1]] = lengths
            link_words.append(tokens)
        for page in sorted(self._of_pages):
            of_pages[page] = len(self._of_pages[page])
            words.append(self._of_pages[page])
        return WebText(_offsets(of_links), np.concatenate(link_words), _offsets(of_pages), np.concatenate(words))

    def _link_words(self, number: int, page: Page) -> list[NDArray[np.uint32]]:
        urls = self._graph.urls
        assert urls is not None
        texts: dict[int, list[str]] = {}
        for url, text in page.anchors:
            target = urls.find(url)
            if target is not None:
                texts.setdefault(target, []).append(text)
        links = self._graph.links(number).tolist()
        return [link_tokens(" ".join(texts[link]), urls[link]) if link in texts else NO_WORDS for link in links]


def _offsets(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(lengths)))
