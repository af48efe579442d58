"""The map of a crawl: the regions of its fetched pages, their ranks, and the rank that flows between them.

Ranks are those of the search (`search/page_columns`): PageRank over the links between fetched pages, with redirects
merged into their targets.
"""

from __future__ import annotations

import threading
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
from orienteer.inspect.snapshot import local_web, url_batches
from orienteer.progress import Progress, silent
from orienteer.store.database import DatabaseView
from orienteer.url import host_of

MAX_CIRCLES = 5_000
_LINKS_OF_EACH = 3  # to and from every region
_drawing = threading.Lock()  # one request draws, others wait
_MAX_OTHERS = 500_000  # URLs that were not fetched; of more of them a sample is taken


@dataclass(frozen=True)
class RegionFlow:
    """Rank that flows to or from another region, over `n_links` links."""

    name: str
    mass: float
    n_links: int


@dataclass(frozen=True)
class MappedPage:
    """A page. `position` is by rank among all fetched pages; `n_in` and `n_out` count links between these."""

    url: str
    rank: float
    position: int
    n_in: int
    n_out: int


class Circles(NamedTuple):
    """The drawing: regions, numbered by their index in `CrawlMap.order`, and the strongest links among them."""

    layout: Layout
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    mass: NDArray[np.float64]


@dataclass(frozen=True)
class CrawlMap:
    """The map of a crawl at `position`.

    Regions have ids; `order` lists them by rank, highest first. `n_others` counts by region the pages that fetched
    pages link to but that were not fetched. `rank`, `n_in`, `n_out` and `urls` are by page, and `of_page` is the region
    of each page.
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
    def of(cls, database: DatabaseView) -> CrawlMap:
        """Return the map of the pages fetched so far, which may be none."""
        position = database.history.next_position()
        try:
            web = local_web(database)
        except InputError:  # nothing was fetched
            return cls.of_graph(LinkGraph.from_links(0, [], []), UrlTable.of([]), position)
        sources = np.repeat(np.arange(web.n_local), np.diff(web.offsets))
        is_inside = web.links < web.n_local
        urls = UrlTable.of(url for batch in url_batches(database, web.pages[: web.n_local]) for url in batch)
        graph = LinkGraph.from_links(web.n_local, sources[is_inside], web.links[is_inside])
        unfetched = web.pages[web.n_local :]
        step = max(1, -(-len(unfetched) // _MAX_OTHERS))
        others = UrlTable.of(url for batch in url_batches(database, unfetched[::step]) for url in batch)
        return cls.of_graph(graph, urls, position, others, step)

    @classmethod
    def of_graph(
        cls, graph: LinkGraph, urls: UrlTable, position: int, others: UrlTable | None = None, sample_step: int = 1
    ) -> CrawlMap:
        """Return the map of these pages; `others` is a sample of one in `sample_step` of the unfetched pages."""
        rank = pagerank(graph) if graph.n_pages else np.zeros(0)
        regions = regions_of(urls)
        host = host_of(urls[0]) if len(urls) else ""
        n_others = regions.n_of_others(UrlTable.of([]) if others is None else others, host)
        return cls(
            position=position,
            kind=regions.kind,
            names=regions.names,
            masses=masses_between(graph, regions.of_page, len(regions.names), rank),
            n_others=n_others * sample_step,
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
        """The index of each region in `order`, by its name."""
        return {self.names[region]: place for place, region in enumerate(self.order.tolist())}

    @cached_property
    def ending(self) -> str:
        """The common suffix of all host names, starting after a dot; "" if there is none."""
        return common_ending(self.names) if self.kind == "host" else ""

    def label(self, region: int) -> str:
        """Return the name of a region without the suffix that all share."""
        return self.names[region].removesuffix(f".{self.ending}") if self.ending else self.names[region]

    def fetched_share(self, region: int) -> float:
        """Return the share of the known pages of a region that were fetched."""
        n_pages = int(self.masses.n_pages[region])
        return n_pages / (n_pages + int(self.n_others[region]))

    @property
    def circles(self) -> Circles:
        """The regions of the highest ranks, as many as can be drawn; computed once, which takes the longest."""
        with _drawing:
            return self._circles

    @cached_property
    def _circles(self) -> Circles:
        masses, n = self.masses, min(len(self.names), MAX_CIRCLES)
        place = np.full(len(self.names), n)
        place[self.order] = np.arange(len(self.names))
        sources, targets = place[masses.sources], place[masses.targets]
        drawn = np.flatnonzero((sources < n) & (targets < n))
        sources, targets, mass = sources[drawn].astype(np.int32), targets[drawn].astype(np.int32), masses.mass[drawn]
        layout = map_layout(masses.rank[self.order[:n]], sources, targets, mass)
        best = strongest(n, sources, targets, mass, _LINKS_OF_EACH)
        best = best[np.argsort(-mass[best], kind="stable")]
        return Circles(layout, sources[best].astype(np.int64), targets[best].astype(np.int64), mass[best])

    def flows_out(self, region: int, n: int) -> list[RegionFlow]:
        """Return the n largest flows from a region, largest first."""
        first, last = np.searchsorted(self.masses.sources, [region, region + 1])
        return self._flows(np.arange(first, last), self.masses.targets, n)

    def flows_in(self, region: int, n: int) -> list[RegionFlow]:
        """Return the n largest flows to a region, largest first."""
        return self._flows(np.flatnonzero(self.masses.targets == region), self.masses.sources, n)

    def _flows(self, links: NDArray[np.int64], ends: NDArray[np.int32], n: int) -> list[RegionFlow]:
        mass, n_links = self.masses.mass, self.masses.n_links
        best = links[np.argsort(-mass[links], kind="stable")][:n]
        return [RegionFlow(self.names[ends[k]], float(mass[k]), int(n_links[k])) for k in best]

    def pages(self, region: int, first: int, n: int) -> list[MappedPage]:
        """Return n pages of a region by rank, highest first, from index `first` on."""
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
        """Yield the regions whose names contain all of these words, by rank."""
        query = words.casefold().split()
        return (
            region for region in self.order.tolist() if all(word in self.names[region].casefold() for word in query)
        )


def map_of_folder(folder: Path, progress: Progress = silent) -> CrawlMap:
    """Return the map of the pages of a crawl folder fetched so far."""
    progress("reading the links", 0, 0)
    with DatabaseView(folder / "crawl.db") as database:
        return CrawlMap.of(database)
