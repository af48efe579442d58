"""Compute the figures of a running crawl: for its panel, its metrics, its report and the status of its folder."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.graph.pagerank import pagerank
from orienteer.graph.survey.measured import Measured
from orienteer.inspect.figures import CrawlFigures, WorkerNow
from orienteer.inspect.frontier_top import TopWriter
from orienteer.ledger.intake import Intake
from orienteer.ledger.ledger import Ledger
from orienteer.live.live_crawl import LiveCrawl
from orienteer.live.time_left import HostPace, Point, TimeForecast
from orienteer.pages.states import PageState
from orienteer.pages.stop_reason import StopReason
from orienteer.store.progress_points import ProgressHistory, ProgressPoint
from orienteer.store.visits import named_visits
from orienteer.workers.worker import WorkerFigures

_CERTIFICATE_SHARE = 0.02  # of the time may be spent on certificates for display, ...
_SHARE = 0.01  # ... and this much on the other figures, some of which are O(pages)
_CERTIFICATE_EVERY_S = 0.5
_EVERY_S = 0.25
_RATES_OVER_S = 5.0  # of workers


class ProgressWatch:
    """Computes the figures of a crawl from time to time, and writes its history into the folder.

    `live` is the crawl that fetches from the web; None for an import.
    """

    def __init__(self, intake: Intake, live: LiveCrawl | None = None) -> None:
        self.intake, self._ledger, self._live = intake, intake.ledger, live
        self._started = time.monotonic()
        self._forecast, self._pace = TimeForecast(), HostPace()
        self._queue_s = 0.0
        self._certificate = self._ledger.crawl.certificate()
        self._n_on_topic = _n_on_topic(self._ledger)
        self._next_certificate = 0.0
        self._next_figures = 0.0
        self._history = ProgressHistory(self._ledger.folder.progress_path, self._ledger.position)
        self._history.add(self._point(0.0))
        self._top = TopWriter(self._ledger)
        self._worker_rates = WorkerRates()

    def is_due(self) -> bool:
        """Return whether it is time for new figures."""
        return time.monotonic() >= self._next_figures

    def update(self, exact: bool = False, why: StopReason | None = None) -> CrawlFigures:
        """Compute the figures and store them in the folder. The certificate may be some seconds old, unless `exact`.

        `why` is the reason why the crawl has ended, None while it runs.
        """
        ledger, live, now = self._ledger, self._live, time.monotonic()
        crawl = ledger.crawl
        is_refreshed = self._refresh_certificate(now, exact)
        started = time.monotonic()
        states = np.bincount(crawl.states(), minlength=len(PageState))
        n_redirects = crawl.n_aliases()
        n_known, n_hosts = ledger.n_in_scope()
        measured = None if crawl.survey is None else crawl.survey.measured(self._certificate)
        self._forecast.add(self._moment(now, measured))
        goal, rate = crawl.goal, self._forecast.pages_per_s
        final_eta_s = None if why is StopReason.INTERRUPTED else 0.0
        figures = CrawlFigures(
            epoch=ledger.epoch_number,
            position=ledger.position,
            n_done=crawl.n_requested,
            n_fetched=int(states[PageState.FETCHED]) - n_redirects,
            n_failed=int(states[PageState.FAILED]),
            n_skipped=int(states[PageState.SKIPPED]),
            n_blocked=int(states[PageState.BLOCKED]),
            n_known=n_known,
            n_frontier=len(crawl.frontier),
            n_in_flight=0 if live is None else live.n_in_flight,
            n_hosts=n_hosts,
            n_hosts_backing_off=0 if live is None else live.hosts.health.n_failing,
            n_hosts_abandoned=0 if live is None else live.hosts.health.n_abandoned,
            n_bytes=self.intake.n_bytes,
            pages_per_s=rate,
            elapsed_s=now - self._started,
            eta_s=self._forecast.eta_s(self._as_share_of_all(goal)) if why is None else final_eta_s,
            certificate=self._certificate,
            until=goal.until,
            budget=goal.budget,
            outcomes=dict(self.intake.outcomes.most_common()),
            visits=named_visits(ledger.page_store.counts),
            n_on_topic=self._n_on_topic,
            n_redirects=n_redirects,
            of_reachable=goal.of_reachable,
            goal_is_impossible=crawl.goal_is_impossible,
            measured=measured,
            evidence=None if crawl.survey is None else crawl.survey.progress,
            workers=() if live is None else tuple(self._worker_rates.now(live.pool.figures(), now)),
            n_workers_crashed=0 if live is None else live.pool.n_crashed,
            fetching=() if live is None or why is not None else live.fetching(now),
            n_assets=0 if live is None else live.assets.n_done,
            n_assets_failed=0 if live is None else live.assets.n_failed,
            n_assets_waiting=0 if live is None else live.assets.n_waiting + live.assets.n_in_flight,
            assets_bytes=0 if live is None else live.assets.n_bytes,
        )
        ledger.figures = figures.as_dict()
        self._next_figures = now + max(_EVERY_S, (time.monotonic() - started) / _SHARE)
        if is_refreshed:
            self._history.add(self._point(rate), is_last=exact)
        self._top.write_if_due(now, at_once=exact)
        return figures

    def _moment(self, now: float, measured: Measured | None) -> Point:
        crawl = self._ledger.crawl
        return Point(
            now,
            crawl.n_requested,
            self._certificate.lower,
            len(crawl.frontier),
            self._queue_s,
            n_walks=0 if measured is None else measured.n_walks,
            measured=0.0 if measured is None else measured.estimate,
            evidence=0.0 if crawl.survey is None else crawl.survey.progress,
        )

    def _as_share_of_all(self, goal: Goal) -> Goal:
        """Return the goal with a share of what is reachable converted into a share of everything."""
        if goal.until is None or not (goal.of_reachable or self._ledger.crawl.goal_is_impossible):
            return goal
        until = goal.until * (1.0 - self._certificate.blocked - self._certificate.unknown)
        return replace(goal, until=until if until > 0 else None)

    def _refresh_certificate(self, now: float, exact: bool) -> bool:
        """Compute a new certificate if it is time; return whether it is new."""
        if not exact and now < self._next_certificate:
            return False
        self._certificate = self._ledger.crawl.certificate(1e-9 if exact else 1e-4)
        self._n_on_topic = _n_on_topic(self._ledger)
        crawl = self._ledger.crawl
        n_done = crawl.frontier.n_by_slot(np.asarray(crawl.order, np.int64))
        self._queue_s = self._pace.queue_s(now, n_done, crawl.frontier.n_waiting_by_slot())
        took = time.monotonic() - now
        self._next_certificate = now + max(_CERTIFICATE_EVERY_S, took / _CERTIFICATE_SHARE)
        return True

    def _point(self, rate: float) -> ProgressPoint:
        """Return a point of the history; the certificate must be up to date."""
        ledger, proved = self._ledger, self._certificate
        survey = ledger.crawl.survey
        measured = None if survey is None else survey.measured(proved)
        return ProgressPoint(
            epoch=ledger.epoch_number,
            position=ledger.position,
            n_done=ledger.crawl.n_requested,
            lower=proved.lower,
            upper=min(max(proved.upper, proved.lower), 1.0),  # removes rounding errors
            blocked=proved.blocked,
            pages_per_s=round(rate, 3),
            time=round(time.time(), 3),
            n_on_topic=self._n_on_topic,
            measured=None if measured is None else round(measured.estimate, 6),
            claimed=None if survey is None or not survey.is_reached else survey.start.until,
        )


def dead_mass(crawl: Crawl) -> float:
    """Return the share of a surfer's time on pages without content (404, images), by the known links."""
    failed = np.isin(crawl.states(), (PageState.FAILED, PageState.SKIPPED))
    if not failed.any():
        return 0.0
    rank = pagerank(crawl.web.freeze(), crawl.trusted.vector(crawl.web.n_pages), crawl.coverage.damping)
    return float(rank[failed].sum())


