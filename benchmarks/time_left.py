"""The accuracy of forecasts of the time left: estimated over true, from a tenth of the crawl on.

Crawls with politeness are simulated in virtual time, from one seed, with 16 workers: one request at a time to a host
and a delay after each, and latencies that differ between hosts and requests. They are observed once a second at first.
Moments are evenly spaced in time from a tenth of the crawl to 97 %. *Forecast* is the share of them that have a
forecast; *within two* the share of these in which it is between half and twice the truth. Real webs are from the shared
data; without it, only generated ones are used.

The numbers of the estimate were chosen on the webs of the first rows. Those *held out* are other ones, which were not
used for that: generated with other shares of links and other random numbers, and other ranges of a national crawl, each
as one host.
"""

from __future__ import annotations

import heapq
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import machine, table
from benchmarks.sizes import DATA, sized
from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.crawl.politeness import Politeness
from orienteer.crawl.simulate import simulate
from orienteer.graph.hosts import with_hosts
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.graph.survey.crawl_survey import SurveyStart, survey_seed
from orienteer.graph.synthetic import synthetic_web
from orienteer.graph.trust import trust_vector
from orienteer.live.time_left import HostPace, Point, TimeForecast
from orienteer.policies import make_policy
from orienteer.policies.policy import TrustedPages

REAL = DATA / "graphs"
REAL_WEBS = (
    "docs-web-dev",
    "hollins-2004",
    "wb-cs-stanford-2001",
    "webkb-dev",
    "schools-wikipedia-articles",
    "wikispeedia",
)
GENERATED = sized(
    {"generated, 2,000": 2_000, "generated, 8,000": 8_000, "generated, 20,000": 20_000}, {"generated, 200": 200}
)
NATIONAL = "cnr-2000-nat"  # ids are in the order of URLs
NATIONAL_PAGES, NATIONAL_HELD_OUT = (100_000, 106_000), ((20_000, 28_000), (60_000, 64_000), (150_000, 160_000))
GOALS = {
    "98 % measured": Goal(0.98, confidence=0.999),
    "95 % proved": Goal(0.95),
    "98 % proved": Goal(0.98),
    "everything": Goal(),
    "at most 1,000 pages": Goal(budget=1_000),
    "at most 100,000 pages": Goal(budget=100_000),  # more than any of these webs has
}
DELAYS_S = (1.0, 0.1)
WORKERS, LATENCY_S = 16, 0.15
N_MOMENTS = 80
SHORTEST_S = 30.0  # shorter crawls are over before a forecast is needed


@dataclass(frozen=True)
class Estimated:
    """The forecasts of the time left at moments of a crawl, and the truth."""

    forecast_s: NDArray[np.float64]  # NaN: no forecast
    true_s: NDArray[np.float64]

    @property
    def within_two(self) -> float:
        """The share of good forecasts; NaN if there are none."""
        return float(np.mean(self.is_right[self.has_forecast])) if self.has_forecast.any() else math.nan

    @property
    def share_with_forecast(self) -> float:
        return float(np.mean(self.has_forecast))

    @property
    def has_forecast(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.forecast_s)

    @property
    def is_right(self) -> NDArray[np.bool_]:
        ratio = self.forecast_s / self.true_s
        return (ratio >= 0.5) & (ratio <= 2.0)

    @property
    def median(self) -> float:
        ratio = (self.forecast_s / self.true_s)[self.has_forecast]
        return float(np.median(ratio)) if len(ratio) else math.nan


@dataclass(frozen=True)
class History:
    """All observations of a crawl, to its end."""

    goal: Goal
    points: list[Point]
    end_s: float


