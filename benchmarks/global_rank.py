"""The global rank of local domains: how far off it is after n/2, n and 2n fetches, for each selection and estimator.

Domains are hosts of documentation sites, subjects of an encyclopedia, two sides of political blogs, universities, and
stretches of ids in crawls that have no URLs (which cut through sites, unlike real domains). 2n pages in 50 rounds; L1,
L-infinity and Kendall's tau-b against the true rank in the whole graph; random is the mean of three draws. Domains that
are closed or exact from the start (L1 below 1e-5) are left out. Frontier return came out of some 200 variants. *Chosen
by* are domains the variants were ranked on; *watched* ones were not, but results on them were seen three times on the
way and one change followed, and some overlap with the first: no clean test; *unseen* ones were run once everything was
fixed, and are the figures to go by. The two differ only where something is left on the frontier. Ratios are geometric
means. Plots: `benchmarks/plots/`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.global_rank_domains import Domain, domains, graph, true_rank, unseen_domains
from benchmarks.measure import machine, table
from orienteer.graph.estimation import all_selections, make_estimator
from orienteer.graph.estimation.estimation import Estimation
from orienteer.graph.estimation.history import Errors
from orienteer.graph.growing_graph import GrowingGraph

METHODS = ("paper", "frontier-return")
ROUNDS = 50
MARKS = {"0": 0, "n/2": 12, "n": 25, "2n": 50}
RANDOM_DRAWS = 3
KINDS = {
    "docs-web-dev": "hosts",
    "schools-wikipedia-articles": "subjects",
    "polblogs-2004": "blogs",
    "webkb-dev": "universities",
    "cnr-2000-nat": "stretches of cnr-2000",
    "wb-cs-stanford-2001": "stretches of stanford",
    "hollins-2004": "stretches of hollins",
    "ukwa-hosts-1996": "suffixes of .uk",
}
PLOTS = Path(__file__).parent / "plots"


@dataclass(frozen=True)
class Run:
    """One domain by one selection: errors [method][round] as (L1, L-infinity, tau), and changes [method][round]."""

    domain: Domain
    select: str
    errors: dict[str, np.ndarray]
    changes: dict[str, np.ndarray]
    leaving: np.ndarray


def run_domain(domain: Domain, select: str, rng: int = 0) -> Run:
    """Both estimators on the same fetches: what is fetched does not depend on them."""
    web = graph(domain.graph)
    known = GrowingGraph()
    known.know(web.n_pages)
    for page in domain.pages.tolist():
        known.add(page, web.links(page))
    truth = true_rank(domain.graph)[domain.pages]
    truth = truth / truth.sum()
    estimation = Estimation(known, domain.pages, select, "paper", rng=rng)
    estimators = {method: make_estimator(method) for method in METHODS}
    ranks: dict[str, list[np.ndarray]] = {method: [] for method in METHODS}
    leaving = []
    for k in [0, *np.diff(np.arange(ROUNDS + 1) * 2 * len(domain.pages) // ROUNDS).tolist()]:
        for page in estimation.wanted(k).tolist():
            estimation.fetched(page, web.links(page))
        within = estimation.rank_within(1e-8)
        leaving.append(estimation.around.leaving(within))
        for method, estimator in estimators.items():
            worth = estimator.worth(estimation.around, within, 1e-8, 0.85)[: len(domain.pages)]
            ranks[method].append(worth / worth.sum())
    errors, changes = {}, {}
    for method in METHODS:
        found = [Errors.between(rank, truth) for rank in ranks[method]]
        errors[method] = np.array([(error.l1, error.l_inf, error.tau) for error in found])
        changes[method] = np.abs(np.diff(np.array(ranks[method]), axis=0)).sum(axis=1)
    return Run(domain, select, errors, changes, np.array(leaving))


def all_runs() -> list[Run]:
    runs = []
    for domain in domains():
        first = run_domain(domain, "stochastic-complement")
        if first.errors["paper"][0, 0] < 1e-5:
            continue
        runs.append(first)
        for select in all_selections():
            if select == "random":
                runs += [run_domain(domain, select, rng) for rng in range(RANDOM_DRAWS)]
            elif select != first.select:
                runs.append(run_domain(domain, select))
    return runs


def _mean(runs: list[Run], method: str, column: int) -> np.ndarray:
    """By round, over domains (several draws of random count as one)."""
    return np.nanmean([run.errors[method][:, column] for run in runs], axis=0)


def _ratio(ours: Any, theirs: Any) -> float:
    return float(np.exp(np.mean(np.log(np.maximum(ours, 1e-9) / np.maximum(theirs, 1e-9)))))


def _by_selection(runs: list[Run]) -> str:
    rows = []
    for select in sorted(all_selections(), key=lambda name: (name == "random", name != "stochastic-complement", name)):
        chosen = [run for run in runs if run.select == select]
        for method in METHODS:
            cells = [
                f"{_mean(chosen, method, column)[at]:.{digits}f}"
                for column, digits in ((0, 4), (1, 4), (2, 3))
                for at in MARKS.values()
            ]
            rows.append([f"{select}, {method}", *cells])
    heads = [f"{name} {mark}" for name in ("L1", "L∞", "tau") for mark in MARKS]
    return table(["mean over all domains", *heads], rows)


def _compared(runs: list[Run], at: int) -> list[str]:
    """Frontier return beside the paper's estimator, on these domains."""
    ours = np.array([run.errors["frontier-return"][at] for run in runs])
    theirs = np.array([run.errors["paper"][at] for run in runs])
    return [
        str(len(runs)), f"{np.mean([run.errors['paper'][0, 0] for run in runs]):.3f}", f"{theirs[:, 0].mean():.4f}",
        f"{ours[:, 0].mean():.4f}", f"{_ratio(ours[:, 0], theirs[:, 0]):.2f}",
        f"{int((ours[:, 0] < theirs[:, 0] - 1e-7).sum())}", f"{_ratio(ours[:, 1], theirs[:, 1]):.2f}",
        f"{np.nanmean(theirs[:, 2]):.4f}", f"{np.nanmean(ours[:, 2]):.4f}",
        f"{int((ours[:, 2] > theirs[:, 2] + 1e-6).sum())} / {int((ours[:, 2] < theirs[:, 2] - 1e-6).sum())}",
    ]  # fmt: skip


