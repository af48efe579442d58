"""The result of a simulation: the order of the fetches, and why each page has its position in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.coverage import Coverage
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.proved import Certificate, percent
from orienteer.graph.push import LinkRows
from orienteer.graph.survey.measured import Measured
from orienteer.notebook import data_frame, facts_html
from orienteer.pages.stop_reason import StopReason
from orienteer.policies.policy import TrustedPages

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Explanation:
    """Why a page has its position in the order.

    `position` is its index in the order of fetches, or None; `mass` the mass from known links when the crawl ended (or
    when it was fetched), `sources` the fetched pages that link to it with the share of mass each passes on.
    """

    page: int
    position: int | None
    trust: float
    mass: float
    frontier_position: int | None
    sources: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Trace:
    """The order of fetches and what was proved.

    There are two proofs. `proved` is the coverage when the crawl stopped, proved by its policy or by the certificate;
    None if the crawl computed neither. It may be a little less than `certificate`, which is computed afterwards from
    all links of the pages fetched, and is the best that they prove. `guarantee` is the better of both. `guarantees`
    (where the policy itself proves coverage) has a value after each page. `measured` is the estimate by random walks,
    where there was a survey. `times_s` are the virtual times of the fetches where time was simulated. `n_pushes` and
    `n_links_read` are the work of the certificate where the crawl computed it, else that of the policy.
    """

    policy: str
    order: NDArray[np.uint32]
    stopped_because: StopReason
    proved: float | None
    guarantees: NDArray[np.float64] | None = None
    times_s: NDArray[np.float64] | None = None
    n_pushes: int = 0
    n_links_read: int = 0
    graph: LinkGraph = field(repr=False, default=None)  # type: ignore[assignment]
    trusted: TrustedPages = field(repr=False, default=None)  # type: ignore[assignment]
    damping: float = 0.85
    measured: Measured | None = None

    @property
    def n_fetched(self) -> int:
        return len(self.order)

    @property
    def guarantee(self) -> float:
        """The coverage that is proved: the lower bound of the certificate, and never less than `proved`."""
        return max(self.certificate.lower, self.proved or 0.0)

    @cached_property
    def certificate(self) -> Certificate:
        """The bounds on the coverage of all pages fetched, whatever the policy."""
        coverage = self._coverage()
        links = self._links()
        coverage.fetch(self.order, links)
        coverage.settle(links)
        return coverage.certificate()

    def fetches_until(self, coverage: float) -> int | None:
        """Return how many of the fetches prove this coverage by the tight certificate; None if all do not."""
        return self._coverage().fetch(self.order, self._links(), coverage) or None

    def certificates(self, positions: NDArray[np.int64]) -> list[Certificate]:
        """Return the bounds after each of these numbers of fetches (increasing)."""
        coverage, links = self._coverage(), self._links()
        certificates, done = [], 0
        for position in positions.tolist():
            coverage.fetch(self.order[done:position], links)
            coverage.settle(links, 1e-6)
            certificates.append(coverage.certificate())
            done = position
        return certificates

    def explain(self, page: int) -> Explanation:
        """Explain why this page was fetched when it was, or has not been fetched yet."""
        if not 0 <= page < self.graph.n_pages:
            raise InputError(f"page {page} is not in the graph (pages are 0 to {self.graph.n_pages - 1})")
        at = np.flatnonzero(self.order == page)
        position = int(at[0]) if len(at) else None
        before = self.order if position is None else self.order[:position]
        coverage = self._coverage()
        links = self._links()
        coverage.fetch(before, links)
        coverage.settle(links)
        trust = dict(zip(self.trusted.pages.tolist(), self.trusted.trust.tolist(), strict=True)).get(page, 0.0)
        frontier_position = None
        if position is None and coverage.p[page] > 0:
            waiting = ~coverage.fetched
            ahead = waiting & (coverage.p > coverage.p[page])
            ties = waiting[:page] & (coverage.p[:page] == coverage.p[page])
            frontier_position = int(ahead.sum() + ties.sum())
        sources = self._sources(page, before, trust)
        return Explanation(page, position, trust, float(coverage.p[page]), frontier_position, sources)

    def as_dict(self) -> dict[str, NDArray[Any] | list[str]]:
        """Return one row per fetch, in order, as columns: `page`, and `url`, `guarantee`, `time_s` where known."""
        urls = None if self.graph.urls is None else [self.graph.urls[page] for page in self.order.tolist()]
        known: dict[str, Any] = {"url": urls, "guarantee": self.guarantees, "time_s": self.times_s}
        return {"page": self.order} | {name: values for name, values in known.items() if values is not None}

    def to_pandas(self) -> pandas.DataFrame:
        """Return the same as a data frame; its index is the position in the order."""
        return data_frame(self.as_dict())

    def _sources(self, page: int, fetched: NDArray[np.uint32], trust: float) -> tuple[tuple[int, float], ...]:
        """Return the fetched pages that link to `page`, with the share of the page's mass that each passed on."""
        linking = np.intersect1d(self.graph.reverse().links(page), fetched)
        if len(linking) == 0:
            return ()
        # With x the rank within the fetched part, the page's mass is trust + sum of d x_i / c_i.
        given = self.damping * self._rank_within(fetched)[linking] / self.graph.out_degrees()[linking]
        total = float(given.sum()) + trust
        best_first = np.lexsort((linking, -given))
        return tuple((int(linking[k]), float(given[k] / total)) for k in best_first)

    def _rank_within(self, fetched: NDArray[np.uint32]) -> NDArray[np.float64]:
        """Unnormalised rank of the fetched pages when only their links are known (unfetched pages lead nowhere)."""
        from orienteer.graph.pagerank import pagerank

        inside = np.zeros(self.graph.n_pages, np.bool_)
        inside[fetched] = True
        known = self.graph.only_links_of(inside)
        rank = pagerank(known, self.trusted.vector(self.graph.n_pages), self.damping, 1e-9)
        # pagerank returns the mass of dangling pages to trust; undo that scaling to get x = d W x + t.
        on_dangling = float(rank[known.out_degrees() == 0].sum())
        return rank / (1 - self.damping + self.damping * on_dangling)

    def _coverage(self) -> Coverage:
        return Coverage(self.trusted.vector(self.graph.n_pages), self.damping)

    def _links(self) -> LinkRows:
        return LinkRows.of(self.graph)

    def __repr__(self) -> str:
        proved = "" if self.proved is None else f"{self.proved:.4f} proved, "
        proved += "" if self.measured is None else f"{self.measured}, "
        return f"<Trace of {self.policy}: {self.n_fetched:,} pages fetched, {proved}stopped by {self.stopped_because}>"

    def _repr_html_(self) -> str:
        facts = [
            ("policy", self.policy),
            ("pages fetched", self.n_fetched),
            ("proved", "" if self.proved is None else percent(self.proved)),
            ("measured", "" if self.measured is None else str(self.measured).removeprefix("measured: ")),
            ("stopped by", self.stopped_because),
        ]
        return facts_html("Trace", facts)