class WatchedCrawl:
    """A crawl in virtual time, observed once a second, later less often."""

    def __init__(self, graph: LinkGraph, seed: int, goal: Goal, delay_s: float, rng: int) -> None:
        self._graph, self._goal, self._rng = graph, goal, np.random.default_rng(rng)
        assert graph.hosts is not None
        self._hosts = graph.hosts
        trusted = TrustedPages.of(trust_vector(graph.n_pages, [seed]))
        policy, politeness = make_policy("certified"), Politeness(delay_s=delay_s)
        self._crawl = Crawl(policy, trusted, goal, politeness, graph.hosts[trusted.pages])
        if goal.until is not None and goal.confidence is not None:
            start = SurveyStart(goal.until, goal.confidence, survey_seed(self._rng.bytes(16)), width=WORKERS)
            self._crawl.begin_survey(start)
        self._latency_s = LATENCY_S * self._rng.lognormal(0.0, 0.5, int(graph.hosts.max()) + 1)
        self._pace = HostPace()
        self.points: list[Point] = []

    def run(self) -> History:
        crawl, now, next_look = self._crawl, 0.0, 0.0
        in_flight: list[tuple[float, int]] = []
        while True:
            while len(in_flight) < WORKERS and (page := crawl.next(now)) is not None:
                took = float(self._latency_s[self._hosts[page]] * self._rng.lognormal(0.0, 0.3))
                heapq.heappush(in_flight, (now + took, page))
            if now >= next_look:
                self._look(now)
                next_look = now + max(1.0, now / 100)
            if in_flight:
                now, page = heapq.heappop(in_flight)
                links = self._graph.links(page)
                crawl.fetched(page, links, now, self._hosts[links])
            elif crawl.stopped_because is None and (later := crawl.frontier.next_time()) is not None:
                now = max(now, later)
            else:
                break
            if crawl.stopped_because is not None and not in_flight:
                break
        return History(self._goal, self.points, now)

    def _look(self, now: float) -> None:
        crawl, survey = self._crawl, self._crawl.survey
        proved = crawl.certificate(1e-4)
        measured = None if survey is None else survey.measured(proved)
        self.points.append(
            Point(
                now,
                crawl.n_requested,
                proved.lower,
                len(crawl.frontier),
                self._queue_s(now),
                n_walks=0 if measured is None else measured.n_walks,
                measured=0.0 if measured is None else measured.estimate,
                evidence=0.0 if survey is None else survey.progress,
            )
        )

    def _queue_s(self, now: float) -> float:
        frontier = self._crawl.frontier
        n_done = frontier.n_by_slot(np.asarray(self._crawl.order, np.int64))
        return self._pace.queue_s(now, n_done, frontier.n_waiting_by_slot())


def estimated(history: History) -> Estimated:
    """Replay a history; return the forecasts at evenly spaced moments."""
    forecast, forecasts = TimeForecast(), []
    for point in history.points:
        forecast.add(point)
        left = forecast.eta_s(history.goal)
        forecasts.append(math.nan if left is None else left)
    moments = np.linspace(0.1 * history.end_s, 0.97 * history.end_s, N_MOMENTS)
    places = np.searchsorted([point.time for point in history.points], moments, side="right") - 1
    return Estimated(np.array(forecasts)[places], history.end_s - moments)


def webs() -> Iterator[tuple[str, LinkGraph]]:
    for rng, (name, n_pages) in enumerate(GENERATED.items()):
        yield name, synthetic_web(n_pages, 12, rng=rng)
    yield "generated, 5,000, many links between hosts", synthetic_web(sized(5_000, 200), 23, inter_host=0.3, rng=101)
    yield "generated, 5,000, many dead ends", synthetic_web(sized(5_000, 200), 6, dangling=0.4, rng=102)
    yield "generated, 10,000, many links", synthetic_web(sized(10_000, 200), 60, inter_host=0.01, rng=103)
    yield from _real(REAL_WEBS)
    yield from _national(NATIONAL_PAGES)


def held_out() -> Iterator[tuple[str, LinkGraph]]:
    yield "generated, 3,000, few links", synthetic_web(sized(3_000, 200), 5, inter_host=0.2, rng=201)
    yield "generated, 4,000, half of them dead ends", synthetic_web(sized(4_000, 200), 15, dangling=0.5, rng=202)
    yield "generated, 7,000, dense", synthetic_web(sized(7_000, 200), 90, inter_host=0.02, rng=203)
    yield "generated, 12,000, links everywhere", synthetic_web(sized(12_000, 200), 30, inter_host=0.5, rng=204)
    yield from _national(*NATIONAL_HELD_OUT)


