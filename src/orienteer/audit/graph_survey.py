"""The survey of some pages of a known graph: nothing is fetched."""

from __future__ import annotations

import secrets
import time

import numpy as np
from numpy.typing import NDArray

from orienteer.audit.survey_report import N_GAPS, Names, SurveyReport, SurveyRun, survey_report
from orienteer.errors import InputError
from orienteer.graph.coverage import Coverage
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.push import LinkRows
from orienteer.graph.survey.fixed_walks import FixedWalks, SurveyGoal
from orienteer.graph.survey.survey import FixedSurvey
from orienteer.progress import Progress, silent

_LIVES = 16  # walks that run concurrently


def graph_survey(
    graph: LinkGraph,
    fetched: NDArray[np.bool_],
    trust: NDArray[np.float64],
    goal: SurveyGoal,
    damping: float = 0.85,
    *,
    rng: int | None = None,
    source: str = "graph",
    n_gaps: int = N_GAPS,
    progress: Progress = silent,
) -> SurveyReport:
    """Measure how complete the fetched pages are; the same `rng` gives the same walks."""
    if not fetched.any():
        raise InputError(f"{source}: no page was fetched, so there is nothing to measure")
    began = time.monotonic()
    links = LinkRows.of(graph)
    coverage = Coverage(trust, damping)
    coverage.fetch(np.flatnonzero(fetched).astype(np.uint32), links)
    seed = secrets.token_hex(16) if rng is None else np.random.default_rng(rng).bytes(16).hex()
    walks = FixedWalks(FixedSurvey(coverage, links, seed, goal.confidence), goal, _LIVES)
    while walks.stopped_because is None:
        for page, _ in walks.advance(links):
            walks.record_page(page, True, links)
        progress("walking", walks.n_probes, goal.budget or 0)
    run = SurveyRun(source, int(fetched.sum()), time.monotonic() - began, {})
    return survey_report(walks, run, _names(graph), n_gaps)


def _names(graph: LinkGraph) -> Names:
    urls, hosts = graph.urls, graph.hosts
    if urls is not None:
        return Names.of_urls(lambda pages: [urls[page] for page in pages])
    if hosts is not None:
        return Names(hosts=lambda pages: [f"host {hosts[page]}" for page in pages])
    return Names()
