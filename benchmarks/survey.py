"""Fetches until a coverage is measured, until it is true, and until it is proved.

Every page counts, also those that walks needed (*probes*). The confidence is 99.9 %. Trusted are the 160 pages of the
highest PageRank. *True* is the crossing of the policy's own order, without walks; it is known only in a simulation.
*Proof* is the certificate. Surveys are medians of several runs with other random numbers. *Wrong* are runs that stopped
by the survey where the truth was below the target.

*CPU* compares a simulation that is measured with one step by step to the same number of pages that is not.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from benchmarks.measure import machine, table
from benchmarks.sizes import DATA, sized
from experiments.webs import web_folder
from orienteer.crawl.simulate import simulate
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.pages.stop_reason import StopReason

REAL = DATA / "graphs"
GENERATED = sized(
    {"generated, 1 million": (1_000_000, 3), "generated, 10 million": (10_000_000, 1)}, {"generated, 300": (300, 1)}
)
POLICIES = ("certified", "rankmass", "fractional", "opic", "breadth-first")
LEVELS, LEVELS_OF_OTHERS = (0.90, 0.95, 0.98, 0.99), (0.90, 0.98)
CONFIDENCE = 0.999
N_PAGES_OF_CPU = sized(1_000_000, 300)
RUNS, RUNS_OF_OTHERS = sized((20, 5), (1, 1))
LARGE = 1000  # pages until it is true


@dataclass(frozen=True)
class Found:
    """What came of the runs on one web, by one policy, for one target."""

    web: str
    n_pages: int
    policy: str
    level: float
    true: int
    proof: int
    fetched: tuple[int, ...]
    walks: tuple[int, ...]
    probes: tuple[int, ...]
    n_wrong: int

    @property
    def survey(self) -> float:
        return float(np.median(self.fetched))


def run() -> str:
    with ProcessPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        real = real_webs(pool)
        generated = [one for many in pool.map(_on_generated, GENERATED) for one in many]
        return written(real, generated, pool.submit(cpu).result())


def real_webs(pool: ProcessPoolExecutor) -> list[Found]:
    jobs = [(path.stem, policy) for path in sorted(REAL.glob("*.npz")) for policy in POLICIES]
    jobs.sort(key=lambda job: -(REAL / f"{job[0]}.npz").stat().st_size)
    found = [one for many in pool.map(_on_real, *zip(*jobs, strict=True)) for one in many] if jobs else []
    return sorted(found, key=lambda one: (-one.n_pages, one.web, POLICIES.index(one.policy), one.level))


def written(real: list[Found], generated: list[Found], of_cpu: str) -> str:
    text = [machine("numpy", "numba")]
    if not real:
        text.append("The real graphs are not at hand (`graphs` in the shared data): generated webs only.")
    missing = [name for name in GENERATED if all(one.web != name for one in generated)]
    if missing:
        text.append(f"Not measured this time: {', '.join(missing)} pages.")
    return "\n\n".join([*text, *_tables(real, generated), of_cpu])


def _tables(real: list[Found], generated: list[Found]) -> Iterator[str]:
    found = real + generated
    head = ["web", "pages", "c", "true", "survey", "proof", "walks", "probes", "runs", "wrong"]
    yield "**By `certified`**\n\n" + table(head, [_row(one) for one in found if one.policy == "certified"])
    if not real:
        return
    rows = []
    for web, policy in dict.fromkeys((one.web, one.policy) for one in real if one.policy != "certified"):
        levels = [one for one in real if (one.web, one.policy) == (web, policy)]
        cells = [f"{one.true:,} / {one.survey:,.0f} / {one.proof:,}" for one in levels]
        rows.append([f"{web}, {policy}", *cells, f"{sum(one.n_wrong for one in levels)}"])
    heads = [f"c = {level}: true / survey / proof" for level in LEVELS_OF_OTHERS]
    yield "**By other policies**\n\n" + table(["web and policy", *heads, "wrong"], rows)
    n_runs, n_wrong = sum(len(one.fetched) for one in found), sum(one.n_wrong for one in found)
    yield (
        f"**Price at c = 0.98**, geometric means over real graphs; wrong in {n_wrong:,} of {n_runs:,} runs\n\n"
        + table(
            [
                "policy",
                "graphs",
                "survey / true",
                f"true at {LARGE:,} pages or later",
                "sooner",
                "proof / true",
                "survey / proof",
            ],
            [_prices(policy, real) for policy in POLICIES],
        )
    )


def _row(one: Found) -> list[str]:
    middle = [f"{one.true:,}", f"{one.survey:,.0f}", f"{one.proof:,}"]
    spent = [f"{np.median(one.walks):,.0f}", f"{np.median(one.probes):,.0f}", f"{len(one.fetched)}", f"{one.n_wrong}"]
    return [f"{one.web} {one.level:.2f}", f"{one.n_pages:,}", f"{one.level:.2f}", *middle, *spent]


def _prices(policy: str, real: list[Found]) -> list[str]:
    ours = [one for one in real if one.policy == policy and one.level == 0.98]
    large, small = [one for one in ours if one.true >= LARGE], [one for one in ours if one.true < LARGE]
    return [
        policy,
        f"{len(ours)}",
        _mean([one.survey / one.true for one in ours]),
        _mean([one.survey / one.true for one in large]),
        _mean([one.survey / one.true for one in small]),
        _mean([one.proof / one.true for one in ours]),
        _mean([one.survey / one.proof for one in ours]),
    ]


def _mean(ratios: list[float]) -> str:
    return f"{np.exp(np.mean(np.log(ratios))):.3f}" if ratios else ""


def _on_real(name: str, policy: str) -> list[Found]:
    graph, trusted, truth = _real(name)
    n_runs, levels = (RUNS, LEVELS) if policy == "certified" else (RUNS_OF_OTHERS, LEVELS_OF_OTHERS)
    return [_found(name, graph, trusted, truth, policy, level, n_runs) for level in levels]


def _on_generated(name: str) -> list[Found]:
    n_pages, n_runs = GENERATED[name]
    graph = LinkGraph.load(web_folder(n_pages))
    trusted, truth = _trust_and_truth(graph)
    return [_found(name, graph, trusted, truth, "certified", level, n_runs) for level in (0.9, 0.98)]


def _found(name: str, graph: LinkGraph, trusted: Any, truth: Any, policy: str, level: float, n_runs: int) -> Found:
    proved = simulate(graph, policy, trusted, until=level, by_certificate=True)
    true = int(np.searchsorted(np.cumsum(truth[proved.order]), level)) + 1
    fetched, walks, probes, n_wrong = [], [], [], 0
    for run_ in range(n_runs):
        trace = simulate(graph, policy, trusted, level, confidence=CONFIDENCE, rng=run_)
        fetched.append(trace.n_fetched)
        walks.append(trace.measured.n_walks if trace.measured else 0)
        probes.append(trace.measured.n_probes if trace.measured else 0)
        n_wrong += trace.stopped_because is StopReason.MEASURED and truth[trace.order].sum() < level
    return Found(
        name, graph.n_pages, policy, level, true, proved.n_fetched, tuple(fetched), tuple(walks), tuple(probes), n_wrong
    )


@cache
def _real(name: str) -> tuple[LinkGraph, Any, Any]:
    graph = LinkGraph.load(REAL / f"{name}.npz")
    return graph, *_trust_and_truth(graph)


def _trust_and_truth(graph: LinkGraph) -> tuple[Any, Any]:
    trusted = np.argsort(-pagerank(graph), kind="stable")[:160]
    return trusted, pagerank(graph, trusted, tolerance=1e-10)


def cpu() -> str:
    """Least of three; both kinds take turns."""
    graph = LinkGraph.load(web_folder(N_PAGES_OF_CPU))
    trusted, _ = _trust_and_truth(graph)
    simulate(graph, "certified", trusted, 0.5, 3000, CONFIDENCE)  # compiles
    spent: dict[str, list[float]] = {"measured": [], "not measured": []}
    for _ in range(3):
        before = time.process_time()
        n_pages = simulate(graph, "certified", trusted, 0.98, confidence=CONFIDENCE, rng=0).n_fetched
        between = time.process_time()
        simulate(graph, "certified", trusted, 0.98, n_pages, step_by_step=True)
        spent["measured"].append(between - before)
        spent["not measured"].append(time.process_time() - between)
    with_it, without = min(spent["measured"]), min(spent["not measured"])
    rows = [
        [kind, f"{n_pages:,}", f"{min(seconds):.2f}", f"{min(seconds) / without:.2f}"]
        for kind, seconds in spent.items()
    ]
    rows.append(["on top, %", "", "", f"{100 * (with_it / without - 1):.0f}"])
    title = f"**CPU**, generated, {N_PAGES_OF_CPU:,} pages, c = 0.98\n\n"
    return title + table(["crawl", "pages", "CPU s", "of it"], rows)