def unseen_runs() -> list[Run]:
    runs = [run_domain(domain, "stochastic-complement") for domain in unseen_domains()]
    return [run for run in runs if run.errors["paper"][0, 0] >= 1e-5]


def _by_estimator(runs: list[Run]) -> str:
    rows = []
    for group in ("unseen", "watched", "chosen by"):
        these = [run for run in runs if run.domain.group == group and run.select == "stochastic-complement"]
        rows += [[f"{group}, {mark}", *_compared(these, at)] for mark, at in MARKS.items() if at]
        differ = [run for run in these if abs(run.errors["paper"] - run.errors["frontier-return"])[-1, 0] > 1e-7]
        rows.append([f"{group}, 2n, where the two differ", *_compared(differ, ROUNDS)])
        for name, kind in KINDS.items():
            part = [run for run in these if run.domain.graph == name]
            if part and group != "chosen by":
                rows.append([f"{group}: {kind}, 2n", *_compared(part, ROUNDS)])
    heads = ["frontier return beside the paper's", "domains", "L1 local", "L1 paper", "L1 ours", "ratio", "better in",
             "L∞ ratio", "tau paper", "tau ours", "tau better / worse in"]  # fmt: skip
    return table(heads, rows)


def _verdict(runs: list[Run]) -> str:
    """The paper's claims, on these domains, with its own estimator."""
    final: dict[str, dict[str, tuple[float, float]]] = {}
    local: dict[str, float] = {}
    for run in runs:
        key = f"{run.domain.graph} {run.domain.name}"
        local[key] = run.errors["paper"][0, 0]
        final.setdefault(run.select, {}).setdefault(key, (run.errors["paper"][-1, 0], run.errors["paper"][-1, 2]))
    ours = final["stochastic-complement"]
    gains = np.array([local[key] / max(ours[key][0], 1e-9) for key in ours])
    lines = [
        f"*Up to ten times better than local PageRank*: {int((gains >= 10).sum())} of {len(gains)} domains gain ten "
        f"times or more after 2n pages; the geometric mean is {np.exp(np.log(gains).mean()):.1f} times, the median "
        f"{np.median(gains):.1f}, and {int((gains < 1).sum())} domains are worse than before.",
    ]
    for other in ("pagerank-flow", "outlink-count", "random"):
        wins = sum(ours[key][0] < final[other][key][0] - 1e-7 for key in ours)
        ties = sum(abs(ours[key][0] - final[other][key][0]) <= 1e-7 for key in ours)
        orders = sum(ours[key][1] > final[other][key][1] + 1e-6 for key in ours)
        ratio = _ratio([ours[key][0] for key in ours], [final[other][key][0] for key in ours])
        lines.append(
            f"*Stochastic complement ahead of {other}*: smaller L1 on {wins} of {len(ours)} ({ties} ties), higher tau "
            f"on {orders}; L1 ratio {ratio:.2f}."
        )
    return "\n".join(f"- {line}" for line in lines) + "\n"


def experience(runs: list[Run], method: str) -> str:
    """What error was left where the estimate had changed so much while the last n/5 pages were fetched.

    Each domain counts once a row, with its median. These are the figures of EXPERIENCE in outlook.py.
    """
    rows, edges = [], (0.0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 2.0)
    chosen = [run for run in runs if run.select == "stochastic-complement"]
    for low, high in itertools.pairwise(edges):
        left = []
        for run in chosen:
            recent = np.convolve(run.changes[method], np.ones(5), "valid")
            there = np.flatnonzero((recent >= low) & (recent < high))
            if len(there):
                left.append(np.median(run.errors[method][there + 5, 0]))
        cells = [f"{np.quantile(left, share):.3f}" for share in (0.25, 0.5, 0.75, 0.9, 1.0)]
        rows.append([f"{low:g} to {high:g}", str(len(left)), *cells])
    heads = [f"{method}: change over the last n/5 pages", "domains", "L1 left: quarter", "half", "three quarters",
             "90 %", "all"]  # fmt: skip
    return table(heads, rows)


def run() -> str:
    from benchmarks.global_rank_plot import write_plots

    runs, unseen = all_runs(), unseen_runs()
    PLOTS.mkdir(exist_ok=True)
    write_plots(runs, unseen, PLOTS)
    parts = [machine("numba", "numpy") + "\n", _by_selection(runs), _by_estimator(runs + unseen), _verdict(runs)]
    return "\n".join([*parts, *(experience(runs, method) for method in METHODS)])
