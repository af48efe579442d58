"""RankMass, Table 2 and Figures 7 and 8: how many fetches until 0.98 of the RankMass, and until that is proved.

Trusted are the 160 pages of the highest PageRank, all alike; the paper trusted 159 pages that others had chosen. The
RankMass of a set of pages is their PageRank with this trust.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.drawing import counts_across, legend, line, panels, png, titled
from experiments.findings import Finding, Plot, Table, graded, span
from orienteer.crawl.simulate import simulate
from orienteer.evaluate.metrics import Curve, cumulative_rank, first_reaching, sample_positions
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.policies.policy_spec import PolicySpec
from orienteer.progress import Progress

LEVEL = 0.98
N_TRUSTED = 160
ORDERS = {
    "L-Neighbor": "l-neighbor",
    "20 % windowed": "windowed-rankmass:window=0.2",
    "10 % windowed": "windowed-rankmass:window=0.1",
    "5 % windowed": "windowed-rankmass:window=0.05",
    "RankMass": "rankmass",
    "optimal": "optimal",
}
BEYOND = {"certified (ours)": "certified", "FPR": "fractional", "OPIC": "opic"}  # not in the paper
_PUBLISHED = {
    "L-Neighbor": ("7,000,000", "65,000"),
    "10 % windowed": ("217,918", "30,826"),
    "RankMass": ("131,072", "27,939"),
    "optimal": ("27,101", "27,101"),
}
_TRUTH = 1e-8  # L1 error of the ranks that are compared with
_DAMPING = 0.85
_CURVE_POSITIONS = 240


@dataclass(frozen=True)
class Ordered:
    """An order on a web: fetches until it has proved the level, until that is true, until the certificate proves it."""

    guaranteed: int | None
    actual: int
    certified: int | None
    guarantee: Curve | None
    mass: Curve


def top_pages(rank: NDArray[np.float64], k: int = N_TRUSTED) -> NDArray[np.int64]:
    return np.sort(np.argsort(-rank, kind="stable")[:k])


def orders_on(graph: LinkGraph, rank: NDArray[np.float64], progress: Progress) -> dict[str, Ordered]:
    """All orders on a web, each until it has proved the level."""
    trusted = top_pages(rank)
    truth = pagerank(graph, trusted, tolerance=_TRUTH, progress=progress)
    return {label: _ordered(graph, spec, trusted, truth, progress) for label, spec in (ORDERS | BEYOND).items()}


def _ordered(
    graph: LinkGraph, spec: str, trusted: NDArray[np.int64], truth: NDArray[np.float64], progress: Progress
) -> Ordered:
    policy = PolicySpec.parse(spec).make(_DAMPING)
    trace = simulate(graph, policy, trusted, until=LEVEL, progress=progress)
    covered = cumulative_rank(truth, trace.order)
    positions = sample_positions(trace.n_fetched, _CURVE_POSITIONS)
    own = trace.guarantees if policy.proves else None
    actual = first_reaching(covered, LEVEL)
    assert actual is not None  # what is proved is true
    return Ordered(
        None if own is None else first_reaching(own, LEVEL),
        actual,
        trace.fetches_until(LEVEL),
        None if own is None else Curve.sampled(own, positions),
        Curve.sampled(covered, positions),
    )


def table_2(found: Mapping[str, dict[str, Ordered]], sizes: Mapping[str, str]) -> list[Table]:
    """One table for each web."""
    tables = []
    for web, orders in found.items():
        rows = []
        for label, one in orders.items():
            published = _PUBLISHED.get(label, ("", ""))
            rows.append([label, published[0], _count(one.guaranteed), published[1], _count(one.actual),
                         _count(one.certified)])  # fmt: skip
        headings = ["fetches until 0.98", "paper: guaranteed", "ours", "paper: actual", "ours", "certificate"]
        tables.append(Table(f"Table 2 on {web} ({sizes[web]})", headings, rows))
    return tables


def figure_7(web: str, orders: Mapping[str, Ordered]) -> Plot:
    """What is guaranteed and what is actual, for three orders."""
    figure, axes = panels(3)
    drawn = {name: orders[name] for name in ("L-Neighbor", "10 % windowed", "RankMass")}
    for one, (label, order) in zip(axes, drawn.items(), strict=True):
        assert order.guarantee is not None
        line(one, orders["optimal"].mass, "optimal", 9, linestyle="--", marker=None)
        line(one, order.mass, "actual", 0)
        line(one, order.guarantee, "guaranteed", 1, drawstyle="steps-post")
        one.axhline(LEVEL, color="#999999", linewidth=0.9, zorder=1)
        one.set_xscale("log")
        one.set_ylim(0, 1.02)
        titled(one, label, "pages fetched", "RankMass")
        counts_across(one)
        legend(one, loc="lower right")
    shows = "RankMass against the pages fetched: what is there, and what each order can prove. The line is at 0.98."
    return Plot("figure-7", f"Figure 7, on {web}. {shows}", png(figure))


def figure_8(found: Mapping[str, Mapping[str, Ordered]]) -> Plot:
    """The actual RankMass by the size of the window."""
    figure, axes = panels(len(found))
    labels = {"100 %: L-Neighbor": "L-Neighbor", "20 %": "20 % windowed", "10 %": "10 % windowed",
              "5 %": "5 % windowed", "RankMass": "RankMass"}  # fmt: skip
    for one, (web, orders) in zip(axes, found.items(), strict=True):
        line(one, orders["optimal"].mass, "optimal", 9, linestyle="--", marker=None)
        for place, (label, name) in enumerate(labels.items()):
            line(one, orders[name].mass, label, place)
        one.set_xscale("log")
        one.set_ylim(0, 1.02)
        titled(one, web, "pages fetched", "actual RankMass")
        counts_across(one)
    legend(axes[0], loc="lower right", title="window")
    return Plot("figure-8", "Figure 8: the RankMass of the pages fetched, by the size of the window.", png(figure))


Counts = Mapping[str, Mapping[str, Ordered]]


def findings(found: Counts) -> list[Finding]:
    """What became of the claims of Table 2 and Figure 8."""
    return [
        _near_optimal(found),
        _order("actual-order", found, lambda one: one.actual),
        _order("guarantee-order", found, lambda one: one.guaranteed or 0),
        _gap(found),
        _windows_close(found),
        _smaller_is_better(found),
    ]


def _near_optimal(found: Counts) -> Finding:
    ratios = [orders["RankMass"].actual / orders["optimal"].actual for orders in found.values()]
    worst = max(ratios)
    return Finding("near-optimal", graded(worst <= 1.1, worst <= 1.5), worst, f"{span(ratios, 2)} times the best")


def _order(claim: str, found: Counts, count: Callable[[Ordered], int]) -> Finding:
    """RankMass first, then the window of 10 %, then L-Neighbor; in shape if L-Neighbor is last everywhere."""
    triples = [tuple(count(orders[name]) for name in ("RankMass", "10 % windowed", "L-Neighbor"))
               for orders in found.values()]  # fmt: skip
    in_order = [first <= second < third for first, second, third in triples]
    last = [max(first, second) < third for first, second, third in triples]
    first, second, third = triples[-1]
    ours = f"on {sum(in_order)} of {len(in_order)} webs; L-Neighbor last on {sum(last)}; largest web: "
    ours += f"{first:,} / {second:,} / {third:,}"
    return Finding(claim, graded(all(in_order), all(last)), sum(in_order) / len(in_order), ours)


def _gap(found: Counts) -> Finding:
    """How many times more pages are fetched until it is proved than until it is true."""

    def looseness(name: str) -> list[float]:
        return [(orders[name].guaranteed or np.nan) / orders[name].actual for orders in found.values()]

    loose, tight = looseness("L-Neighbor"), looseness("RankMass")
    ratio = float(np.exp(np.mean(np.log(np.divide(loose, tight)))))
    looser = [first > second for first, second in zip(loose, tight, strict=True)]
    ours = f"{span(loose, 2)} times for L-Neighbor, {span(tight, 2)} times for RankMass; looser on {sum(looser)} of "
    ours += f"{len(looser)} webs"
    holds = all(looser) and min(loose) > 10
    return Finding("guarantee-gap", graded(holds, all(looser)), ratio, ours)


def _windows_close(found: Counts) -> Finding:
    ratios = [orders["20 % windowed"].actual / orders["RankMass"].actual for orders in found.values()]
    levels = [orders["L-Neighbor"].actual / orders["RankMass"].actual for orders in found.values()]
    ours = f"20 %: {span(ratios, 2)} times the fetches of RankMass until 0.98; 100 %: {span(levels, 2)} times"
    return Finding("windows-close", graded(max(ratios) <= 1.1, max(ratios) < min(levels)), max(ratios), ours)


def _smaller_is_better(found: Counts) -> Finding:
    counts = [[orders[name].actual for name in list(ORDERS)[3::-1]] for orders in found.values()]
    in_order = [row == sorted(row) for row in counts]
    whole_last = [max(row[:3]) < row[3] for row in counts]
    ours = f"5 % before 10 % before 20 % before 100 % on {sum(in_order)} of {len(counts)} webs; 100 % last on "
    ours += f"{sum(whole_last)}"
    return Finding("smaller-is-better", graded(all(in_order), all(whole_last)), sum(in_order) / len(counts), ours)


def _count(n_fetched: int | None) -> str:
    return "–" if n_fetched is None else f"{n_fetched:,}"
