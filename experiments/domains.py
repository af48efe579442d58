"""Local domains of real webs, whose rank in the whole web is known: sites, topics, and stretches of a crawl.

Sites are hosts of documentation and universities, topics are subjects of an encyclopedia and the sides of political
blogs. Stretches of ids, in crawls that have no URLs but are in their order or nearly so, cut through sites, unlike real
domains.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.real_data import DOCS, SCHOOLS, UNIVERSITIES, RealData
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank

SITE, TOPIC, STRETCH = "sites", "topics", "stretches"
CNR = "cnr-2000-nat"
MANY = 10**6


@dataclass(frozen=True)
class RankedWeb:
    """A whole web, and what its pages are worth in it."""

    name: str
    graph: LinkGraph
    rank: NDArray[np.float64]

    @classmethod
    def of(cls, name: str, graph: LinkGraph) -> RankedWeb:
        return cls(name, graph, pagerank(graph, tolerance=1e-10))


@dataclass(frozen=True)
class Domain:
    """Pages of a web that a local search engine would have."""

    web: RankedWeb
    kind: str
    name: str
    pages: NDArray[np.int64]

    @property
    def truth(self) -> NDArray[np.float64]:
        """The global rank of the pages, relative to each other."""
        rank = self.web.rank[self.pages]
        return np.asarray(rank / rank.sum())

    @property
    def n_inner_links(self) -> int:
        """Links between its pages."""
        is_inside = np.zeros(self.web.graph.n_pages, np.bool_)
        is_inside[self.pages] = True
        return sum(int(is_inside[self.web.graph.links(page)].sum()) for page in self.pages.tolist())


class RealDomains:
    """The domains of the real webs that are at hand."""

    def __init__(self, data: RealData) -> None:
        self._data = data
        self._webs: dict[str, RankedWeb] = {}

    def by_kind(self) -> list[list[Domain]]:
        """Hosts, stretches, subjects, blogs, universities."""
        found = (
            self.hosts(100, MANY),
            self.stretches(CNR, 7, (500, 1000, 2000, 3000, 4000, 6000), 12),
            self.subjects(80, MANY),
            self._labelled("polblogs-2004", "label", TOPIC),
            self._labelled(UNIVERSITIES, "univ", SITE),
        )
        return [list(kind) for kind in found]

    def further(self) -> list[Domain]:
        """More stretches, of three webs, and smaller subjects."""
        found = (
            self.stretches(CNR, 2026, (600, 1200, 2400, 4800), 12),
            self.subjects(45, 55),
            self.stretches("wb-cs-stanford-2001", 2026, (300, 500, 800), 6),
            self.stretches("hollins-2004", 2026, (300, 500, 800), 6),
        )
        return [domain for kind in found for domain in kind]

    def hosts(self, least: int, most: int) -> Iterator[Domain]:
        if self._data.has_graph(DOCS):
            yield from hosts_of(self._web(DOCS), least, most)

    def subjects(self, least: int, most: int) -> Iterator[Domain]:
        if self._data.has_subjects:
            for subject, pages in self._data.subjects.items():
                if least <= len(pages) <= most:
                    yield Domain(self._web(SCHOOLS), TOPIC, subject.split(".")[-1].replace("_", " "), np.array(pages))

    def stretches(self, name: str, rng: int, sizes: tuple[int, ...], n: int) -> Iterator[Domain]:
        if self._data.has_graph(name):
            web = self._web(name)
            draw = np.random.default_rng(rng)
            for k in range(n):
                size = sizes[k % len(sizes)]
                start = int(draw.integers(0, web.graph.n_pages - size))
                yield Domain(web, STRETCH, f"pages from {start}", np.arange(start, start + size))

    def _labelled(self, name: str, label: str, kind: str) -> Iterator[Domain]:
        if self._data.has_graph(name):
            labels = self._data.labels(name, label)
            for value in np.unique(labels):
                pages = np.flatnonzero(labels == value)
                if 100 <= len(pages) <= 0.6 * len(labels):
                    yield Domain(self._web(name), kind, f"{label} {value}", pages)

    def _web(self, name: str) -> RankedWeb:
        if name not in self._webs:
            self._webs[name] = RankedWeb.of(name, self._data.graph(name))
        return self._webs[name]


def hosts_of(web: RankedWeb, least: int, most: int) -> Iterator[Domain]:
    """The hosts with so many pages."""
    hosts = web.graph.hosts
    assert hosts is not None
    for host, size in enumerate(np.bincount(hosts)):
        if least <= size <= most:
            yield Domain(web, SITE, f"host {host}", np.flatnonzero(hosts == host))
