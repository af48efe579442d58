"""What the floor on pushes saves: pushes and CPU time of `certified` with and without it, and whether it costs fetches.

Trusted are the 160 pages of the highest PageRank, and of the web of 10 million pages those with the most in-links.
Coverages are proved by the tight certificate. The work is that of the policy alone, in a crawl of all pages that can be
reached; without a floor that would take too long on the largest webs. CPU times are the least of three rounds, in which
both take turns.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple
from unittest import mock

import numpy as np

from benchmarks.measure import machine, table
from benchmarks.sizes import DATA, sized
from experiments.webs import web_folder
from orienteer.crawl.simulate import simulate
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.graph.push import LINKS, PUSHES
from orienteer.graph.synthetic import synthetic_web
from orienteer.policies.policy import TrustedPages
from orienteer.policies.pushing import Certified

SMALL, LARGE = sized((20_000, 10_000_000), (300, 1_000))
LEVELS = (0.9, 0.98, 0.99, 0.999, 0.9999)
FLOORS = (0.0, Certified.floor)
REAL = DATA / "graphs"


class Case(NamedTuple):
    name: str
    web: LinkGraph
    trusted: np.ndarray
    levels: tuple[float, ...]
    is_whole: bool


class Work(NamedTuple):
    cpu_s: float
    n_fetches: int
    n_pushes: int
    n_links: int


def cases() -> Iterator[Case]:
    small = {path.stem: LinkGraph.load(path) for path in sorted(REAL.glob("*.npz"))}
    for name, web in (*small.items(), (f"generated, {SMALL:,} pages", synthetic_web(SMALL))):
        yield Case(name, web, np.argsort(-pagerank(web), kind="stable")[:160], LEVELS, web.n_pages < 100_000)
    large = LinkGraph.load(web_folder(LARGE))
    popular = np.argsort(-large.in_degrees(), kind="stable")[:160]
    yield Case(f"generated, {LARGE:,} pages", large, popular, LEVELS[:3], False)


def fetches(case: Case, floor: float) -> list[int]:
    with mock.patch.object(Certified, "floor", floor):
        trace = simulate(case.web, "certified", case.trusted, until=case.levels[-1])
    return [trace.fetches_until(level) or 0 for level in case.levels[:-1]] + [trace.n_fetched]


def work(case: Case, floor: float) -> Work:
    trust = np.zeros(case.web.n_pages)
    trust[case.trusted] = 1 / len(case.trusted)
    with mock.patch.object(Certified, "floor", floor):
        run = Certified().run(case.web, TrustedPages.of(trust))
        began = time.process_time()
        run.advance(case.web.n_pages, 2.0)
        return Work(time.process_time() - began, run.n_fetched, int(run.work[PUSHES]), int(run.work[LINKS]))


def row(case: Case) -> list[str]:
    before, after = (fetches(case, floor) for floor in FLOORS)
    counts = [f"{a:,}" if a == b else f"{b:,} -> {a:,}" for b, a in zip(before, after, strict=True)]
    counts += [""] * (len(LEVELS) - len(counts))
    print(case.name, *counts, flush=True)
    if not case.is_whole:
        return [case.name, *counts, "", "", "", "", ""]
    rounds = [[work(case, floor) for floor in FLOORS] for _ in range(3)]
    old, new = (min(one[k] for one in rounds) for k in range(2))
    pushes = [f"{one.n_pushes / one.n_fetches:.1f}" for one in (old, new)]
    return [case.name, *counts, f"{new.n_fetches:,}", *pushes, f"{old.n_links / new.n_links:.1f}",
            f"{old.cpu_s / new.cpu_s:.1f}"]  # fmt: skip


def run() -> str:
    headings = ["fetches until", *map(str, LEVELS), "all", "pushes a page, without", "with",
                "links read, without / with", "CPU time, without / with"]  # fmt: skip
    about = "One number of fetches: the floor makes no difference."
    return f"{machine('numpy', 'numba')}. {about}\n\n{table(headings, [row(case) for case in cases()])}"
