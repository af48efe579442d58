"""A comparison of seed methods as curves: the improvement over random seeds, by seeds and by hops."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from orienteer.evaluate.report import COLOURS, MARKERS, checked_target, write_figure
from orienteer.evaluate.seed_compare import RANDOM, YARDSTICK, SeedComparison, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = {"pages": "pages covered", "value": "value covered"}


def write_seed_plot(found: SeedComparison, target: Path) -> Path:
    """Write the curves as a .png or .svg file."""
    checked_target(target)
    write_figure(seed_figure(found), target)
    return target


def seed_figure(found: SeedComparison) -> Figure:
    """A row for each measure: on the left the seeds grow, on the right the hops."""
    from matplotlib.figure import Figure

    n_rows = len(found.measures)
    figure = Figure(figsize=(11.5, 1.1 + 3.7 * n_rows), dpi=130, layout="constrained")
    webs = f"mean of {found.n_webs:,} {found.per}s" if found.per else f"{found.n_pages:,} pages"
    figure.suptitle(f"Seeds: what is covered, compared with random seeds ({webs})", fontweight="bold")
    axes = figure.subplots(n_rows, 2, squeeze=False)
    styles = _styles([name for name in found.by_seeds if name != RANDOM])
    for row, measure in zip(axes, found.measures, strict=True):
        title = _TITLES[measure]
        _draw(row[0], found, found.by_seeds, measure, styles)
        row[0].set_title(f"{title}, {found.hops} hops", loc="left", fontsize=11)
        row[0].set_xlabel("seeds")
        _draw(row[1], found, found.by_hops, measure, styles)
        row[1].set_title(f"{title}, {found.fixed_seeds} seeds", loc="left", fontsize=11)
        row[1].set_xlabel("hops")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=9)
    return figure


def _styles(names: list[str]) -> dict[str, dict[str, Any]]:
    others = [name for name in names if name != YARDSTICK]
    styles: dict[str, dict[str, Any]] = {
        name: {"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[k % len(MARKERS)]} for k, name in enumerate(others)
    }
    styles[YARDSTICK] = {"color": "black", "linestyle": "--", "zorder": 50}
    return styles


def _draw(
    axes: Axes, found: SeedComparison, series: dict[str, Series], measure: str, styles: dict[str, dict[str, Any]]
) -> None:
    """The curves of all methods, the best at the end first in the legend."""
    curves = {name: 100 * found.improvement(series, name, measure) for name in series if name != RANDOM}
    last = {name: -np.inf if np.isnan(curve[-1]) else curve[-1] for name, curve in curves.items()}
    for name in sorted(curves, key=lambda name: -last[name]):
        places = np.arange(1, len(curves[name]) + 1)
        label = f"{name} (exact)" if name == YARDSTICK else name
        axes.plot(places, curves[name], label=label, linewidth=1.6, markersize=4.5, **styles[name])
    axes.axhline(0, color="#999999", linewidth=0.9, zorder=1)
    axes.set_xticks(np.arange(1, len(series[RANDOM].pages) + 1))
    axes.yaxis.set_major_formatter(lambda percent, _: f"{percent:+,.6g} %" if percent else "0 %")
    axes.set_ylabel("over random")
    axes.grid(which="major", color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
