"""Plots of a comparison: the coverage, and the proved coverage, against the pages fetched.

Matplotlib is imported when a plot is wanted. Figures are made without pyplot: no state is shared, no window opens.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from orienteer.errors import InputError, MissingExtraError
from orienteer.evaluate.compare import Comparison, PolicyResult
from orienteer.evaluate.metrics import Curve
from orienteer.files.plain import replaced

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDINGS = (".png", ".svg")

# Paul Tol's "muted" colours and two more: distinguishable with any kind of colour vision. Markers help with many lines.
COLOURS = (
    "#332288",
    "#CC6677",
    "#117733",
    "#88CCEE",
    "#AA4499",
    "#DDAA33",
    "#44AA99",
    "#882255",
    "#999933",
    "#777777",
)
MARKERS = "osD^vP<X>*"
_OPTIMAL = "optimal"  # drawn as the upper bound of all orders
_TITLES = {
    "actual": "Share of the true rank among the pages fetched",
    "uniform": "Share of the uniform PageRank among the pages fetched",
}


def checked_target(path: Path) -> Path:
    """Return the path if plots can be written there; an InputError before the work rather than after it."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"{path}: a plot ends in {' or '.join(ENDINGS)}")
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError("plots", "matplotlib", "plots") from None
    return path


def write_plots(comparison: Comparison, target: Path) -> list[Path]:
    """Write NAME-coverage and NAME-guarantee (and NAME-uniform, if counted) with the ending of `target`."""
    checked_target(target)
    figures = {"coverage": coverage_figure(comparison), "guarantee": guarantee_figure(comparison)}
    if "uniform" in comparison.ceilings:
        figures["uniform"] = coverage_figure(comparison, "uniform")
    written = []
    for name, figure in figures.items():
        path = target.with_name(f"{target.stem}-{name}{target.suffix}")
        write_figure(figure, path)
        written.append(path)
    return written


def coverage_figure(comparison: Comparison, truth: str = "actual") -> Figure:
    """Draw the rank collected against the pages fetched; the dashed line is the upper bound of all orders."""
    figure, axes = _new_figure(comparison, _TITLES[truth])
    ceiling = comparison.ceilings[truth]
    axes.plot(*ceiling, color="black", linestyle="--", linewidth=1.6, zorder=50)
    entries = [("no order can do better", {"color": "black", "linestyle": "--"})]
    styles = _styles(comparison)
    at = len(comparison.levels) // 2
    # By the true rank the policy `optimal` is the dashed line itself.
    others = [result for result in comparison.results if result.policy != _OPTIMAL or truth != "actual"]
    drawn = _best_first(others, truth, at)
    for place, result in enumerate(drawn):
        style = styles[result.policy]
        _draw(axes, result.curves[truth], style, place)
        entries.append((f"{result.policy} ({_count(result.fetches[truth][at])})", style))
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(lambda share, _: _percent(share))
    axes.set_ylabel("share of all rank (%)")
    _legend(axes, entries, f"policy (pages to {_percent(comparison.levels[at])})")
    return figure


def guarantee_figure(comparison: Comparison) -> Figure:
    """Draw the proved coverage against the pages fetched, on a logarithmic axis of the share missing to 100 %."""
    figure, axes = _new_figure(comparison, "Share of the rank that is proved to be among the pages fetched")
    styles = _styles(comparison)
    at = len(comparison.levels) // 2
    entries = []
    drawn = sorted(comparison.results, key=lambda result: result.fetches["certified"][at] or np.inf)
    for place, result in enumerate(drawn):
        style = styles[result.policy]
        _draw(axes, _unproved(result.curves["lower"]), style, place)
        if "own" in result.curves:
            axes.plot(*_unproved(result.curves["own"]), color=style["color"], linestyle=":", drawstyle="steps-post")
        entries.append((f"{result.policy} ({_proved_counts(result, at)})", style))
    entries += [
        ("certificate", {"color": "#555555"}),
        ("the policy's own guarantee", {"color": "#555555", "linestyle": ":"}),
    ]
    _level_axis(axes, comparison.levels)
    axes.set_xlim(left=_first_worth_seeing([result.curves["lower"] for result in drawn]))
    _legend(axes, entries, f"policy (pages to {_percent(comparison.levels[at])})")
    return figure


