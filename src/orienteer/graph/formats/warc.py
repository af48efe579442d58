"""WARC: the links of the HTML pages in an archive (.warc, .warc.gz, .warc.zst), or in those of a WACZ.

A page is one with its links; a redirect is a page with one link. What they link to is a page too, known but not
fetched. Ids are in order of discovery. Where a URL was recorded twice the last record counts; a `revisit` says that
nothing changed, so it counts only for a URL with no record before it.

`orienteer.warc` reads the records, and `orienteer.answers` says what they mean, as in a crawl. What is damaged is
skipped, and told with one warning. Memory is bounded by the URLs and links, whatever the archive holds.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.answers.answer import Fetched
from orienteer.answers.meaning import Verdict, meaning_of
from orienteer.graph.hosts import host_ids
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.url_table import GrowingUrlTable
from orienteer.pages.unknown import NOBODY_KNOWS
from orienteer.progress import Progress, silent
from orienteer.warc.archived_answers import archived_answers, tell_damage
from orienteer.warc.files import ArchiveFile, warc_files
from orienteer.warc.records import Reading


class Answer(IntEnum):
    """What an archive has of a page."""

    NONE = 0  # it is only linked to, was refused, or is known only to be unchanged
    PAGE = 1
    REDIRECT = 2
    NO_PAGE = 3  # an error, an image: something without links


_ANSWERS = {
    Verdict.FETCHED: Answer.PAGE,
    Verdict.REDIRECT: Answer.REDIRECT,
    Verdict.FAILED: Answer.NO_PAGE,
    Verdict.SKIPPED: Answer.NO_PAGE,
}


class ArchivedWeb(NamedTuple):
    """The graph of an archive, and for each of its pages the Answer there is, and how many links are not known."""

    graph: LinkGraph
    answers: NDArray[np.uint8]
    n_unknown: NDArray[np.int32]


def read(path: Path, progress: Progress = silent) -> LinkGraph:
    links = _Links()
    links.read(warc_files(path), progress)
    return links.graph()


def read_archives(
    files: Sequence[ArchiveFile], first_urls: Iterable[str] = (), progress: Progress = silent
) -> ArchivedWeb:
    """The web in the files of one archive; `first_urls` have the first ids. Here what is no page is one too."""
    links = _Links(with_no_pages=True)
    links.know(first_urls)
    links.read(files, progress)
    return ArchivedWeb(links.graph(), links.answers(), links.n_unknown())


class _Links:
    """The links found so far, record by record, in flat arrays."""

    def __init__(self, with_no_pages: bool = False) -> None:
        self._with_no_pages = with_no_pages
        self._urls = GrowingUrlTable()
        self._pages = array("q")  # the page of each record
        self._answers = array("B")  # what the record says of it
        self._n_links = array("q")  # the number of its links
        self._n_unknown = array("i")  # the number of those that are not known
        self._targets = array("I")
        self._recorded: set[int] = set()

    def know(self, urls: Iterable[str]) -> None:
        self._urls.intern(urls)

    def read(self, files: Sequence[ArchiveFile], progress: Progress) -> None:
        reading = Reading()
        for kind, answer in archived_answers(files, ("response", "revisit"), reading, progress):
            self._take(kind, answer)
        tell_damage(reading, files)

    def _take(self, kind: str, fetched: Fetched) -> None:
        """Take in what a record of this kind says."""
        meaning = meaning_of(fetched, with_text=False)
        answer, url = _ANSWERS.get(meaning.verdict, Answer.NONE), fetched.request.url
        if answer is Answer.NONE or (answer is Answer.NO_PAGE and not self._with_no_pages):
            return
        if kind == "response" or not self._is_recorded(url):
            if meaning.page is not None:
                links, n_unknown = meaning.page.links, len(meaning.page.left_out)
            else:
                links, n_unknown = [] if meaning.target is None else [meaning.target], 0
            self._add(url, answer, links, NOBODY_KNOWS if meaning.unknown else n_unknown)

    def _add(self, url: str, answer: Answer, links: list[str], n_unknown: int) -> None:
        """The page at `url` has these links, and no longer those of an earlier record."""
        ids = self._urls.intern([url, *links])
        self._pages.append(int(ids[0]))
        self._answers.append(answer)
        self._n_links.append(len(links))
        self._n_unknown.append(n_unknown)
        self._targets.frombytes(ids[1:].astype(np.uint32).tobytes())
        self._recorded.add(int(ids[0]))

    def _is_recorded(self, url: str) -> bool:
        return int(self._urls.intern([url])[0]) in self._recorded

    def answers(self) -> NDArray[np.uint8]:
        answers = np.zeros(len(self._urls), np.uint8)
        answers[np.frombuffer(self._pages, np.int64)] = np.frombuffer(self._answers, np.uint8)
        return answers

    def n_unknown(self) -> NDArray[np.int32]:
        n_unknown = np.zeros(len(self._urls), np.int32)
        n_unknown[np.frombuffer(self._pages, np.int64)] = np.frombuffer(self._n_unknown, np.int32)
        return n_unknown

    def graph(self) -> LinkGraph:
        pages = np.frombuffer(self._pages, np.int64)
        n_links = np.frombuffer(self._n_links, np.int64)
        last_record = np.full(len(self._urls), -1, np.int64)
        last_record[pages] = np.arange(len(pages))  # of repeated pages, the last assignment stays
        counts = np.repeat(last_record[pages] == np.arange(len(pages)), n_links)
        sources = np.repeat(pages, n_links)[counts]
        targets = np.frombuffer(self._targets, np.uint32)[counts]
        urls = self._urls.freeze()
        hosts, _ = host_ids(urls)
        return LinkGraph.from_links(len(urls), sources, targets, hosts, urls)
