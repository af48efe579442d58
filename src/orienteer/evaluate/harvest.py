"""Compare focused policies on one task: how soon each finds the pages of a topic.

A task is a web, one or several start pages, the target pages, and the relevance that the crawl receives for a fetched
page: the truth, or the result of a classifier. The harvest curve is the share of the targets found as a function of the
pages fetched; targets that cannot be reached from the start do not count. Its area is the mean of that share over all
reachable pages: 0.5 for a random order, and at most 1 - (share of targets) / 2.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.crawl.simulate import simulate
from orienteer.errors import InputError
from orienteer.evaluate.metrics import Curve, measured, sample_positions
from orienteer.evaluate.report import COLOURS, checked_target, make_plain, write_figure
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.navigational import checked_relevance
from orienteer.graph.reach import distances
from orienteer.policies import all_policies, make_policy
from orienteer.policies.focused import FocusedPolicy, WebText, checked_partial_relevance
from orienteer.policies.policy import Policy
from orienteer.policies.policy_spec import PolicySpec
from orienteer.policies.trained import TrainedPolicy
from orienteer.progress import Progress, silent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEVELS = (0.5, 0.9)
TARGET = 0.5  # a page of this relevance or more is a target

_BASELINES = ("breadth-first", "fractional")
_CURVE_POSITIONS = 400
_GRID = np.linspace(0, 1, 401) ** 2
_TICKS = (0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.7, 1)
_DASHED = ("breadth-first", "fractional")  # not focused


@dataclass(frozen=True)
class Task:
    """Find the targets of a topic from one or several start pages."""

    name: str
    graph: LinkGraph
    starts: tuple[int, ...]
    targets: NDArray[np.bool_]
    relevance: NDArray[np.float64]  # what the crawl receives; NaN: nothing
    text: WebText | None = None

    @classmethod
    def of(
        cls,
        graph: LinkGraph,
        start: int | Sequence[int],
        truth: ArrayLike,
        received: ArrayLike | None = None,
        text: WebText | None = None,
        name: str = "",
        threshold: float = TARGET,
    ) -> Task:
        """Create a task whose targets have a true relevance of at least the threshold.

        The crawl receives the relevance `received`, or the truth.
        """
        relevance = checked_relevance(graph.n_pages, truth)
        starts = (start,) if isinstance(start, int) else tuple(map(int, start))
        for page in starts:
            if not 0 <= page < graph.n_pages:
                raise InputError(f"start: page {page} is not in the graph")
        if not starts:
            raise InputError("start: no page is named")
        targets = relevance >= threshold
        reached = distances(graph, starts) >= 0
        if not (targets & reached).any():
            what = "no page is relevant" if not targets.any() else "no relevant page can be reached from the start"
            raise InputError(f"{name or 'labels'}: {what} (relevance of {threshold:g} or more)")
        known = relevance if received is None else checked_partial_relevance(graph.n_pages, received)
        return cls(name, graph, starts, targets & reached, known, text)


@dataclass(frozen=True)
class Harvest:
    """One policy on one task. `pages_until` has, for each level, the pages fetched until that share of the targets."""

    policy: str
    area: float
    pages_until: tuple[int, ...]
    n_fetched: int
    cpu_s: float
    curve: Curve
    is_untrained: bool = False  # it needs training on other sites

    def as_dict(self) -> dict[str, Any]:
        remark = {"untrained": True} if self.is_untrained else {}
        return {
            "policy": self.policy,
            "area": round(self.area, 4),
            "pages_until": dict(zip(map(str, LEVELS), self.pages_until, strict=True)),
            "n_fetched": self.n_fetched,
            "cpu_s": round(self.cpu_s, 3),
            "curve": {"positions": self.curve.positions.tolist(), "values": self.curve.values.tolist()},
            **remark,
        }


@dataclass(frozen=True)
class HarvestComparison:
    """Policies on one task, the largest area first."""

    task: str
    n_pages: int
    n_reached: int
    n_targets: int
    results: tuple[Harvest, ...]

    @property
    def best_area(self) -> float:
        return 1 - (self.n_targets - 1) / (2 * self.n_reached)

    def as_dict(self) -> dict[str, Any]:
        """Return all results, for JSON."""
        return {
            "task": self.task,
            "n_pages": self.n_pages,
            "n_reached": self.n_reached,
            "n_targets": self.n_targets,
            "best_area": round(self.best_area, 4),
            "policies": [result.as_dict() for result in self.results],
        }


def harvest_policies() -> list[str]:
    """Return the names of all focused policies, after those of the baselines."""
    return [*_BASELINES, *(name for name, kind in all_policies().items() if issubclass(kind, FocusedPolicy))]


def compare_harvests(
    task: Task,
    policies: Sequence[str | PolicySpec] = (),
    trained: Mapping[str, Policy] | None = None,
    progress: Progress = silent,
) -> HarvestComparison:
    """Run the policies (by default all focused ones and two baselines) on a task, to the last page.

    `trained` has policies that have learned on other sites, by name; they are run as they are. One that needs training
    and has had none is breadth-first.
    """
    names = [str(one) for one in policies] or harvest_policies()
    results = []
    for k, name in enumerate(names):
        progress(f"crawling by {name}", k, len(names))
        spec = PolicySpec.parse(name)
        policy = copy.copy(trained[name]) if trained and name in trained else make_policy(spec.name, **spec.settings)
        with measured() as cost:
            trace = simulate(task.graph, policy, list(task.starts), relevance=task.relevance, text=task.text)
        found = harvest(name, trace.order, task.targets, cost.cpu_s)
        results.append(replace(found, is_untrained=isinstance(policy, TrainedPolicy) and not policy.is_trained))
    return HarvestComparison(
        task=task.name,
        n_pages=task.graph.n_pages,
        n_reached=results[0].n_fetched,
        n_targets=int(task.targets.sum()),
        results=tuple(sorted(results, key=lambda result: -result.area)),
    )


def harvest(policy: str, order: NDArray[np.uint32], targets: NDArray[np.bool_], cpu_s: float = 0.0) -> Harvest:
    """Compute the harvest of an order of all pages.

    >>> found = harvest("by hand", np.array([2, 0, 1, 3]), np.array([True, False, True, False]))
    >>> found.area, found.pages_until
    (0.875, (1, 2))
    """
    found = np.cumsum(targets[order]) / targets.sum()
    until = tuple(int(np.searchsorted(found, level - 1e-12)) + 1 for level in LEVELS)
    curve = Curve.sampled(found, sample_positions(len(order), _CURVE_POSITIONS))
    return Harvest(policy, float(found.mean()), until, len(order), cpu_s, curve)


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
    make_plain(panel)


def _root(share: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(np.maximum(share, 0)))


def _result(found: HarvestComparison, name: str) -> Harvest:
    return next(result for result in found.results if result.policy == name)


def _on_grid(found: HarvestComparison, name: str) -> NDArray[np.float64]:
    curve = _result(found, name).curve
    positions = np.append(0, curve.positions / found.n_reached)
    return np.asarray(np.interp(_GRID, positions, np.append(0.0, curve.values)))
