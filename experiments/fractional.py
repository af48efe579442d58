"""Fractional PageRank (FPR and FPR@M): the order of RankMass at a fraction of its price?

Seeds are the 160 pages of the highest PageRank, trusted alike, as in the paper. An order is as good as the uniform
PageRank it has collected; as one figure, that is the mean over the crawl, up to 80 % of the pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from experiments.drawing import counts_across, legend, line, panels, png, titled
from experiments.experiment import Experiment
from experiments.findings import Finding, Plot, Results, Table, graded, span
from experiments.side_by_side import side_by_side
from experiments.timed import TimedRun, clock, timed_run
from experiments.webs import Webs
from orienteer.evaluate.metrics import Curve, sample_positions
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank

WINDOWED = "5 % windowed"
ORDERS = {
    "FPR": "fractional",
    "FPR@2": "fractional:inter_host_weight=2",
    "FPR@20": "fractional:inter_host_weight=20",
    "FPR@100": "fractional:inter_host_weight=100",
    WINDOWED: "windowed-rankmass:window=0.05",
}
TIMED = ("FPR", "FPR@100", WINDOWED)
LIMITS = "What decides `little-beyond-20` was reworded with figures in view; in a full run it does not hold either way."
N_SEEDS = 160
_SHARE = 0.8  # of the pages: 80 of 105 million
_CURVE_POSITIONS = 200


@dataclass(frozen=True)
class Sizes:
    """Pages of the web that is timed, of those whose rank is collected, and CPU time for the windowed order."""

    timed: int
    ranked: tuple[int, ...]
    budget_s: float


FULL = Sizes(100_000_000, (1_000_000, 10_000_000), 1500.0)
QUICK = Sizes(1_000_000, (200_000,), 20.0)


@dataclass(frozen=True)
class Collected:
    """The rank an order had collected, by its truth: uniform, or from the seeds (personalized)."""

    uniform: Curve
    personal: Curve

    def mean(self, truth: str = "uniform") -> float:
        """The mean over the crawl; 1 would be all rank on the first page."""
        curve: Curve = getattr(self, truth)
        return float(np.trapezoid(curve.values, curve.positions) / curve.positions[-1])


def run(experiment: Experiment, webs: Webs) -> Results:
    """The largest web comes first: if there is no room for it, that is said before any work."""
    sizes = QUICK if webs.quick else FULL
    seeds = _seeds(pagerank(webs.generated(sizes.timed), tolerance=1e-3, progress=webs.progress))
    graphs = _graphs(experiment, webs, sizes)
    with side_by_side(webs.n_processes) as pool:
        timed = {label: pool.submit(_timed, webs.to_send(), sizes, seeds, label) for label in reversed(TIMED)}
        ranked = {name: pool.submit(_collected, experiment, webs.to_send(), sizes, name) for name in graphs}
        runs = {label: timed[label].result() for label in TIMED}
        found = {name: one.result() for name, one in ranked.items()}
    results = Results(notes=[_hosts_note(graphs), _personal_note(found), LIMITS])
    results.tables = [_times_table(sizes.timed, runs), _mean_table(found)]
    results.plots = [_figure_3(sizes.timed, runs), _figure_4(found)]
    results.findings = _time_findings(runs)
    if not webs.missing(experiment.data):
        results.findings += _rank_findings(found)
    return results


def _graphs(experiment: Experiment, webs: Webs, sizes: Sizes) -> dict[str, LinkGraph]:
    """The webs whose rank is collected."""
    return webs.graphs(experiment.data) | {f"generated, {n:,} pages": webs.generated(n) for n in sizes.ranked}


# -- Figure 3: time ---------------------------------------------------------------------------------------------


def _timed(webs: Webs, sizes: Sizes, seeds: NDArray[np.int64], label: str) -> TimedRun:
    """Without the pages that were fetched: they are many, and this is about time."""
    graph = webs.generated(sizes.timed)
    limit = int(_SHARE * graph.n_pages)
    run = timed_run(graph, ORDERS[label], seeds, limit, sizes.budget_s, progress=webs.progress)
    return replace(run, order=run.order[:0])


def _seeds(rank: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.sort(np.argsort(-rank, kind="stable")[:N_SEEDS])


def _times_table(n_pages: int, runs: Mapping[str, TimedRun]) -> Table:
    published = {"FPR": "under 2 h", "FPR@100": "", WINDOWED: "about 9 h"}
    rows = []
    for label, one in runs.items():
        took = clock(one.whole_s) + ("" if one.is_complete else " (extrapolated)")
        rows.append([label, published[label], took, clock(one.cpu_s[-1]), f"{one.pages[-1]:,}",
                     f"{one.growth():.2f}"])  # fmt: skip
    limit = runs["FPR"].limit
    headings = ["order", "paper: 80 M pages", f"ours: {limit:,} pages", "CPU time measured", "pages", "power"]
    note = f"On a generated web of {n_pages:,} pages. The time grows with this power of the pages: 1 is linear."
    return Table("Figure 3 in figures", headings, rows, note)


def _figure_3(n_pages: int, runs: Mapping[str, TimedRun]) -> Plot:
    figure, (axes,) = panels(1, width=7.5, height=4.4)
    in_minutes = max(float(one.cpu_s[-1]) for one in runs.values()) > 300
    unit_s = 60.0 if in_minutes else 1.0
    for place, (label, one) in enumerate(runs.items()):
        line(axes, (one.pages, one.cpu_s / unit_s), label, place)
        if not one.is_complete:
            ahead = np.linspace(one.pages[-1], one.limit, 20)
            guess = [one.cpu_s_at(int(count) + 1) / unit_s for count in ahead]
            line(axes, (ahead, guess), f"{label}, extrapolated", place, linestyle=":", marker=None)
    counts_across(axes)
    titled(axes, "What the orders cost", "pages fetched", f"CPU {'minutes' if in_minutes else 'seconds'}")
    legend(axes, loc="upper left")
    return Plot("figure-3", f"Figure 3: CPU time against the pages fetched, of {n_pages:,}.", png(figure))


def _time_findings(runs: Mapping[str, TimedRun]) -> list[Finding]:
    fpr, at_100, windowed = (runs[label] for label in TIMED)
    times = [one.whole_s for one in (fpr, at_100, windowed)]
    how = "" if windowed.is_complete else " (extrapolated)"
    ratio = times[2] / times[0]
    ours = f"{clock(times[0])} against {clock(times[2])}{how}: {ratio:.1f} times"
    power, bend = fpr.growth(), windowed.growth()
    linear = f"with the power {power:.2f} of the pages"
    bent = f"with the power {bend:.2f} of the pages, and {windowed.growth(0.5):.2f} in the second half of the crawl"
    return [
        Finding("fraction-of-the-time", graded(ratio >= 3, ratio > 1), ratio, ours),
        Finding("time-is-linear", graded(power <= 1.15, power <= 1.4), power, linear),
        Finding("windowed-grows-rapidly", graded(bend >= 1.3, bend > power), bend, bent),
        Finding(
            "any-m-is-faster",
            graded(times[1] < times[2], False),
            times[1] / times[2],
            f"FPR@100: {clock(times[1])}, {times[1] / times[2]:.2f} of the windowed order's time",
        ),
    ]


# -- Figure 4: rank ---------------------------------------------------------------------------------------------


def _collected(experiment: Experiment, webs: Webs, sizes: Sizes, name: str) -> dict[str, Collected]:
    graph, progress = _graphs(experiment, webs, sizes)[name], webs.progress
    rank = pagerank(graph, progress=progress)
    seeds = _seeds(rank)
    personal = pagerank(graph, seeds, progress=progress)
    limit = int(_SHARE * graph.n_pages)
    found = {}
    for label, policy in ORDERS.items():
        order = timed_run(graph, policy, seeds, limit, progress=progress).order
        positions = sample_positions(len(order), _CURVE_POSITIONS)
        found[label] = Collected(
            *(Curve.sampled(np.cumsum(truth[order]), positions) for truth in (rank, personal))
        )  # fmt: skip
    return found


def _mean_table(found: Mapping[str, Mapping[str, Collected]]) -> Table:
    rows = [
        [f"{web}, {how}", *(f"{orders[label].mean(truth):.4f}" for label in ORDERS)]
        for web, orders in found.items()
        for truth, how in (("uniform", "uniform"), ("personal", "from the seeds"))
    ]
    note = "By the paper's measure, uniform PageRank, and by the PageRank of a surfer who starts from the seeds."
    return Table("Figure 4 in figures: the mean share of the PageRank over the crawl", ["web", *ORDERS], rows, note)


def _figure_4(found: Mapping[str, Mapping[str, Collected]]) -> Plot:
    figure, axes = panels(len(found))
    for one, (web, orders) in zip(axes, found.items(), strict=True):
        for place, label in enumerate(ORDERS):
            line(one, orders[label].uniform, label, place)
        counts_across(one)
        one.set_ylim(0, 1.0)
        titled(one, web, "pages fetched", "cumulative PageRank")
    legend(axes[0], loc="lower right")
    return Plot("figure-4", "Figure 4: the uniform PageRank of the pages fetched.", png(figure))


def _rank_findings(found: Mapping[str, Mapping[str, Collected]]) -> list[Finding]:
    means = [{label: orders[label].mean() for label in ORDERS} for orders in found.values()]
    return [_as_good(means), _beat(means), _best(means), _little_beyond(means)]


Means = list[dict[str, float]]


def _as_good(means: Means) -> Finding:
    ratios = [one["FPR"] / one[WINDOWED] for one in means]
    ours = f"{span(ratios, 3)} of what the windowed order collects"
    return Finding("as-good-as-windowed", graded(min(ratios) >= 0.98, min(ratios) >= 0.9), min(ratios), ours)


def _beat(means: Means) -> Finding:
    """FPR@2, FPR@20 and FPR@100, each compared with the windowed order."""
    others = ("FPR@2", "FPR@20", "FPR@100")
    wins = {label: sum(one[label] > one[WINDOWED] for one in means) for label in others}
    n_wins, n_all = sum(wins.values()), len(others) * len(means)
    ours = ", ".join(f"{label} on {count}" for label, count in wins.items()) + f" of {len(means)} webs"
    return Finding("all-m-beat-windowed", graded(n_wins == n_all, n_wins > n_all / 2), n_wins / n_all, ours)


def _best(means: Means) -> Finding:
    best = [max(one, key=one.__getitem__) for one in means]
    share = best.count("FPR@100") / len(best)
    return Finding("m-100-is-best", graded(share == 1, share > 0.5), share, f"best is, web by web: {', '.join(best)}")


def _little_beyond(means: Means) -> Finding:
    """The gain of M = 100 over M = 20, relative to that of M = 20 over M = 2, which must be positive."""
    steps = [(one["FPR@20"] - one["FPR@2"], one["FPR@100"] - one["FPR@20"]) for one in means]
    share = sum(first > abs(second) for first, second in steps) / len(steps)
    ours = "from 2 to 20, then to 100, web by web: " + "; ".join(f"{first:+.3f}, {then:+.3f}" for first, then in steps)
    return Finding("little-beyond-20", graded(share == 1, share > 0.5), share, ours)


def _hosts_note(graphs: Mapping[str, LinkGraph]) -> str:
    """M is about links to other hosts, so their number matters."""
    counts = [f"{name}: {_n_hosts(graph):,}" for name, graph in graphs.items()]
    return f"M weighs links to other hosts; the hosts of the webs: {'; '.join(counts)}."


def _n_hosts(graph: LinkGraph) -> int:
    return 0 if graph.hosts is None else int(graph.hosts.max()) + 1


def _personal_note(found: Mapping[str, Mapping[str, Collected]]) -> str:
    """The same by the PageRank from the seeds, where M may do harm."""
    best = [max(ORDERS, key=lambda label: orders[label].mean("personal")) for orders in found.values()]
    return f"By the PageRank of a surfer who starts from the seeds the best is, web by web: {', '.join(best)}."
