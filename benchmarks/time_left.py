"""How right crawls are about the time they will take: estimated over true, from a tenth of the crawl on.

Crawls with politeness are simulated in virtual time, from one seed, with 16 workers: one request at a time to a host
and a delay after each, and latencies that differ between hosts and requests. One looks at them once a second at first.
*Within two* is the share of the moments, evenly spaced in time from a tenth of the crawl to 97 %, in which the estimate
is between half and twice the truth; *silent* those in which nothing is said, which count as wrong. Real webs are from
the shared data; where that is not at hand, generated ones have to do.

The numbers of the estimate were chosen on the webs of the first rows. Those *held out* are other ones, which nobody has
looked at for that: generated with other shares of links and other random numbers, and real webs of other kinds (the
neighbourhoods of search results, a graph of hosts, a part of a national crawl that counts as one host).
"""

from __future__ import annotations

import heapq
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import machine, table
from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.crawl.simulate import simulate
from orienteer.frontier.politeness import Politeness
from orienteer.graph.hosts import with_hosts
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.graph.survey.crawl_survey import SurveyStart
from orienteer.graph.synthetic import synthetic_web
from orienteer.graph.trust import trust_vector
from orienteer.live.host_pace import HostPace
from orienteer.live.time_left import Outlook, Point
from orienteer.policies import make_policy
from orienteer.policies.policy import TrustedPages

REAL = Path(__file__).parents[2] / "shared" / "data" / "graphs"
REAL_WEBS = (
    "docs-web-dev",
    "hollins-2004",
    "wb-cs-stanford-2001",
    "webkb-dev",
    "schools-wikipedia-articles",
    "wikispeedia",
)
GENERATED = {"generated, 2,000": 2_000, "generated, 8,000": 8_000, "generated, 20,000": 20_000}
HELD_OUT_WEBS = ("epa-kleinberg", "tsaparas-movies", "tsaparas-cars", "ukwa-hosts-1996")
NATIONAL, NATIONAL_PAGES = "cnr-2000-nat", (100_000, 106_000)  # ids are in the order of URLs
GOALS = {
    "98 % measured": Goal(0.98, confidence=0.999),
    "95 % proved": Goal(0.95),
    "98 % proved": Goal(0.98),
    "everything": Goal(),
}
DELAYS_S = (1.0, 0.1)
WORKERS, LATENCY_S = 16, 0.15
N_MOMENTS = 80
SHORTEST_S = 30.0  # shorter crawls are over before anybody asks


@dataclass(frozen=True)
class Estimated:
    """What was said of the time left in moments of a crawl, and what was true."""

    said_s: NDArray[np.float64]  # NaN: nothing was
    true_s: NDArray[np.float64]

    @property
    def within_two(self) -> float:
        ratio = self.said_s / self.true_s
        return float(np.mean((ratio >= 0.5) & (ratio <= 2.0)))

    @property
    def silent(self) -> float:
        return float(np.mean(np.isnan(self.said_s)))

    @property
    def median(self) -> float:
        return float(np.nanmedian(self.said_s / self.true_s))


@dataclass(frozen=True)
class Course:
    """A crawl as it was seen, to the end."""

    goal: Goal
    points: list[Point]
    end_s: float


