"""Simulate a crawl of a known graph: what would be fetched, in which order, and when it could stop.

Without politeness the policy runs in bulk over the graph. With it, or with `step_by_step`, virtual time drives the same
Crawl that fetches real pages; without delays and with one worker both give the same order.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.crawl.trace import Trace
from orienteer.errors import InputError
from orienteer.frontier.politeness import ANY_TIME, Politeness
from orienteer.graph.coverage import Coverage
from orienteer.graph.defaults import POLICY
from orienteer.graph.link_graph import LinkGraph, expect_graph
from orienteer.graph.pagerank import crawl_trust
from orienteer.graph.push import LinkRows
from orienteer.graph.survey.crawl_survey import SurveyStart, survey_seed
from orienteer.graph.trust import Trust
from orienteer.pages.stop_reason import StopReason
from orienteer.policies import make_policy
from orienteer.policies.focused import FocusedPolicy, LabelledWeb, WebText, checked_partial_relevance
from orienteer.policies.policy import Policy, Run, TrustedPages
from orienteer.policies.policy_state import check_policy
from orienteer.progress import Progress, silent

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