def _new_figure(comparison: Comparison, title: str) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    figure = Figure(figsize=(10, 5.6), dpi=130, layout="constrained")
    axes = figure.add_subplot()
    trusted = f"{comparison.n_trusted:,} trusted page{'s' * (comparison.n_trusted != 1)}"
    about = f"{comparison.n_pages:,} pages, {comparison.n_links:,} links, {trusted}, damping {comparison.damping:g}"
    axes.set_title(f"{title}\n", loc="left", fontsize=13, fontweight="bold")
    axes.annotate(about, (0, 1), (0, 7), "axes fraction", "offset points", fontsize=9.5, color="#555555")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator())
    axes.xaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
    axes.set_xlabel("pages fetched (logarithmic)")
    make_plain(axes)
    return figure, axes


def _styles(comparison: Comparison) -> dict[str, dict[str, Any]]:
    """Return a colour and a marker for each policy by name, so that all plots of the same policies agree."""
    names = sorted(result.policy for result in comparison.results if result.policy != _OPTIMAL)
    styles: dict[str, dict[str, Any]] = {
        name: {"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[(k + k // 10) % len(MARKERS)]}
        for k, name in enumerate(names)
    }
    styles[_OPTIMAL] = {"color": "black", "linestyle": "--"}
    return styles


def _draw(axes: Axes, curve: Curve, style: dict[str, Any], place: int) -> None:
    """Draw a curve, better ones above others; curves may coincide, so their markers are at different positions."""
    markers = (0.02 + 0.013 * (place % 10), 0.13)
    axes.plot(*curve, **style, linewidth=1.6, markersize=4.5, markevery=markers, zorder=40 - place)


def _unproved(curve: Curve) -> Curve:
    """Return the share missing to 1, for a logarithmic axis."""
    return Curve(curve.positions, np.maximum(1 - curve.values, 1e-9))


def _first_worth_seeing(curves: list[Curve]) -> int:
    """Return where the first curve leaves the bottom: before it, half of a logarithmic axis would be empty."""
    left = [
        curve.positions[max(int((curve.values >= 0.05).argmax()) - 1, 0)] for curve in curves if _last(curve) >= 0.05
    ]
    return int(min(left, default=1))


def _level_axis(axes: Axes, levels: tuple[float, ...]) -> None:
    """Set up an inverted axis of the share missing to 1, labelled with the share itself; levels are lines."""
    axes.set_yscale("log")
    axes.set_ylim(1.0, (1 - levels[-1]) / 2)
    ticks = sorted({0.0, 0.5, 0.75, *levels})
    axes.set_yticks([1 - level for level in ticks], [_percent(level) for level in ticks])
    axes.set_yticks([], minor=True)
    for level in levels:
        axes.axhline(1 - level, color="#999999", linewidth=0.9, zorder=1)
    axes.set_ylabel("at least this share of all rank (%)")


def _legend(axes: Axes, entries: list[tuple[str, dict[str, Any]]], title: str) -> None:
    """Draw the legend to the right of the plot, the best first."""
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], linewidth=1.8, markersize=5, label=label, **style) for label, style in entries]
    legend = axes.legend(
        handles=lines, title=title, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=9,
        alignment="left", borderaxespad=0.0,
    )  # fmt: skip
    legend.get_title().set_fontweight("bold")


def make_plain(axes: Axes) -> None:
    """Draw a light grid below the curves, and no frame."""
    axes.grid(which="major", color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure; the file appears when it is complete."""
    import matplotlib

    try:
        # Without time stamp and random ids, equal comparisons give equal files.
        with replaced(path) as new, matplotlib.rc_context({"svg.hashsalt": "orienteer"}):
            figure.savefig(new, metadata={"Date": None} if path.suffix.lower() == ".svg" else {})
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def _best_first(results: list[PolicyResult], truth: str, at: int) -> list[PolicyResult]:
    """Sort by the fetches until the level, then by the value at the smallest number of fetches of all results."""
    common = min((result.n_fetched for result in results), default=0)

    def key(result: PolicyResult) -> tuple[float, float]:
        return result.fetches[truth][at] or np.inf, -float(np.interp(common, *result.curves[truth]))

    return sorted(results, key=key)


def _last(curve: Curve) -> float:
    return float(curve.values[-1]) if len(curve.values) else 0.0


def _count(n_fetched: int | None) -> str:
    return "not reached" if n_fetched is None else f"{n_fetched:,}"


def _proved_counts(result: PolicyResult, at: int) -> str:
    certified = _count(result.fetches["certified"][at])
    return f"{certified}; own {_count(result.fetches['own'][at])}" if result.proves else certified


def _percent(share: float) -> str:
    return f"{100 * share:.6g} %"