def _n_on_topic(ledger: Ledger) -> int | None:
    reader = ledger.reader
    return None if reader is None else reader.n_on_topic


@dataclass(frozen=True)
class _Sample:
    time: float
    n_responses: int
    cpu_s: float


class WorkerRates:
    """Recent samples of the counters of workers."""

    def __init__(self) -> None:
        self._samples: dict[tuple[str, int], list[_Sample]] = {}

    def now(self, workers: list[WorkerFigures], time: float) -> list[WorkerNow]:
        """Return the rates at this time, in seconds of any clock."""
        known = {(worker.where, worker.process) for worker in workers}
        self._samples = {name: samples for name, samples in self._samples.items() if name in known}
        return [self._rated(worker, time) for worker in workers]

    def _rated(self, worker: WorkerFigures, time: float) -> WorkerNow:
        samples = self._samples.setdefault((worker.where, worker.process), [])
        samples.append(_Sample(time, worker.n_responses, worker.cpu_s))
        while len(samples) > 2 and samples[1].time <= time - _RATES_OVER_S:
            samples.pop(0)
        first, passed_s = samples[0], time - samples[0].time
        rate = (worker.n_responses - first.n_responses) / passed_s if passed_s > 0 else 0.0
        is_known = passed_s > 0 and worker.cpu_s > 0
        busy = min((worker.cpu_s - first.cpu_s) / passed_s, 1.0) if is_known else None
        return WorkerNow(*worker[:4], round(rate, 2), None if busy is None else round(busy, 3))