class WatchedCrawl:
    """A crawl in virtual time, looked at once a second, later less often."""

    def __init__(self, graph: LinkGraph, seed: int, goal: Goal, delay_s: float, rng: int) -> None:
        self._graph, self._goal, self._rng = graph, goal, np.random.default_rng(rng)
        assert graph.hosts is not None
        self._hosts = graph.hosts
        trusted = TrustedPages.of(trust_vector(graph.n_pages, [seed]))
        policy, politeness = make_policy("certified"), Politeness(delay_s=delay_s)
        self._crawl = Crawl(policy, trusted, goal, politeness, graph.hosts[trusted.pages])
        if goal.until is not None and goal.confidence is not None:
            start = SurveyStart(goal.until, goal.confidence, self._rng.bytes(16).hex(), width=WORKERS)
            self._crawl.begin_survey(start)
        self._latency_s = LATENCY_S * self._rng.lognormal(0.0, 0.5, int(graph.hosts.max()) + 1)
        self._pace = HostPace()
        self.points: list[Point] = []

    def run(self) -> Course:
        crawl, now, next_look = self._crawl, 0.0, 0.0
        under_way: list[tuple[float, int]] = []
        while True:
            while len(under_way) < WORKERS and (page := crawl.next(now)) is not None:
                took = float(self._latency_s[self._hosts[page]] * self._rng.lognormal(0.0, 0.3))
                heapq.heappush(under_way, (now + took, page))
            if now >= next_look:
                self._look(now)
                next_look = now + max(1.0, now / 100)
            if under_way:
                now, page = heapq.heappop(under_way)
                links = self._graph.links(page)
                crawl.fetched(page, links, now, self._hosts[links])
            elif crawl.stopped_because is None and (later := crawl.frontier.next_time()) is not None:
                now = max(now, later)
            else:
                break
            if crawl.stopped_because is not None and not under_way:
                break
        return Course(self._goal, self.points, now)

    def _look(self, now: float) -> None:
        crawl, survey = self._crawl, self._crawl.survey
        proved = crawl.certificate(1e-4)
        measured = None if survey is None else survey.measured(proved)
        self.points.append(
            Point(
                now,
                crawl.n_asked,
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
        n_done = frontier.n_by_turn(np.asarray(self._crawl.order, np.int64))
        return self._pace.queue_s(now, n_done, frontier.n_waiting_by_turn())


def estimated(course: Course) -> Estimated:
    """What is said when the course is seen again, from its beginning on."""
    outlook, said = Outlook(), []
    for point in course.points:
        outlook.see(point)
        left = outlook.left(course.goal)
        said.append(math.nan if left is None else left)
    moments = np.linspace(0.1 * course.end_s, 0.97 * course.end_s, N_MOMENTS)
    places = np.searchsorted([point.time for point in course.points], moments, side="right") - 1
    return Estimated(np.array(said)[places], course.end_s - moments)


def webs() -> Iterator[tuple[str, LinkGraph]]:
    for rng, (name, n_pages) in enumerate(GENERATED.items()):
        yield name, synthetic_web(n_pages, 12, rng=rng)
    yield from _real(REAL_WEBS)


def held_out() -> Iterator[tuple[str, LinkGraph]]:
    yield "generated, 5,000, many links elsewhere", synthetic_web(5_000, 23, inter_host=0.3, rng=101)
    yield "generated, 5,000, many dead ends", synthetic_web(5_000, 6, dangling=0.4, rng=102)
    yield "generated, 10,000, many links", synthetic_web(10_000, 60, inter_host=0.01, rng=103)
    yield from _real(HELD_OUT_WEBS)
    path = REAL / f"{NATIONAL}.npz"
    if path.exists():
        first, end = NATIONAL_PAGES
        yield f"{NATIONAL}, {end - first:,} pages", _one_host(_part(LinkGraph.load(path), first, end))


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


def courses(webs: Iterable[tuple[str, LinkGraph]]) -> Iterator[tuple[str, str, Course]]:
    """The web, the goal, and the course; crawls that are over in no time are left out."""
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
    headings = ["goal and delay", "within two", "silent", "median of said / true"]
    return "\n\n".join(
        [
            machine("numpy", "numba"),
            table(["goal", f"within two, {len(chosen_on)} crawls", f"held out, {len(others)} crawls"], by_goal),
            table(["web", *headings], _rows(chosen_on)),
            table(["web held out", *headings], _rows(others)),
        ]
    )


def _on_web(web: tuple[str, LinkGraph]) -> list[tuple[str, str, Estimated]]:
    return [(name, goal, estimated(course)) for name, goal, course in courses([web])]


def _mean(found: list[tuple[str, str, Estimated]], goal: str) -> str:
    return f"{np.mean([one.within_two for _, name, one in found if name.startswith(goal)]):.0%}"


def _rows(found: list[tuple[str, str, Estimated]]) -> list[list[str]]:
    return [[web, goal, f"{one.within_two:.0%}", f"{one.silent:.0%}", f"{one.median:.2f}"] for web, goal, one in found]
