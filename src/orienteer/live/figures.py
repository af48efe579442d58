"""A running crawl in figures: for the display, the metrics, the report and `status`."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.graph.pagerank import pagerank
from orienteer.graph.proved import Certificate
from orienteer.graph.survey.measured import Measured
from orienteer.inspect.fetching import Fetching
from orienteer.inspect.frontier_top import TopWriter
from orienteer.inspect.workers_in_words import WorkerNow
from orienteer.ledger.intake import Intake
from orienteer.ledger.ledger import Ledger
from orienteer.live.host_pace import HostPace
from orienteer.live.live_crawl import LiveCrawl
from orienteer.live.time_left import Outlook, Point
from orienteer.live.worker_rates import WorkerRates
from orienteer.pages.states import PageState
from orienteer.pages.stop_reason import StopReason
from orienteer.store.course import Course, CoursePoint
from orienteer.store.visits import named_visits

_CERTIFICATE_SHARE = 0.02  # of the time may go into certificates for display, ...
_SHARE = 0.01  # ... and this much into the other figures, some of which look at every page
_CERTIFICATE_EVERY_S = 0.5
_EVERY_S = 0.25


@dataclass(frozen=True)
class Figures:
    """Where a crawl stands.

    Counts are of the whole epoch (0 is the first crawl), rates of the last seconds; bytes, times and outcomes are of
    this run. `n_fetched` are pages with a content of their own; `n_redirects` are other names of pages (with duplicates
    that are merged). `n_skipped` are files of a type that nobody asked for. `n_done` is what a budget counts: the pages
    that a host was asked for, and that were fetched, failed, skipped, or refused by an answer. `visits` says what came
    of the pages in an epoch after the first (see VisitKind). `n_on_topic` is None where the crawl has no topic.
    `position` tells of which moment the figures are. `left_s` is how long it will take, as far as can be told: None
    while nobody can, 0 when the crawl is over. `of_reachable` says that `until` is of what is reachable,
    `goal_is_impossible` that it can never be proved: too much is out of reach. `measured` is what random walks say of
    the coverage; None before they have begun, or where nobody asked for them. `evidence` is how far they are: at 1 the
    goal is reached with the confidence that was asked for. `workers` are those who fetch and read; `n_workers_died`
    counts those that ended before their time in this run. `fetching` are URLs under way, the longest first, the first
    few of them. `n_parts` counts what pages are shown with (pictures, styles) in this run, `n_parts_failed` what of it
    failed, `parts_bytes` what came of it, and `n_parts_waiting` is still wanted.
    """

    epoch: int
    position: int
    n_done: int
    n_fetched: int
    n_failed: int
    n_skipped: int
    n_blocked: int
    n_known: int
    n_frontier: int
    n_under_way: int
    n_hosts: int
    n_hosts_resting: int
    n_hosts_given_up: int
    n_bytes: int
    pages_per_s: float
    elapsed_s: float
    left_s: float | None
    certificate: Certificate
    until: float | None
    budget: int | None
    outcomes: dict[str, int]
    visits: dict[str, int]
    n_on_topic: int | None = None
    n_redirects: int = 0
    of_reachable: bool = False
    goal_is_impossible: bool = False
    measured: Measured | None = None
    evidence: float | None = None
    workers: tuple[WorkerNow, ...] = ()
    fetching: tuple[Fetching, ...] = ()
    n_workers_died: int = 0
    n_parts: int = 0
    n_parts_failed: int = 0
    n_parts_waiting: int = 0
    parts_bytes: int = 0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {
            "certificate": self.certificate.as_dict(),
            "measured": None if self.measured is None else self.measured.as_dict(),
        }


class Watch:
    """Looks at a crawl now and then, and keeps its course in the folder.

    `live` is who asks the web; without, pages come from elsewhere.
    """

    def __init__(self, intake: Intake, live: LiveCrawl | None = None) -> None:
        self.intake, self._ledger, self._live = intake, intake.ledger, live
        self._started = time.monotonic()
        self._outlook, self._pace = Outlook(), HostPace()
        self._queue_s = 0.0
        self._certificate = self._ledger.crawl.certificate()
        self._n_on_topic = _n_on_topic(self._ledger)
        self._next_certificate = 0.0
        self._next_figures = 0.0
        self._course = Course(self._ledger.folder.course_path, self._ledger.position)
        self._course.add(self._point(0.0))
        self._top = TopWriter(self._ledger)
        self._worker_rates = WorkerRates()

    def is_due(self) -> bool:
        """Whether it is time for new figures."""
        return time.monotonic() >= self._next_figures

    def look(self, exact: bool = False, why: StopReason | None = None) -> Figures:
        """How it stands; that is also kept in the folder. The certificate may be some seconds old, unless `exact`.

        `why` is why the crawl has ended, if it has.
        """
        ledger, live, now = self._ledger, self._live, time.monotonic()
        crawl = ledger.crawl
        is_refreshed = self._refresh_certificate(now, exact)
        started = time.monotonic()
        states = np.bincount(crawl.states(), minlength=len(PageState))
        n_redirects = crawl.n_other_names()
        measured = None if crawl.survey is None else crawl.survey.measured(self._certificate)
        self._outlook.see(self._moment(now, measured))
        goal, rate = crawl.goal, self._outlook.pages_per_s
        over = None if why is StopReason.INTERRUPTED else 0.0
        figures = Figures(
            epoch=ledger.number,
            position=ledger.position,
            n_done=crawl.n_asked,
            n_fetched=int(states[PageState.FETCHED]) - n_redirects,
            n_failed=int(states[PageState.FAILED]),
            n_skipped=int(states[PageState.SKIPPED]),
            n_blocked=int(states[PageState.BLOCKED]),
            n_known=len(ledger.seen),
            n_frontier=len(crawl.frontier),
            n_under_way=0 if live is None else live.n_under_way,
            n_hosts=ledger.seen.n_hosts,
            n_hosts_resting=0 if live is None else live.health.n_failing,
            n_hosts_given_up=0 if live is None else live.health.n_given_up,
            n_bytes=self.intake.n_bytes,
            pages_per_s=rate,
            elapsed_s=now - self._started,
            left_s=self._outlook.left(self._attainable(goal)) if why is None else over,
            certificate=self._certificate,
            until=goal.until,
            budget=goal.budget,
            outcomes=dict(self.intake.outcomes.most_common()),
            visits=named_visits(ledger.library.counts),
            n_on_topic=self._n_on_topic,
            n_redirects=n_redirects,
            of_reachable=goal.of_reachable,
            goal_is_impossible=crawl.goal_is_impossible,
            measured=measured,
            evidence=None if crawl.survey is None else crawl.survey.progress,
            workers=() if live is None else tuple(self._worker_rates.now(live.crew.figures(), now)),
            n_workers_died=0 if live is None else live.crew.n_died,
            fetching=() if live is None or why is not None else live.under_way.longest(now),
            n_parts=0 if live is None else live.parts.n_done,
            n_parts_failed=0 if live is None else live.parts.n_failed,
            n_parts_waiting=0 if live is None else live.parts.n_waiting + live.parts.n_under_way,
            parts_bytes=0 if live is None else live.parts.n_bytes,
        )
        ledger.figures = figures.as_dict()
        self._next_figures = now + max(_EVERY_S, (time.monotonic() - started) / _SHARE)
        if is_refreshed:
            self._course.add(self._point(rate), is_last=exact)
        self._top.write_if_due(now, at_once=exact)
        return figures

    def _moment(self, now: float, measured: Measured | None) -> Point:
        crawl = self._ledger.crawl
        return Point(
            now,
            crawl.n_asked,
            self._certificate.lower,
            len(crawl.frontier),
            self._queue_s,
            n_walks=0 if measured is None else measured.n_walks,
            measured=0.0 if measured is None else measured.estimate,
            evidence=0.0 if crawl.survey is None else crawl.survey.progress,
        )

    def _attainable(self, goal: Goal) -> Goal:
        """The goal, as the coverage of everything that it comes to."""
        if goal.until is None or not (goal.of_reachable or self._ledger.crawl.goal_is_impossible):
            return goal
        until = goal.until * (1.0 - self._certificate.blocked - self._certificate.unknown)
        return replace(goal, until=until if until > 0 else None)

    def _refresh_certificate(self, now: float, exact: bool) -> bool:
        """Whether it is new."""
        if not exact and now < self._next_certificate:
            return False
        self._certificate = self._ledger.crawl.certificate(1e-9 if exact else 1e-4)
        self._n_on_topic = _n_on_topic(self._ledger)
        crawl = self._ledger.crawl
        n_done = crawl.frontier.n_by_turn(np.asarray(crawl.order, np.int64))
        self._queue_s = self._pace.queue_s(now, n_done, crawl.frontier.n_waiting_by_turn())
        took = time.monotonic() - now
        self._next_certificate = now + max(_CERTIFICATE_EVERY_S, took / _CERTIFICATE_SHARE)
        return True

    def _point(self, rate: float) -> CoursePoint:
        """Where the crawl stands, if the certificate is of this moment."""
        ledger, proved = self._ledger, self._certificate
        survey = ledger.crawl.survey
        measured = None if survey is None else survey.measured(proved)
        return CoursePoint(
            epoch=ledger.number,
            position=ledger.position,
            n_done=ledger.crawl.n_asked,
            lower=proved.lower,
            upper=min(max(proved.upper, proved.lower), 1.0),  # but for rounding it is
            blocked=proved.blocked,
            pages_per_s=round(rate, 3),
            time=round(time.time(), 3),
            n_on_topic=self._n_on_topic,
            measured=None if measured is None else round(measured.estimate, 6),
            claimed=None if survey is None or not survey.is_reached else survey.start.until,
        )


def dead_mass(crawl: Crawl) -> float:
    """The share of a surfer's time on pages without a content (404, images), by the links known now."""
    failed = np.isin(crawl.states(), (PageState.FAILED, PageState.SKIPPED))
    if not failed.any():
        return 0.0
    rank = pagerank(crawl.web.freeze(), crawl.trusted.vector(crawl.web.n_pages), crawl.coverage.damping)
    return float(rank[failed].sum())


def _n_on_topic(ledger: Ledger) -> int | None:
    reader = ledger.reader
    return None if reader is None else reader.n_on_topic
