"""WARC: the links of the HTML pages in an archive (.warc, .warc.gz, .warc.zst), or in those of a WACZ.

An HTML page has its links; a redirect is a page with one link. Their targets are pages, too, known but not fetched. Ids
are in order of discovery. Of several records of a URL the last one counts; a `revisit` record means that nothing
changed, so it counts only for a URL without an earlier record.

`orienteer.warc` reads the records, and `orienteer.responses` interprets them as in a crawl. Damaged records are
skipped, with one warning. Memory is bounded by the URLs and links, whatever the archive contains.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.hosts import host_ids
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.url_table import GrowingUrlTable
from orienteer.pages.unknown import UNKNOWN_COUNT
from orienteer.progress import Progress, silent
from orienteer.responses.response import Response
from orienteer.responses.verdict import VerdictKind, verdict_of
from orienteer.warc.archived_responses import recorded_responses, warn_of_damage
from orienteer.warc.files import ArchiveFile, warc_files
from orienteer.warc.records import RecordCounts


class ArchivedState(IntEnum):
    """The state of a page in an archive."""

    NONE = 0  # only linked to, refused, or only known to be unchanged
    PAGE = 1
    REDIRECT = 2
    NO_PAGE = 3  # an error, an image: a response without links


_STATES = {
    VerdictKind.FETCHED: ArchivedState.PAGE,
    VerdictKind.REDIRECT: ArchivedState.REDIRECT,
    VerdictKind.FAILED: ArchivedState.NO_PAGE,
    VerdictKind.SKIPPED: ArchivedState.NO_PAGE,
}


class ArchivedWeb(NamedTuple):
    """The graph of an archive, and for each page its ArchivedState and the number of its unknown links."""

    graph: LinkGraph
    states: NDArray[np.uint8]
    n_unknown: NDArray[np.int32]


def read(path: Path, progress: Progress = silent) -> LinkGraph:
    links = _ArchiveLinks()
    links.read(warc_files(path), progress)
    return links.graph()


def read_archives(
    files: Sequence[ArchiveFile], first_urls: Iterable[str] = (), progress: Progress = silent
) -> ArchivedWeb:
    """Read the web of one archive; `first_urls` have the first ids. Responses without links count as pages, too."""
    links = _ArchiveLinks(with_no_pages=True)
    links.intern(first_urls)
    links.read(files, progress)
    return ArchivedWeb(links.graph(), links.states(), links.n_unknown())


class _ArchiveLinks:
    """The links found so far, record by record, in flat arrays."""

    def __init__(self, with_no_pages: bool = False) -> None:
        self._with_no_pages = with_no_pages
        self._urls = GrowingUrlTable()
        self._pages = array("q")  # the page of each record
        self._states = array("B")  # its ArchivedState
        self._n_links = array("q")  # the number of its links
        self._n_unknown = array("i")  # the number of its unknown links
        self._targets = array("I")
        self._recorded: set[int] = set()

    def intern(self, urls: Iterable[str]) -> None:
        self._urls.intern(urls)

    def read(self, files: Sequence[ArchiveFile], progress: Progress) -> None:
        counts = RecordCounts()
        for kind, response in recorded_responses(files, ("response", "revisit"), counts, progress):
            self._add_record(kind, response)
        warn_of_damage(counts, files)

    def _add_record(self, kind: str, response: Response) -> None:
        """Add the page and the links of a record of this kind."""
        verdict = verdict_of(response, with_text=False)
        state, url = _STATES.get(verdict.kind, ArchivedState.NONE), response.request.url
        if state is ArchivedState.NONE or (state is ArchivedState.NO_PAGE and not self._with_no_pages):
            return
        if kind == "response" or not self._is_recorded(url):
            if verdict.page is not None:
                links, n_unknown = verdict.page.links, len(verdict.page.left_out)
            else:
                links, n_unknown = [] if verdict.target is None else [verdict.target], 0
            self._add(url, state, links, UNKNOWN_COUNT if verdict.unknown else n_unknown)

    def _add(self, url: str, state: ArchivedState, links: list[str], n_unknown: int) -> None:
        """Set the links of the page at `url`, which replace those of an earlier record."""
        ids = self._urls.intern([url, *links])
        self._pages.append(int(ids[0]))
        self._states.append(state)
        self._n_links.append(len(links))
        self._n_unknown.append(n_unknown)
        self._targets.frombytes(ids[1:].astype(np.uint32).tobytes())
        self._recorded.add(int(ids[0]))

    def _is_recorded(self, url: str) -> bool:
        return int(self._urls.intern([url])[0]) in self._recorded

    def states(self) -> NDArray[np.uint8]:
        states = np.zeros(len(self._urls), np.uint8)
        states[np.frombuffer(self._pages, np.int64)] = np.frombuffer(self._states, np.uint8)
        return states

    def n_unknown(self) -> NDArray[np.int32]:
        n_unknown = np.zeros(len(self._urls), np.int32)
        n_unknown[np.frombuffer(self._pages, np.int64)] = np.frombuffer(self._n_unknown, np.int32)
        return n_unknown

    def graph(self) -> LinkGraph:
        pages = np.frombuffer(self._pages, np.int64)
        n_links = np.frombuffer(self._n_links, np.int64)
        last_record = np.full(len(self._urls), -1, np.int64)
        last_record[pages] = np.arange(len(pages))  # for repeated pages, the last assignment wins
        counts = np.repeat(last_record[pages] == np.arange(len(pages)), n_links)
        sources = np.repeat(pages, n_links)[counts]
        targets = np.frombuffer(self._targets, np.uint32)[counts]
        urls = self._urls.freeze()
        hosts, _ = host_ids(urls)
        return LinkGraph.from_links(len(urls), sources, targets, hosts, urls)
