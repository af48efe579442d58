"""What the floor on pushes saves: pushes and CPU time of `certified` with and without it, and whether it costs fetches.

Trusted are the 160 pages of the highest PageRank, and of the web of 10 million pages those with the most in-links. A
crawl ends when the last of the coverages is proved by the tight certificate; all work is that of the policy alone. CPU
times are the least of several rounds, in which both take turns.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np

from benchmarks.measure import machine, table
from experiments.webs import web_folder
from orienteer.crawl.simulate import simulate
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.graph.push import LINKS, PUSHES
from orienteer.graph.synthetic import synthetic_web
from orienteer.policies.policy import TrustedPages
from orienteer.policies.pushing import Certified

LEVELS = (0.9, 0.98, 0.99, 0.999, 0.9999)
FLOORS = (0.0, Certified.floor)
REAL = Path(__file__).parents[2] / "shared" / "data" / "graphs"


class Case(NamedTuple):
    name: str
    web: LinkGraph
    trusted: np.ndarray
    levels: tuple[float, ...]
    rounds: int


class Work(NamedTuple):
    cpu_s: float
    n_pushes: int
    n_links: int


def cases() -> list[Case]:
    small = {path.stem: LinkGraph.load(path) for path in sorted(REAL.glob("*.npz"))}
    small |= {f"generated, {n:,} pages": synthetic_web(n) for n in (20_000, 200_000)}
    found = [Case(name, web, np.argsort(-pagerank(web), kind="stable")[:160], LEVELS, 3) for name, web in small.items()]
    large = LinkGraph.load(web_folder(10_000_000))
    popular = np.argsort(-large.in_degrees(), kind="stable")[:160]
    return [*found, Case("generated, 10,000,000 pages", large, popular, LEVELS[:3], 1)]


def fetches(case: Case, floor: float) -> list[int]:
    with mock.patch.object(Certified, "floor", floor):
        trace = simulate(case.web, "certified", case.trusted, until=case.levels[-1])
    return [trace.fetches_until(level) or 0 for level in case.levels[:-1]] + [trace.n_fetched]


def work(case: Case, floor: float, n_fetches: int) -> Work:
    trust = np.zeros(case.web.n_pages)
    trust[case.trusted] = 1 / len(case.trusted)
    with mock.patch.object(Certified, "floor", floor):
        run = Certified().run(case.web, TrustedPages.of(trust))
        began = time.process_time()
        run.advance(n_fetches, 2.0)
        return Work(time.process_time() - began, int(run.work[PUSHES]), int(run.work[LINKS]))


def row(case: Case) -> list[str]:
    before, after = (fetches(case, floor) for floor in FLOORS)
    rounds = [[work(case, floor, counts[-1]) for floor, counts in zip(FLOORS, (before, after), strict=True)]
              for _ in range(case.rounds)]  # fmt: skip
    old, new = (min(one[k] for one in rounds) for k in range(2))
    counts = [f"{a:,}" if a == b else f"{b:,} -> {a:,}" for b, a in zip(before, after, strict=True)]
    counts += [""] * (len(LEVELS) - len(counts))
    print(case.name, *counts, flush=True)
    per_page = [f"{one.n_pushes / n[-1]:.1f}" for one, n in ((old, before), (new, after))]
    return [case.name, *counts, *per_page, f"{old.n_links / new.n_links:.1f}", f"{old.cpu_s / new.cpu_s:.1f}"]


def run() -> str:
    headings = ["fetches until", *map(str, LEVELS), "pushes a page, without", "with", "links read, without / with",
                "CPU time, without / with"]  # fmt: skip
    about = "One number of fetches: the floor makes no difference."
    return f"{machine('numpy', 'numba')}. {about}\n\n{table(headings, [row(case) for case in cases()])}"