def _national(*ranges: tuple[int, int]) -> Iterator[tuple[str, LinkGraph]]:
    path = REAL / f"{NATIONAL}.npz"
    if path.exists():
        whole = LinkGraph.load(path)
        for first, end in ranges:
            yield f"{NATIONAL}, pages {first:,} to {end:,}", _one_host(_part(whole, first, end))


def _real(names: Sequence[str]) -> Iterator[tuple[str, LinkGraph]]:
    for name in names:
        path = REAL / f"{name}.npz"
        if path.exists():
            graph = LinkGraph.load(path)
            if graph.hosts is None and graph.urls is None:
                graph = _one_host(graph)
            yield name, graph if graph.hosts is not None else with_hosts(graph)


def _one_host(graph: LinkGraph) -> LinkGraph:
    return LinkGraph(graph.offsets, graph.targets, np.zeros(graph.n_pages, np.int32))


def _part(graph: LinkGraph, first: int, end: int) -> LinkGraph:
    """The pages from one to another, and the links between them."""
    sources = np.repeat(np.arange(first, end), graph.out_degrees()[first:end])
    targets = graph.targets[graph.offsets[first] : graph.offsets[end]].astype(np.int64)
    is_inside = (targets >= first) & (targets < end)
    return LinkGraph.from_links(end - first, sources[is_inside] - first, targets[is_inside] - first)


def _seed(graph: LinkGraph) -> int:
    """Of the pages of the highest rank the one that reaches the most."""
    best = np.argsort(-pagerank(graph), kind="stable")[:10].tolist()
    return int(max(best, key=lambda page: simulate(graph, "breadth-first", [page]).n_fetched))


def histories(webs: Iterable[tuple[str, LinkGraph]]) -> Iterator[tuple[str, str, History]]:
    """Yield the web, the goal and the history; very short crawls are left out."""
    for web, graph in webs:
        seed = _seed(graph)
        for goal_name, goal in GOALS.items():
            for rng, delay_s in enumerate(DELAYS_S):
                found = WatchedCrawl(graph, seed, goal, delay_s, rng).run()
                if found.end_s >= SHORTEST_S:
                    yield web, f"{goal_name}, {delay_s:g} s", found


def run() -> str:
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        chosen_on, others = ([one for many in pool.map(_on_web, of) for one in many] for of in (webs(), held_out()))
    by_goal = [[goal or "all of them", _mean(chosen_on, goal), _mean(others, goal)] for goal in (*GOALS, "")]
    within_two = "within two (forecast)"
    headings = ["goal and delay", "forecast", "within two", "median of forecast / true"]
    return "\n\n".join(
        [
            machine("numpy", "numba"),
            table(["goal", f"{within_two}, {len(chosen_on)} crawls", f"held out, {len(others)} crawls"], by_goal),
            table(["web", *headings], _rows(chosen_on)),
            table(["web held out", *headings], _rows(others)),
        ]
    )


def _on_web(web: tuple[str, LinkGraph]) -> list[tuple[str, str, Estimated]]:
    return [(name, goal, estimated(history)) for name, goal, history in histories([web])]


def _mean(found: list[tuple[str, str, Estimated]], goal: str) -> str:
    """Over all moments of crawls with this goal; in brackets the share of the moments that have a forecast."""
    ones = [one for _, name, one in found if name.startswith(goal)]
    if not ones:
        return "–"
    has_forecast = np.concatenate([one.has_forecast for one in ones])
    is_right = np.concatenate([one.is_right for one in ones])
    return f"{np.mean(is_right[has_forecast]):.0%} ({np.mean(has_forecast):.0%})"


def _rows(found: list[tuple[str, str, Estimated]]) -> list[list[str]]:
    return [
        [web, goal, f"{one.share_with_forecast:.0%}", _share(one.within_two), f"{one.median:.2f}"]
        for web, goal, one in found
    ]


def _share(share: float) -> str:
    return "–" if math.isnan(share) else f"{share:.0%}"
