"""Plots of a comparison of seed methods: the improvement over random seeds, by seeds and by hops."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.evaluate.report import COLOURS, MARKERS, checked_target, write_figure
from orienteer.evaluate.seed_compare import RANDOM, REFERENCE, SeedComparison, SeedSeries
from orienteer.seeds import all_methods

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = {"pages": "pages covered", "value": "value covered"}
_TOO_WIDE = 20  # times the median
_LEAST_PERCENT = 1.0


class PlotRow(NamedTuple):
    """Two plots side by side: by seeds on the left, by hops on the right."""

    title: str
    found: SeedComparison
    measure: str


def write_seed_plot(found: SeedComparison, target: Path) -> Path:
    """Write the curves as a .png or .svg file."""
    checked_target(target)
    write_figure(seed_figure(found), target)
    return target


def seed_figure(found: SeedComparison) -> Figure:
    """Draw a row for each measure of a comparison."""
    webs = f"mean of {found.n_webs:,} {found.per}s" if found.per else f"{found.n_pages:,} pages"
    rows = [PlotRow(_TITLES[measure], found, measure) for measure in found.measures]
    return figure_of_rows(f"Seeds: what is covered, compared with random seeds ({webs})", rows)


def figure_of_rows(title: str, rows: Sequence[PlotRow], dpi: int = 130) -> Figure:
    """Draw the rows of one comparison, or of several comparisons of the same methods."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 1.1 + 3.7 * len(rows)), dpi=dpi, layout="constrained")
    figure.suptitle(title, fontweight="bold")
    axes = figure.subplots(len(rows), 2, squeeze=False)
    styles = _styles([name for name in rows[0].found.by_seeds if name != RANDOM])
    for (left, right), (what, found, measure) in zip(axes, rows, strict=True):
        _draw(left, found, found.by_seeds, measure, styles)
        left.set_title(f"{what}, {found.hops} hops", loc="left", fontsize=11)
        left.set_xlabel("seeds")
        _draw(right, found, found.by_hops, measure, styles)
        right.set_title(f"{what}, {found.fixed_seeds} seeds", loc="left", fontsize=11)
        right.set_xlabel("hops")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=9, title="dotted: heuristics")
    return figure


def _styles(names: list[str]) -> dict[str, dict[str, Any]]:
    """Return line styles: the reference dashed and black, the baseline heuristics dotted, the others solid.

    Many curves coincide, so each is thinner than those below it, whose edges stay visible.
    """
    others = [name for name in names if name != REFERENCE]
    methods = all_methods()
    styles: dict[str, dict[str, Any]] = {
        name: {
            "color": COLOURS[k % len(COLOURS)],
            "marker": MARKERS[k % len(MARKERS)],
            "linestyle": "-" if methods[name.partition("(")[0]].uses_cover else ":",
            "linewidth": 3.2 - 2.0 * k / len(others),
            "markersize": 9.0 - 5.5 * k / len(others),
            "zorder": 10 + k,
        }
        for k, name in enumerate(others)
    }
    styles[REFERENCE] = {"color": "black", "linestyle": "--", "linewidth": 1.2, "zorder": 50}
    return styles


def _draw(
    axes: Axes, found: SeedComparison, series: dict[str, SeedSeries], measure: str, styles: dict[str, dict[str, Any]]
) -> None:
    """Draw the curves of all methods; the best at the last position comes first in the legend."""
    curves = {name: 100 * found.improvement(series, name, measure) for name in series if name != RANDOM}
    last = {name: -np.inf if np.isnan(curve[-1]) else curve[-1] for name, curve in curves.items()}
    axes.set_ylabel("over random")
    _scale(axes, np.array(list(curves.values())))
    for name in sorted(curves, key=lambda name: -last[name]):
        places = np.arange(1, len(curves[name]) + 1)
        label = f"{name} (exact)" if name == REFERENCE else name
        axes.plot(places, curves[name], label=label, **styles[name])
    axes.axhline(0, color="#999999", linewidth=0.9, zorder=1)
    axes.set_xticks(np.arange(1, len(series[RANDOM].pages) + 1))
    axes.yaxis.set_major_formatter(lambda percent, _: f"{percent:+,.6g} %" if percent else "0 %")
    axes.grid(which="major", color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _scale(axes: Axes, percents: NDArray[np.float64]) -> None:
    """Make the axis logarithmic beyond about the median if the largest curve would compress all others."""
    sizes = np.abs(percents[np.isfinite(percents)])
    usual, largest = (float(np.median(sizes)), float(sizes.max())) if len(sizes) else (0.0, 0.0)
    if largest <= _TOO_WIDE * max(usual, _LEAST_PERCENT):
        return
    linear_to = 10.0 ** np.floor(np.log10(max(usual, _LEAST_PERCENT)))
    axes.set_yscale("symlog", linthresh=linear_to)
    axes.set_ylabel(f"over random (logarithmic beyond {linear_to:,.6g} %)")
