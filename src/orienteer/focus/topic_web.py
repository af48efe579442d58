"""A web that was crawled, as a topic sees it: how relevant its pages are, and the words that focused policies hear.

    a crawl folder             the archived pages are read; how relevant they are is known, if the topic is the crawl's
    WARC or WACZ, or a folder  the HTML pages in it are read
    a graph                    has no texts: for topics that need nothing but the names of pages

Pages that are known, and of which there is no answer, are left out: nobody can say how relevant they are. Redirects and
pages that are not there cost a fetch, as they did in the crawl, and have no relevance.
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

from orienteer.answers.answer import Fetched
from orienteer.answers.meaning import meaning_of
from orienteer.errors import InputError
from orienteer.extract.page import Page
from orienteer.focus.topic_words import WordsOfWeb
from orienteer.graph.formats.warc import Answer, read_archives
from orienteer.graph.hosts import with_hosts
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.page_names import page_named
from orienteer.inspect.archived_page import Archived, page_reading, warn_skipped
from orienteer.inspect.snapshot import is_crawl_folder, web_of_crawl
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.topic_reading import LoadedTopic
from orienteer.pages.states import PageState
from orienteer.policies.focused import LabelledWeb
from orienteer.processes.ordered import in_order
from orienteer.processes.pool import Failed, Opening
from orienteer.progress import Progress, silent
from orienteer.store.database_view import DatabaseView
from orienteer.store.folder_view import FolderView
from orienteer.store.history import DonePages
from orienteer.topics.labels import Labels
from orienteer.topics.topic import PageContent, Topic
from orienteer.warc.archived_answers import html_pages
from orienteer.warc.files import ArchiveFile, is_warc, warc_files
from orienteer.warc.records import Reading

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
        """Of the pages of `web`; 0 where there is none."""
        assert self.web.relevance is not None
        return np.nan_to_num(self.web.relevance, nan=0.0)

    @property
    def n_on_topic(self) -> int:
        return int((self.relevance >= self.threshold).sum())

    def page_named(self, name: str) -> int:
        """A page of `web` by its URL, or its id in the whole."""
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
    """The web of a crawl folder, a WARC file, a folder of them or a graph, with the words of links and of pages.

    Pages are read by this many `processes`, for which there is a sensible number; 1: none is started.
    """
    if format is None and is_crawl_folder(path):
        return _of_crawl(path, topic, reads_links, reads_pages, processes, progress)
    if format == "warc" or (format is None and _is_archive(path)):
        return _of_archive(path, topic.topic, reads_links, reads_pages, processes, progress)
    return _of_graph(path, topic.topic, format, progress)


def _of_crawl(
    path: Path, kept: LoadedTopic, reads_links: bool, reads_pages: bool, processes: int | None, progress: Progress
) -> TopicWeb:
    topic = kept.topic
    with FolderView.open(path) as folder:
        survey = folder.database
        known = web_of_crawl(survey, progress)
        is_answered, is_page, relevance = _facts(survey, known.pages)
        graph, pages = _part(known.graph, is_answered)
        is_page, relevance = is_page[pages], relevance[pages]
        numbers = np.full(survey.n_urls(), -1)  # of the pages that can be read
        numbers[known.pages[pages[is_page]]] = np.flatnonzero(is_page)
        words = WordsOfWeb(graph, reads_links, reads_pages)
        to_read = _archived_pages(folder, survey, numbers, graph, processes, progress)
        if not topic.reads_text or kept.is_of(folder):
            if not topic.reads_text:
                relevance = _by_names(topic, graph, is_page)
            _read(to_read, words, None, graph, relevance)
        else:
            relevance = np.where(is_page, 0.0, np.nan)
            _expect_texts(_read(to_read, words, topic, graph, relevance), path, topic)
        n_seeds = len(CrawlPlan.of_folder(folder).crawl.seeds)
    seeds = np.flatnonzero(known.pages[pages] < n_seeds)  # they have the first ids
    return TopicWeb(known.graph, pages, LabelledWeb(graph, relevance, words.text()), seeds, topic.threshold)


def _facts(
    survey: DatabaseView, pages: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.float64]]:
    """Of these pages of a crawl: whether there was an answer, whether that was a page, its relevance as kept or NaN."""
    is_answered, is_page = np.zeros((2, survey.n_urls()), np.bool_)
    relevance = np.full(survey.n_urls(), np.nan)
    for events in survey.pages_after():
        if isinstance(events, DonePages):
            is_answered[events.pages] = events.states != PageState.BLOCKED
            found = (events.states == PageState.FETCHED) & (events.redirects < 0)
            is_page[events.pages] = found
            relevance[events.pages] = np.where(found, events.relevance, np.nan)
    return is_answered[pages], is_page[pages], relevance[pages]


def _archived_pages(
    folder: FolderView, survey: DatabaseView, numbers: NDArray[np.int64], graph: LinkGraph, processes: int | None,
    progress: Progress,
) -> ReadPages:  # fmt: skip
    """The pages in the archive of a crawl, with their numbers in the graph."""
    n_pages = int((numbers >= 0).sum())

    def wanted() -> Iterator[tuple[int, Archived]]:
        assert graph.urls is not None
        n_read, shown = 0, survey.documents_shown()
        for batch in survey.readable_pages():
            for page in batch:
                number = int(numbers[page.id])
                if number >= 0 and page.archived is not None:
                    url = graph.urls[number]
                    yield number, Archived(page.archived, page.content_type, url, shown.get(page.id))
                    n_read += 1
            progress("reading pages", n_read, n_pages)

    yield from _read_beside(page_reading, (folder.archive.folder,), wanted(), graph, processes)


def _read_beside(
    reading: Opening[Any, Page | None],
    arguments: tuple[Any, ...],
    wanted: Iterator[tuple[int, Any]],
    graph: LinkGraph,
    processes: int | None,
) -> ReadPages:
    assert graph.urls is not None
    with in_order(reading, arguments, wanted, processes) as read:
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
    graph, pages = _part(known.graph, known.answers != Answer.NONE)
    is_page = known.answers[pages] == Answer.PAGE
    relevance = np.where(is_page, 0.0, np.nan) if topic.reads_text else _by_names(topic, graph, is_page)
    words = WordsOfWeb(graph, reads_links, reads_pages)
    to_read = _pages_in(files, graph, is_page, processes, progress)
    n_read = _read(to_read, words, topic if topic.reads_text else None, graph, relevance)
    _expect_texts(n_read, path, topic)
    nowhere = np.empty(0, np.int64)
    return TopicWeb(known.graph, pages, LabelledWeb(graph, relevance, words.text()), nowhere, topic.threshold)


def _pages_in(
    files: list[ArchiveFile], graph: LinkGraph, is_page: NDArray[np.bool_], processes: int | None, progress: Progress
) -> ReadPages:
    """The HTML pages of an archive, with their numbers in the graph; the last of several records of one counts."""

    def wanted() -> Iterator[tuple[int, Fetched]]:
        assert graph.urls is not None
        for answer in html_pages(files, Reading(), progress):  # what is damaged was told when the graph was read
            number = graph.urls.find(answer.request.url)
            if number is not None and is_page[number]:
                yield number, answer

    yield from _read_beside(answer_reading, (), wanted(), graph, processes)


@contextmanager
def answer_reading() -> Iterator[Callable[[Fetched], Page | None]]:
    """For `in_order`: the pages in answers."""
    yield lambda answer: meaning_of(answer).page


def _of_graph(path: Path, topic: Topic, format: str | None, progress: Progress) -> TopicWeb:
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    if path.is_dir() and not (path / "graph.json").is_file():
        raise InputError(f"{path}: this is no crawl folder and no graph, and there are no WARC files in it")
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
        relevance = _by_names(topic, graph, np.ones(graph.n_pages, np.bool_))
    everything, nowhere = np.arange(graph.n_pages), np.empty(0, np.int64)
    return TopicWeb(graph, everything, LabelledWeb(graph, relevance), nowhere, topic.threshold)


def _is_archive(path: Path) -> bool:
    return any(map(is_warc, path.iterdir())) if path.is_dir() else is_warc(path)


def _part(graph: LinkGraph, is_kept: NDArray[np.bool_]) -> tuple[LinkGraph, NDArray[np.int64]]:
    """These pages, and the links among them; and the numbers that they had."""
    assert graph.urls is not None
    assert graph.hosts is not None
    pages = np.flatnonzero(is_kept)
    new = np.cumsum(is_kept) - 1
    sources = graph.sources()
    inside = is_kept[sources] & is_kept[graph.targets]
    links = new[sources[inside]], new[graph.targets[inside]]
    return LinkGraph.from_links(len(pages), *links, graph.hosts[pages], graph.urls.taken(pages)), pages


def _by_names(topic: Topic, graph: LinkGraph, is_page: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The relevance of pages by their URLs alone."""
    assert graph.urls is not None
    contents = [PageContent(graph.urls[page], "", "") for page in np.flatnonzero(is_page).tolist()]
    relevance = np.full(graph.n_pages, np.nan)
    relevance[is_page] = topic.relevance(contents)
    return relevance


def _read(
    pages: ReadPages, words: WordsOfWeb, topic: Topic | None, graph: LinkGraph, relevance: NDArray[np.float64]
) -> int:
    """Take the words of all pages, and enter how relevant the topic finds them, if there is one; how many they are."""
    assert graph.urls is not None
    n_read = 0
    while batch := list(islice(pages, _PAGES_PER_BATCH)):
        if topic is not None:
            contents = [PageContent.of(graph.urls[number], page) for number, page in batch]
            relevance[[number for number, _ in batch]] = np.nan_to_num(topic.relevance(contents), nan=0.0)
        for number, page in batch:
            words.take(number, page)
        n_read += len(batch)
    return n_read


def _expect_texts(n_read: int, path: Path, topic: Topic) -> None:
    if n_read == 0:
        raise InputError(f"{path}: no page is archived in it, and a topic of kind {topic.name} reads their text")
