"""RankMass, Table 3: what the order costs, by the size of the window, until 80 % of the pages are fetched.

The paper read its graph from disk, row by row for L-Neighbor and the windows, at random for RankMass. Here it is mapped
into memory for all. CPU time counts the ordering alone.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from experiments.drawing import counts_across, legend, line, panels, png, titled
from experiments.findings import Finding, Plot, Table, graded
from experiments.rankmass_orders import ORDERS
from experiments.timed import TimedRun, clock, timed_run
from orienteer.graph.link_graph import LinkGraph
from orienteer.progress import Progress

_SHARE = 0.8  # of the pages: 80 of 100 million
_PUBLISHED = {  # time, iterations
    "L-Neighbor": ("1:27 h", "13"),
    "20 % windowed": ("4:39 h", "44"),
    "10 % windowed": ("10:27 h", "85"),
    "5 % windowed": ("17:52 h", "167"),
    "RankMass": ("over 222 h", ""),
}


def timed_orders(
    graph: LinkGraph, trusted: NDArray[np.int64], budget_s: float, progress: Progress
) -> dict[str, TimedRun]:
    """All orders but the optimal one; each stops at its budget of CPU time."""
    limit = int(_SHARE * graph.n_pages)
    return {label: timed_run(graph, ORDERS[label], trusted, limit, budget_s, progress=progress) for label in _PUBLISHED}


def table_3(web: str, runs: Mapping[str, TimedRun]) -> Table:
    base = runs["L-Neighbor"].whole_s
    rows = []
    for label, run in runs.items():
        whole = run.whole_s
        took = clock(whole) + ("" if run.is_complete else f" (extrapolated from {run.pages[-1]:,} pages)")
        n_batches = "" if label == "RankMass" else f"{run.n_batches:,}"
        rows.append([label, *_PUBLISHED[label], took, n_batches, f"{whole / base:.1f}"])
    headings = ["order", "paper: time", "iterations", "ours: CPU time", "iterations", "times L-Neighbor's"]
    limit = runs["L-Neighbor"].limit
    note = f"The paper: 80 of 141 million pages. Ours: {limit:,} pages; L-Neighbor finds all its levels at once."
    return Table(f"Table 3 on {web}", headings, rows, note)


def figure_of_times(web: str, runs: Mapping[str, TimedRun]) -> Plot:
    """Not in the paper, which has the last points of these lines only."""
    figure, (axes,) = panels(1, width=7.5, height=4.2)
    for place, (label, run) in enumerate(runs.items()):
        if label == "L-Neighbor":  # it finds all its levels at once
            axes.axhline(run.whole_s, color="#555555", linestyle="--", linewidth=1.4, label=label)
        else:
            line(axes, (run.pages[1:], run.cpu_s[1:]), label, place)
    axes.set_yscale("log")
    counts_across(axes)
    titled(axes, "What the orders cost", "pages fetched", "CPU seconds (logarithmic)")
    legend(axes, loc="lower right", ncols=2)
    return Plot("table-3", f"The times of Table 3 as they grow, on {web}.", png(figure))


def findings(runs: Mapping[str, TimedRun]) -> list[Finding]:
    """What became of the claims of Table 3; one holds if the factor is about the published one."""
    whole = {label: run.whole_s for label, run in runs.items()}
    return [_halving(runs, whole), _levels_fastest(whole), _slowest(runs, whole)]


def _halving(runs: Mapping[str, TimedRun], whole: Mapping[str, float]) -> Finding:
    windows = ["20 % windowed", "10 % windowed", "5 % windowed"]
    n_batches = [runs[name].n_batches for name in windows]
    times = [whole[name] for name in windows]
    more_batches, more_time = n_batches[2] / n_batches[0], times[2] / times[0]
    ours = f"{' / '.join(map(str, n_batches))} iterations, {' / '.join(map(clock, times))}: twice halved, "
    ours += f"{more_batches:.1f} times the iterations in {more_time:.1f} times the time"
    holds = 3 <= more_batches <= 5 and 2.5 <= more_time <= 6
    return Finding("halving-doubles", graded(holds, more_batches > 1.5 and more_time > 1.2), more_time, ours)


def _levels_fastest(whole: Mapping[str, float]) -> Finding:
    ratio = whole["20 % windowed"] / whole["L-Neighbor"]
    ours = f"{clock(whole['L-Neighbor'])} against {clock(whole['20 % windowed'])}: {ratio:.1f} times"
    return Finding("l-neighbor-fastest", graded(2.5 <= ratio <= 4, ratio > 1), ratio, ours)


def _slowest(runs: Mapping[str, TimedRun], whole: Mapping[str, float]) -> Finding:
    ratio = whole["RankMass"] / whole["5 % windowed"]
    how = "" if runs["RankMass"].is_complete else " (extrapolated)"
    ours = f"{clock(whole['RankMass'])}{how} against {clock(whole['5 % windowed'])}: {ratio:.1f} times"
    return Finding("rankmass-slowest", graded(ratio >= 8, ratio > 1), ratio, ours)
