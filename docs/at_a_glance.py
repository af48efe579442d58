"""Draw at-a-glance.png, the first picture of the README: `python docs/at_a_glance.py GRAPH`, such as hollins-2004.npz,
which is a typical one: by the share of fetches that are saved, it is the median of the real webs that were tried.

The 160 pages of the highest PageRank are trusted. The band shows what the certificate proves after each number of
pages; the dotted line inside it is the truth, which only a simulation knows. The diamond is where random walks have
measured the goal: the median of several runs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import orienteer as ori

PICTURE = Path(__file__).parent / "at-a-glance.png"
GOAL, CONFIDENCE = 0.98, 0.999
N_RUNS = 20
OURS, OTHER, BEST, MEASURED = "#117733", "#AA4499", "#222222", "#0066AA"


def main() -> None:
    web = ori.LinkGraph.load(sys.argv[1])
    trusted = np.argsort(-ori.pagerank(web), kind="stable")[:160]
    rank = ori.pagerank(web, trusted, tolerance=1e-10)
    figure = Figure(figsize=(10, 4.7), dpi=110, layout="constrained")
    axes = figure.add_subplot()
    other = _draw(axes, web, trusted, rank, "breadth-first", OTHER)
    ours = _draw(axes, web, trusted, rank, "certified", OURS)
    axes.fill_between(ours.positions, ours.lower, ours.upper, color=OURS, alpha=0.2, linewidth=0, zorder=2)
    n_ours, n_other = int(ours.positions[-1]), int(other.positions[-1])
    best = np.cumsum(np.sort(rank)[::-1])[: int(1.4 * n_other)]
    axes.plot(np.arange(1, len(best) + 1), best, "--", color=BEST, linewidth=1.3, zorder=5)
    _say(axes, "no order can do better", (len(best), 1.0), (0, 4), BEST, ha="right", va="bottom")
    runs = [
        ori.simulate(web, "certified", trusted, GOAL, confidence=CONFIDENCE, rng=k).n_fetched for k in range(N_RUNS)
    ]
    n_measured = int(np.median(runs))
    axes.plot(n_measured, GOAL, "D", color=MEASURED, markersize=9, zorder=6)
    _say(axes, f"Orienteer: 98 % measured after {n_measured:,} pages,\nwith 99.9 % confidence", (n_measured, GOAL),
         (-14, 62), MEASURED, size=11, ha="right", arrow=True)  # fmt: skip
    _say(axes, f"98 % proved after {n_ours:,} pages", (n_ours, GOAL), (6, 50), OURS, size=11, arrow=True)
    _say(axes, f"breadth-first: 98 % proved\nafter {n_other:,} pages", (n_other, GOAL), (14, -8), OTHER, size=11)
    place = int(np.searchsorted(ours.lower, 0.66))
    _say(axes, "the band: what Orienteer proves while it crawls,\nat least … at most, with the truth inside",
         (ours.positions[place], ours.lower[place]), (130, -14), OURS, arrow=True)  # fmt: skip
    place = int(np.searchsorted(other.lower, 0.845))
    _say(axes, "what is proved of breadth-first\n(dotted: what is true)",
         (other.positions[place], other.lower[place]), (60, -40), OTHER, arrow=True)  # fmt: skip
    axes.axhline(GOAL, color="#888888", linewidth=0.9, zorder=1)
    axes.set_title(f"When may a crawl stop? A web of {web.n_pages:,} pages, 98 % of its rank wanted\n", loc="left",
                   fontsize=13, fontweight="bold")  # fmt: skip
    axes.set_xlabel("pages fetched")
    axes.set_ylabel("share of all rank fetched")
    axes.set_xlim(0, len(best))
    axes.set_ylim(0.6, 1.09)
    axes.set_yticks([0.6, 0.7, 0.8, 0.9, GOAL], ["60 %", "70 %", "80 %", "90 %", "98 %"])
    axes.xaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE)
    print(
        f"{PICTURE}: 98 % measured after {n_measured:,} pages, proved after {n_ours:,} pages, breadth-first {n_other:,}"
    )


class CoverageCurve(NamedTuple):
    """The proved bounds after these numbers of pages."""

    positions: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def _draw(
    axes: Axes, web: ori.LinkGraph, trusted: np.ndarray, rank: np.ndarray, policy: str, colour: str
) -> CoverageCurve:
    """Draw the proved and the true coverage, and the point where the goal is proved; return the proved bounds."""
    trace = ori.simulate(web, policy, trusted, until=GOAL, by_certificate=True)
    positions = np.unique(np.geomspace(1, trace.n_fetched, 200).astype(int))
    bounds = trace.certificates(positions)
    truth = np.cumsum(rank[trace.order])[positions - 1]
    curve = CoverageCurve(positions, np.array([one.lower for one in bounds]), np.array([one.upper for one in bounds]))
    axes.plot(positions, curve.lower, color=colour, linewidth=2.2, zorder=4)
    axes.plot(positions, truth, ":", color=colour, linewidth=1.8, zorder=4)
    axes.plot(trace.n_fetched, GOAL, "o", color=colour, markersize=9, zorder=6)
    return curve


def _say(axes: Axes, text: str, at: tuple[float, float], offset: tuple[float, float], colour: str, *, ha: str = "left",
         va: str = "top", size: float = 9.5, arrow: bool = False) -> None:  # fmt: skip
    axes.annotate(text, at, offset, textcoords="offset points", color=colour, ha=ha, va=va, fontsize=size,
                  fontweight="bold" if size > 10 else "normal", zorder=7,
                  arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.8} if arrow else None)  # fmt: skip


if __name__ == "__main__":
    main()
