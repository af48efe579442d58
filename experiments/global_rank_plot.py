"""Figures 1 and 2 of the paper on global rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.domain_runs import COMPLEMENT, L1, TAU, Run
from experiments.domains import SITE, STRETCH, TOPIC
from experiments.influence_objective import Candidates
from orienteer.evaluate.report import COLOURS, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def influence_figure(candidates: Sequence[Candidates]) -> Figure:
    """A row for each domain: on the left the influence of pages, on the right the links to them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 0.8 + 3.2 * len(candidates)), dpi=130, layout="constrained")
    figure.suptitle("What is computed of a page, and the error that is left when it is fetched", fontweight="bold")
    axes = figure.subplots(len(candidates), 2, squeeze=False, sharey="row")
    for row, one in zip(axes, candidates, strict=True):
        guesses = (("influence", one.influence), ("links to the page", one.n_links))
        for panel, (what, guess), correlation in zip(row, guesses, one.correlations[:, 1], strict=True):
            panel.scatter(guess, one.objective, s=16, color=COLOURS[0], alpha=0.5, linewidths=0)
            panel.set_xlabel(what)
            label = f"correlation with what is won: {correlation:.2f}"
            panel.annotate(label, (0.98, 0.96), xycoords="axes fraction", ha="right", va="top", fontsize=9.5)
            panel.ticklabel_format(axis="x", scilimits=(-3, 4))
            _plain(panel)
        row[0].set_title(f"{one.domain.web.name}: {one.domain.name}", loc="left", fontsize=9.5, fontweight="bold")
        row[0].set_ylabel("L1 error with it")
        row[0].ticklabel_format(axis="y", useOffset=False)
    return figure


def error_figure(runs: Sequence[Run], selections: Sequence[str]) -> Figure:
    """Above the L1 error, below Kendall's tau; a column for each kind of domain."""
    from matplotlib.figure import Figure

    kinds = [kind for kind in (SITE, TOPIC, STRETCH) if any(run.domain.kind == kind for run in runs)]
    figure = Figure(figsize=(3.2 + 3.6 * len(kinds), 7.4), dpi=130, layout="constrained")
    figure.suptitle(
        "The global rank of domains, estimated: geometric mean of L1 errors, mean of tau", fontweight="bold"
    )
    axes = figure.subplots(2, len(kinds), squeeze=False, sharey="row", sharex=True)
    for column, kind in enumerate(kinds):
        chosen = [run for run in runs if run.domain.kind == kind]
        n_domains = sum(run.select == COMPLEMENT for run in chosen)
        for k, name in enumerate(selections):
            of_name = [run for run in chosen if run.select == name]
            _draw(axes[:, column], of_name, "paper", k, name)
        of_first = [run for run in chosen if run.select == COMPLEMENT]
        _draw(axes[:, column], of_first, "frontier-return", 0, f"{COMPLEMENT}, our estimator", "--")
        axes[0, column].set_title(f"{kind} ({n_domains})", loc="left", fontsize=10.5)
        axes[1, column].set_xlabel("pages fetched, of the domain's")
    axes[0, 0].set_ylabel("L1 error / local PageRank's")
    axes[0, 0].set_yscale("log")
    axes[0, 0].yaxis.set_major_formatter(lambda share, _: f"{share:g}")
    axes[0, 0].yaxis.set_minor_formatter(lambda share, _: f"{share:g}" if f"{share:.0e}"[0] in "235" else "")
    axes[1, 0].set_ylabel("Kendall's tau")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=3 if len(kinds) > 1 else 2, frameon=False, fontsize=9
    )
    return figure


def _draw(axes: NDArray[np.object_], runs: Sequence[Run], method: str, k: int, label: str, line: str = "-") -> None:
    errors = np.array([run.errors[method] for run in runs])
    local = np.array([run.local_l1 for run in runs])
    l1 = np.exp(np.log(np.maximum(errors[:, :, L1], 1e-9) / local[:, None]).mean(axis=0))
    for panel, curve in zip(axes, (l1, np.nanmean(errors[:, :, TAU], axis=0)), strict=True):
        panel.plot(
            np.linspace(0, 2, len(curve)), curve, linestyle=line, color=COLOURS[k], marker=MARKERS[k], markevery=10,
            markersize=4.5, linewidth=1.6, label=label,
        )  # fmt: skip
        _plain(panel)


def _plain(axes: Axes) -> None:
    axes.grid(which="major", color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
