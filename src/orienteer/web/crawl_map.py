"""The crawl as a map: the regions of the pages it has fetched, their ranks, and what flows between them.

Ranks are those that a search has (`search/page_columns`): PageRank over the links between the fetched pages, with
redirects as other names of their targets. A map is made when it is first asked for, and kept until the crawl has gone
on; of a running crawl it may be a little behind, so that most of the machine is left to the crawl.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.map_layout import Layout, map_layout, strongest
from orienteer.graph.pagerank import pagerank
from orienteer.graph.regions import Kind, Masses, common_ending, masses_between, regions_of
from orienteer.graph.url_table import UrlTable
from orienteer.inspect.local_web import local_web, url_batches
from orienteer.store.database_view import DatabaseView
from orienteer.url import host_of

MAX_CIRCLES = 5_000
_LINKS_OF_EACH = 3  # to and from every region
_MAX_OTHERS = 500_000  # URLs that were not fetched are looked at; of more of them a part stands for all
_PAUSE = 10  # times what it took: so long a map may be behind
_SHORTEST_PAUSE_S = 2.0


class Flow(NamedTuple):
    """Mass to or from another region, over so many links."""

    region: int
    mass: float
    n_links: int


class MappedPage(NamedTuple):
    """A page with its place by rank among all pages, and its links from and to other fetched pages."""

    url: str
    rank: float
    position: int
    n_in: int
    n_out: int


class Circles(NamedTuple):
    """What is drawn: the regions by their places in `CrawlMap.order`, and the strongest links among them."""

    layout: Layout
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    mass: NDArray[np.float64]


@dataclass(frozen=True)
class CrawlMap:
    """A crawl's map as it was at `position`.

    Regions have ids; `order` lists them by rank, the highest first. `n_others` are, by region, the pages that fetched
    pages link to and that were not fetched themselves. `rank`, `n_in`, `n_out`, `urls` are by page, and `of_page` says
    in which region a page is.
    """

    position: int
    kind: Kind
    names: list[str]
    masses: Masses
    n_others: NDArray[np.int64]
    of_page: NDArray[np.int32]
    rank: NDArray[np.float64]
    n_in: NDArray[np.int64]
    n_out: NDArray[np.int64]
    urls: UrlTable

    @classmethod
    def of(cls, survey: DatabaseView) -> CrawlMap:
        """The map of what the crawl has fetched so far, which may be nothing."""
        position = survey.next_position()
        try:
            web = local_web(survey)
        except InputError:  # nothing was fetched
            return cls.of_graph(LinkGraph.from_links(0, [], []), UrlTable.of([]), position)
        sources = np.repeat(np.arange(web.n_local), np.diff(web.offsets))
        is_inside = web.links < web.n_local
        urls = UrlTable.of(url for batch in url_batches(survey, web.pages[: web.n_local]) for url in batch)
        graph = LinkGraph.from_links(web.n_local, sources[is_inside], web.links[is_inside])
        around = web.pages[web.n_local :]
        step = max(1, -(-len(around) // _MAX_OTHERS))
        others = UrlTable.of(url for batch in url_batches(survey, around[::step]) for url in batch)
        return cls.of_graph(graph, urls, position, others, step)

    @classmethod
    def of_graph(
        cls, graph: LinkGraph, urls: UrlTable, position: int, others: UrlTable | None = None, stands_for: int = 1
    ) -> CrawlMap:
        """The map of these pages; `others` were not fetched, and each of them stands for so many."""
        rank = pagerank(graph) if graph.n_pages else np.zeros(0)
        regions = regions_of(urls)
        host = host_of(urls[0]) if len(urls) else ""
        n_others = regions.n_of_others(UrlTable.of([]) if others is None else others, host)
        return cls(
            position=position,
            kind=regions.kind,
            names=regions.names,
            masses=masses_between(graph, regions.of_page, len(regions.names), rank),
            n_others=n_others * stands_for,
            of_page=regions.of_page,
            rank=rank,
            n_in=graph.in_degrees(),
            n_out=graph.out_degrees(),
            urls=urls,
        )

    @cached_property
    def order(self) -> NDArray[np.int64]:
        return np.argsort(-self.masses.rank, kind="stable")

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each region in `order`, by its name."""
        return {self.names[region]: place for place, region in enumerate(self.order.tolist())}

    @cached_property
    def ending(self) -> str:
        """How the names of all hosts end, after a dot or as a whole; "" where they have nothing in common."""
        return common_ending(self.names) if self.kind == "host" else ""

    def label(self, region: int) -> str:
        """Its name, as short as it can be among the others."""
        return self.names[region].removesuffix(f".{self.ending}") if self.ending else self.names[region]

    def fetched_share(self, region: int) -> float:
        """Of the pages that are known there."""
        n_pages = int(self.masses.n_pages[region])
        return n_pages / (n_pages + int(self.n_others[region]))

    @cached_property
    def circles(self) -> Circles:
        """The regions with the most rank, as many as can be drawn."""
        masses, n = self.masses, min(len(self.names), MAX_CIRCLES)
        place = np.full(len(self.names), n)
        place[self.order] = np.arange(len(self.names))
        sources, targets = place[masses.sources], place[masses.targets]
        shown = np.flatnonzero((sources < n) & (targets < n))
        sources, targets, mass = sources[shown].astype(np.int32), targets[shown].astype(np.int32), masses.mass[shown]
        layout = map_layout(masses.rank[self.order[:n]], sources, targets, mass)
        kept = strongest(n, sources, targets, mass, _LINKS_OF_EACH)
        kept = kept[np.argsort(-mass[kept], kind="stable")]
        return Circles(layout, sources[kept].astype(np.int64), targets[kept].astype(np.int64), mass[kept])

    def flows_out(self, region: int, n: int) -> list[Flow]:
        """The n regions that most mass goes to, the most first."""
        first, last = np.searchsorted(self.masses.sources, [region, region + 1])
        return self._flows(np.arange(first, last), self.masses.targets, n)

    def flows_in(self, region: int, n: int) -> list[Flow]:
        """The n regions that most mass comes from, the most first."""
        return self._flows(np.flatnonzero(self.masses.targets == region), self.masses.sources, n)

    def _flows(self, links: NDArray[np.int64], ends: NDArray[np.int32], n: int) -> list[Flow]:
        mass, n_links = self.masses.mass, self.masses.n_links
        best = links[np.argsort(-mass[links], kind="stable")][:n]
        return [Flow(int(ends[k]), float(mass[k]), int(n_links[k])) for k in best]

    def pages(self, region: int, first: int, n: int) -> list[MappedPage]:
        """The pages of a region by rank, the highest first: n of them from place `first` on, counted from 0."""
        mine = self._by_rank[self.of_page[self._by_rank] == region][first : first + n]
        return [
            MappedPage(
                self.urls[page],
                float(self.rank[page]),
                int(self._positions[page]),
                int(self.n_in[page]),
                int(self.n_out[page]),
            )
            for page in mine.tolist()
        ]

    @cached_property
    def _by_rank(self) -> NDArray[np.int64]:
        return np.argsort(-self.rank, kind="stable")

    @cached_property
    def _positions(self) -> NDArray[np.int64]:
        positions = np.empty(len(self.rank), np.int64)
        positions[self._by_rank] = np.arange(1, len(self.rank) + 1)
        return positions

    def named_like(self, words: str) -> Iterator[int]:
        """The regions whose names hold all of these words, by rank."""
        wanted = words.casefold().split()
        return (
            region for region in self.order.tolist() if all(word in self.names[region].casefold() for word in wanted)
        )


class KeptMap:
    """The map of a crawl folder, made anew when the crawl has gone on; one at a time, whoever asks."""

    def __init__(self, folder: Path) -> None:
        self._database = folder / "crawl.db"
        self._lock = threading.Lock()
        self._map: CrawlMap | None = None
        self._next_s = 0.0  # until then it may be behind

    def current(self) -> CrawlMap:
        with self._lock, DatabaseView(self._database) as survey:
            if self._map is None or (self._map.position != survey.next_position() and time.monotonic() >= self._next_s):
                started = time.monotonic()
                self._map = CrawlMap.of(survey)
                took_s = time.monotonic() - started
                self._next_s = time.monotonic() + max(_PAUSE * took_s, _SHORTEST_PAUSE_S)
            return self._map

    def drawn(self) -> CrawlMap:
        """The same with its circles, which take the longest: they are made once, too."""
        found = self.current()
        with self._lock:
            _ = found.circles
        return found
