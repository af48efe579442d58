"""Simulate a crawl of a known graph: what would be fetched, in which order, and when it could stop.

Without politeness the policy runs in bulk over the graph. With it, or with `step_by_step`, virtual time drives the same
Crawl that fetches real pages; without delays and with one worker both give the same order.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.crawl.politeness import ANY_TIME, Politeness
from orienteer.errors import InputError
from orienteer.graph.coverage import Coverage
from orienteer.graph.defaults import POLICY
from orienteer.graph.link_graph import LinkGraph, expect_graph
from orienteer.graph.pagerank import crawl_trust
from orienteer.graph.proved import Certificate, percent
from orienteer.graph.push import LinkRows
from orienteer.graph.survey.crawl_survey import SurveyStart, survey_seed
from orienteer.graph.survey.measured import Measured
from orienteer.graph.trust import Trust
from orienteer.notebook import data_frame, facts_html
from orienteer.pages.stop_reason import StopReason
from orienteer.policies import make_policy
from orienteer.policies.focused import FocusedPolicy, LabelledWeb, WebText, checked_partial_relevance
from orienteer.policies.policy import Policy, Run, TrustedPages
from orienteer.policies.policy_state import check_policy
from orienteer.progress import Progress, silent

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


_FIRST_STRETCH = 500

Latency = Callable[[int, np.random.Generator], float]


def simulate(
    graph: LinkGraph,
    policy: str | Policy = POLICY,
    trust: Trust = None,
    until: float | None = None,
    budget: int | None = None,
    confidence: float | None = None,
    *,
    by_certificate: bool = False,
    step_by_step: bool = False,
    workers: int = 1,
    politeness: Politeness | None = None,
    latency_s: float | Latency = 0.0,
    rng: int | np.random.Generator | None = None,
    relevance: ArrayLike | None = None,
    text: WebText | None = None,
    progress: Progress = silent,
    **policy_settings: Any,
) -> Trace:
    """Crawl `graph` from its trusted pages until a coverage is proved, a budget spent, or nothing is left.

    Without `trust` the 160 pages of the highest PageRank are trusted equally, as by `orienteer simulate`; with a weight
    of 1 for every page the crawl starts everywhere.
    With `until`, a policy that proves coverage stops by its own guarantee (or `by_certificate`), any other by the
    certificate. With a `confidence` the coverage is measured as well, by random walks whose pages are part of the
    order, and the crawl stops at the first of the two. `politeness` with `workers` and `latency_s` (seconds, or a
    function of page and rng) simulates time. A focused policy gets the `relevance` (in [0, 1], one number per page, or
    NaN for none) and the `text` of the pages it has fetched. `rng` is a NumPy generator or a seed for one; without it,
    the numbers are the same every time.

    >>> from orienteer.graph import shapes
    >>> simulate(shapes.star(5), "rankmass", trust=[0], budget=3).order.tolist()
    [0, 1, 2]
    """
    expect_graph(graph)
    chosen = policy if isinstance(policy, Policy) else make_policy(policy, **policy_settings)
    goal = Goal(until, budget, by_certificate, confidence=confidence)
    trusted = TrustedPages.of(crawl_trust(graph, trust, progress))
    labelled = LabelledWeb(
        graph, None if relevance is None else checked_partial_relevance(graph.n_pages, relevance), text
    )
    if workers < 1:
        raise InputError(f"workers is {workers}; a crawl needs at least one")
    if politeness is not None and politeness.per_host and graph.hosts is None:
        raise InputError("politeness needs hosts, and this graph has none (see LinkGraph.hosts)")
    is_measured = confidence is not None and goal.until is not None
    if step_by_step or is_measured or politeness is not None or workers > 1 or latency_s:
        waits = latency_s if callable(latency_s) else (lambda page, generator: latency_s)
        return _stepped(
            labelled,
            chosen,
            trusted,
            goal,
            politeness or ANY_TIME,
            workers,
            waits,
            np.random.default_rng(0 if rng is None else rng),
            progress,
        )
    return _in_bulk(labelled, chosen, trusted, goal, progress)


def _in_bulk(web: LabelledWeb, policy: Policy, trusted: TrustedPages, goal: Goal, progress: Progress) -> Trace:
    graph = web.graph
    if not policy.knows_truth:  # those are for simulation only, and never stored
        check_policy(policy)
    run = policy.run_on(web, trusted) if isinstance(policy, FocusedPolicy) else policy.run(graph, trusted)
    limit = min(goal.budget or graph.n_pages, graph.n_pages)
    believes_policy = policy.proves and not goal.by_certificate
    coverage = None
    if goal.until is not None and not believes_policy:
        coverage = Coverage(trusted.vector(graph.n_pages), policy.damping)
    why = _drive(run, limit, goal.until, coverage, graph, progress)
    return _trace(run, why, policy, coverage, graph, trusted)


def _drive(
    run: Run, limit: int, until: float | None, coverage: Coverage | None, graph: LinkGraph, progress: Progress
) -> StopReason:
    """Advance in growing stretches; cut the order where the coverage suffices. Return why it stopped."""
    links = LinkRows.of(graph)
    own_target = until if until is not None and coverage is None else 2.0
    done, stretch = 0, _FIRST_STRETCH
    while True:
        run.advance(min(done + stretch, limit), own_target)
        if coverage is not None and until is not None:
            sufficed = coverage.fetch(run.order[done : run.n_fetched], links, until)
            if sufficed:
                run.n_fetched = done + sufficed
                return StopReason.COVERAGE
        elif run.guarantee >= own_target:
            return StopReason.COVERAGE
        if run.is_empty:
            return StopReason.FRONTIER_EMPTY
        if run.n_fetched >= limit:
            return StopReason.BUDGET if limit < graph.n_pages else StopReason.FRONTIER_EMPTY
        done = run.n_fetched
        stretch = max(_FIRST_STRETCH, done // 4)  # what is fetched past the page that suffices is wasted work
        progress("fetching", done, limit)


def _trace(
    run: Run, why: StopReason, policy: Policy, coverage: Coverage | None, graph: LinkGraph, trusted: TrustedPages
) -> Trace:
    work = getattr(run, "work", np.zeros(2, np.int64)) if coverage is None else coverage.work
    if coverage is not None:
        proved: float | None = coverage.certificate().lower
    else:
        proved = run.guarantee if policy.proves else None
    return Trace(
        policy=policy.name,
        order=run.order[: run.n_fetched].copy() if run.n_fetched < len(run.order) // 2 else run.order[: run.n_fetched],
        stopped_because=why,
        proved=proved,
        guarantees=None if run.guarantees is None else run.guarantees[: run.n_fetched],
        n_pushes=int(work[0]),
        n_links_read=int(work[1]),
        graph=graph,
        trusted=trusted,
        damping=policy.damping,
    )


def _stepped(
    web: LabelledWeb,
    policy: Policy,
    trusted: TrustedPages,
    goal: Goal,
    politeness: Politeness,
    workers: int,
    latency: Latency,
    generator: np.random.Generator,
    progress: Progress,
) -> Trace:
    """Drive a Crawl with virtual time: up to `workers` fetches are in flight at once."""
    graph = web.graph
    if policy.knows_truth:
        policy.learn_truth(graph, trusted)  # type: ignore[attr-defined]
    hosts = graph.hosts
    crawl = Crawl(policy, trusted, goal, politeness, None if hosts is None else hosts[trusted.pages])
    if goal.until is not None and goal.confidence is not None:
        crawl.begin_survey(SurveyStart(goal.until, goal.confidence, survey_seed(generator.bytes(16)), width=workers))
    now = 0.0
    in_flight: list[tuple[float, int, int]] = []  # (when it is back, running number, page)
    times: list[float] = []
    n_started = 0
    while True:
        while len(in_flight) < workers and (page := crawl.next(now)) is not None:
            heapq.heappush(in_flight, (now + max(0.0, latency(page, generator)), n_started, page))
            n_started += 1
        if in_flight:
            now, _, page = heapq.heappop(in_flight)
            links = graph.links(page)
            crawl.fetched(page, links, now, None if hosts is None else hosts[links], about=web.about(page))
            times.append(now)
            if len(times) % 1000 == 0:
                progress("fetching", len(times), goal.budget or graph.n_pages)
        elif crawl.stopped_because is None and (later := crawl.frontier.next_time()) is not None:
            now = max(now, later)
        else:
            break
        if crawl.stopped_because is not None and not in_flight:
            break
    coverage, proved = crawl.coverage, crawl.guarantee
    return Trace(
        policy=policy.name,
        order=np.array(crawl.order, np.uint32),
        stopped_because=crawl.stopped_because or StopReason.FRONTIER_EMPTY,
        proved=proved,
        measured=None if crawl.survey is None else crawl.survey.measured(crawl.certificate()),
        times_s=np.array(times),
        n_pushes=coverage.n_pushes,
        n_links_read=coverage.n_links_read,
        graph=graph,
        trusted=trusted,
        damping=policy.damping,
    )
