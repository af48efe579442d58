"""The report of a survey: how complete a set of pages is, and where its gaps are; and the survey of a known graph."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.coverage import Coverage
from orienteer.graph.defaults import SurveyGoal
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.proved import Certificate
from orienteer.graph.push import LinkRows
from orienteer.graph.survey.fixed_walks import FixedWalks, Gap, largest_gaps, last_pages
from orienteer.graph.survey.measured import Measured
from orienteer.graph.survey.survey import FixedSurvey
from orienteer.notebook import facts_html
from orienteer.pages.stop_reason import StopReason
from orienteer.progress import Progress, silent
from orienteer.url import host_of

N_GAPS = 5  # hosts, and folders, that are listed
_LIVES = 16  # walks that run concurrently on a graph

_NamesOf = Callable[[Sequence[int]], list[str]]


@dataclass(frozen=True)
class SurveyReport:
    """How complete the `n_pages` pages of a `source` are: measured, and proved.

    `least_half_width` is what no survey can measure, as it is blocked, or behind unknown links. `hosts` and `folders`
    have the most of the surfer's time outside, each with its own bounds; `urls` are their pages. `outcomes` are those
    of the pages fetched in this run.
    """

    source: str
    n_pages: int
    measured: Measured
    proved: Certificate
    least_half_width: float
    hosts: tuple[Gap, ...]
    folders: tuple[Gap, ...]
    urls: dict[int, str]
    goal: SurveyGoal
    stopped_because: StopReason
    seed: str
    outcomes: dict[str, int]
    elapsed_s: float

    @property
    def goal_reached(self) -> bool:
        return self.stopped_because is StopReason.PRECISE

    def as_dict(self, n: int = N_GAPS) -> dict[str, Any]:
        """Return the report as JSON, with n hosts and folders."""
        return {
            "source": self.source,
            "n_pages": self.n_pages,
            "measured": self.measured.as_dict() | {"half_width": self.measured.half_width},
            "proved": self.proved.as_dict(),
            "least_half_width": self.least_half_width,
            "hosts": [self._gap(gap) for gap in self.hosts[:n]],
            "folders": [self._gap(gap) for gap in self.folders[:n]],
            "goal": asdict(self.goal),
            "goal_reached": self.goal_reached,
            "stopped_because": str(self.stopped_because),
            "seed": self.seed,
            "outcomes": self.outcomes,
            "elapsed_s": self.elapsed_s,
        }

    def __repr__(self) -> str:
        return f"<SurveyReport: {self.measured}; stopped by {self.stopped_because}>"

    def _repr_html_(self) -> str:
        facts = [
            ("source", self.source),
            ("measured", str(self.measured).removeprefix("measured: ")),
            ("proved", self.proved),
            ("stopped by", self.stopped_because),
        ]
        gaps = [("missing most", f"{gap.name}: {100 * gap.share:.2f} % of the time") for gap in self.hosts]
        return facts_html("Survey of a crawl", [*facts, *gaps])

    def _gap(self, gap: Gap) -> dict[str, Any]:
        return gap.as_dict() | {"url": self.urls.get(gap.page)}


class Names(NamedTuple):
    """Functions from pages to their URLs, hosts and folders; None where these are not known."""

    urls: _NamesOf | None = None
    hosts: _NamesOf | None = None
    folders: _NamesOf | None = None

    @classmethod
    def of_urls(cls, urls: _NamesOf) -> Names:
        return cls(urls, lambda pages: list(map(host_of, urls(pages))), lambda pages: list(map(folder_of, urls(pages))))


def survey_report(
    walks: FixedWalks, names: Names, n_gaps: int, source: str, n_pages: int, outcomes: dict[str, int], began: float
) -> SurveyReport:
    """Report on walks that have ended, or were interrupted; gaps are listed as far as pages have names.

    `began` is the time when this run began (`time.monotonic`).
    """
    survey = walks.survey
    measured = replace(walks.conclude(), n_probes=walks.n_probes)
    hosts, folders = _gaps(survey, names.hosts, n_gaps), _gaps(survey, names.folders, n_gaps)
    pages = sorted({gap.page for gap in (*hosts, *folders)})
    urls = {} if names.urls is None else dict(zip(pages, names.urls(pages), strict=True))
    return SurveyReport(
        source=source,
        n_pages=n_pages,
        measured=measured,
        proved=survey.proved,
        least_half_width=survey.least_half_width,
        hosts=tuple(hosts),
        folders=tuple(folders),
        urls=urls,
        goal=walks.goal,
        stopped_because=walks.stopped_because or StopReason.INTERRUPTED,
        seed=survey.seed,
        outcomes=outcomes,
        elapsed_s=time.monotonic() - began,
    )


def _gaps(survey: FixedSurvey, names_of: _NamesOf | None, n: int) -> list[Gap]:
    if names_of is None:
        return []
    pages, places = np.unique(last_pages(survey), return_inverse=True)
    names = names_of(pages.tolist())
    return largest_gaps(survey, [names[place] for place in places.tolist()], n)


def folder_of(url: str) -> str:
    """Return the host and the first folder of the path; pages in no folder are at the host's top.

    >>> folder_of("http://example.org/docs/en/intro.html")
    'example.org/docs/'
    >>> folder_of("http://example.org/docs?page=2")
    'example.org/'
    """
    path = url.partition("://")[2].partition("/")[2].partition("?")[0].partition("#")[0]
    first, slash, _ = path.partition("/")
    return f"{host_of(url)}/{first}/" if slash else f"{host_of(url)}/"


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
    return survey_report(walks, _names(graph), n_gaps, source, int(fetched.sum()), {}, began)


def _names(graph: LinkGraph) -> Names:
    urls, hosts = graph.urls, graph.hosts
    if urls is not None:
        return Names.of_urls(lambda pages: [urls[page] for page in pages])
    if hosts is not None:
        return Names(hosts=lambda pages: [f"host {hosts[page]}" for page in pages])
    return Names()
