"""The curves of the benchmark global_rank."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from orienteer.evaluate.report import COLOURS, MARKERS, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from benchmarks.global_rank import Run

NAMES = ("stochastic-complement", "pagerank-flow", "outlink-count", "random")


def write_plots(runs: list[Run], unseen: list[Run], folder: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 4.6), dpi=130, layout="constrained")
    n_domains = len({(run.domain.graph, run.domain.name) for run in runs})
    figure.suptitle(f"The global rank of {n_domains} real domains, estimated", fontweight="bold")
    left, right = figure.subplots(1, 2)
    _curves(left, runs, 0)
    left.set_title("L1 error, as a share of the local PageRank's (geometric mean)", loc="left", fontsize=10)
    left.set_yscale("log")
    left.minorticks_off()
    left.set_yticks([0.2, 0.3, 0.5, 0.7, 1.0], ["0.2", "0.3", "0.5", "0.7", "1"])
    _curves(right, runs, 2)
    right.set_title("Kendall's tau against the true order (mean)", loc="left", fontsize=10)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    write_figure(figure, folder / "global-rank.png")

    write_figure(estimators_figure(runs + unseen), folder / "global-rank-estimators.png")


def estimators_figure(runs: list[Run]) -> Figure:
    """Both estimators after the last round, a dot a domain."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.8, 5.6), dpi=130, layout="constrained")
    _scatter(figure.subplots(), [run for run in runs if run.select == NAMES[0]])
    return figure


def _curves(axes: Axes, runs: list[Run], column: int) -> None:
    for k, name in enumerate(NAMES):
        for method, style in (("frontier-return", "-"), ("paper", (0, (4, 2)))):
            values = np.array([run.errors[method][:, column] for run in runs if run.select == name])
            if column == 0:
                local = np.array([run.errors["paper"][0, 0] for run in runs if run.select == name])
                curve = np.exp(np.log(np.maximum(values, 1e-9) / local[:, None]).mean(axis=0))
            else:
                curve = np.nanmean(values, axis=0)
            places = np.linspace(0, 2, len(curve))
            axes.plot(places, curve, linestyle=style, color=COLOURS[k], marker=MARKERS[k], markevery=10, markersize=4.5,
                      linewidth=1.5, label=f"{name}, {method}")  # fmt: skip
    _plain(axes)
    axes.set_xlabel("pages fetched, as a multiple of the domain's")


def _scatter(axes: Axes, runs: list[Run]) -> None:
    faces = {"unseen": COLOURS[1], "watched": COLOURS[3], "chosen by": "none"}
    for group, face in faces.items():
        these = [run for run in runs if run.domain.group == group]
        x = [max(run.errors["paper"][-1, 0], 1e-4) for run in these]
        y = [max(run.errors["frontier-return"][-1, 0], 1e-4) for run in these]
        axes.scatter(
            x, y, s=26, facecolors=face, edgecolors=COLOURS[0], linewidths=0.7, alpha=0.85, label=group, zorder=3
        )
    axes.plot([1e-4, 2], [1e-4, 2], color="#999999", linewidth=1)
    axes.text(2e-4, 0.03, "worse than\nthe paper's", fontsize=9, color="#666666")
    axes.text(0.1, 7e-4, "better than\nthe paper's", fontsize=9, color="#666666")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(0.9e-4, 2)
    axes.set_ylim(0.9e-4, 2)
    axes.set_aspect("equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}" if value > 1.5e-4 else "below\n0.0001")
    axes.set_xlabel("L1 error, paper's estimator")
    axes.set_ylabel("L1 error, frontier return")
    axes.set_title("After 2n pages, one dot a domain", loc="left", fontsize=11, fontweight="bold")
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    _plain(axes)


def _plain(axes: Axes) -> None:
    axes.grid(which="major", color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
