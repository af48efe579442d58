"""Harvest curves as plots: the share of the targets found against the share of the pages fetched.

The axis of pages is a root: what happens, happens early.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from orienteer.evaluate.harvest import Harvest, HarvestComparison
from orienteer.evaluate.report import COLOURS, checked_target, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GRID = np.linspace(0, 1, 401) ** 2
_TICKS = (0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.7, 1)
_DASHED = ("breadth-first", "fractional")  # not focused


def write_harvest_plot(found: HarvestComparison, target: Path) -> Path:
    """Write the curves of one task as a .png or .svg file."""
    checked_target(target)
    about = f"{found.n_targets:,} targets, {found.n_reached:,} pages"
    write_figure(harvest_figure([[(f"{found.task}  ({about})".strip(), [found])]], "Targets found"), target)
    return target


def harvest_figure(
    rows: Sequence[Sequence[tuple[str, Sequence[HarvestComparison]]]], title: str, dpi: int = 130
) -> Figure:
    """Draw a panel for each group of tasks, with the mean of their curves; the dotted grey line is a random order."""
    from matplotlib.figure import Figure

    n_columns = max(map(len, rows))
    is_single = len(rows) == n_columns == 1
    size = (8.5, 4.8) if is_single else (4.4 * n_columns + 2.2, 3.9 * len(rows) + 0.5)
    figure = Figure(figsize=size, dpi=dpi, layout="constrained")
    figure.suptitle(title, fontweight="bold")
    axes = figure.subplots(len(rows), n_columns, squeeze=False, sharey=True)
    names = sorted({result.policy for row in rows for _, group in row for one in group for result in one.results})
    styles = {name: _style(k, name) for k, name in enumerate(names)}
    for line, row in zip(axes, rows, strict=True):
        for panel, (label, group) in zip(line, row, strict=True):
            _draw(panel, group, styles, is_single)
            panel.set_title(label, loc="left", fontsize=10.5)
        line[0].set_ylabel("targets found")
    for panel in axes[-1]:
        panel.set_xlabel("pages fetched, of those that can be reached (root scale)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    legend = figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=9)
    legend.set_title("policy (area)" if is_single else "policy")
    return figure


def _style(k: int, name: str) -> dict[str, Any]:
    line = "--" if name in _DASHED else "-"
    return {"color": COLOURS[k % len(COLOURS)], "linestyle": line, "linewidth": 2.4 if name == "scent" else 1.6}


def _draw(panel: Axes, group: Sequence[HarvestComparison], styles: dict[str, dict[str, Any]], with_areas: bool) -> None:
    """Draw the mean curves, the largest area first in the legend."""
    curves = {name: np.mean([_on_grid(one, name) for one in group], axis=0) for name in styles}
    areas = {name: np.mean([_result(one, name).area for one in group]) for name in styles}
    for name in sorted(curves, key=lambda name: -areas[name]):
        label = f"{name} ({areas[name]:.3f})" if with_areas else name
        panel.plot(_GRID, curves[name], label=label, **styles[name])
    panel.plot(_GRID, _GRID, color="#aaaaaa", linestyle=":", linewidth=1, zorder=1)
    panel.set_xscale("function", functions=(_root, np.square))
    panel.set_xlim(0, 1)
    panel.set_xticks(_TICKS)
    panel.set_ylim(0, 1.01)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    panel.grid(which="major", color="#e4e4e4", linewidth=0.8)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def _root(share: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(np.maximum(share, 0)))


def _result(found: HarvestComparison, name: str) -> Harvest:
    return next(result for result in found.results if result.policy == name)


def _on_grid(found: HarvestComparison, name: str) -> NDArray[np.float64]:
    curve = _result(found, name).curve
    positions = np.append(0, curve.positions / found.n_reached)
    return np.asarray(np.interp(_GRID, positions, np.append(0.0, curve.values)))
