"""Compare methods of seed selection on one graph, or on each of its sites, by the cover of their seeds.

The paper's figures: the improvement over random seeds in the pages covered and in the value covered, by the number of
seeds at a fixed number of hops, and by the hops at a fixed number of seeds. The exact greedy is the reference. Random
is the mean of several draws. On several sites, coverage is the mean of the sites' shares, each with the same number of
seeds, and the improvement is that of the means: the mean of improvements would be dominated by the sites where random
covers almost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.evaluate.report import COLOURS, MARKERS, checked_target, make_plain, write_figure
from orienteer.graph.link_graph import LinkGraph
from orienteer.progress import Progress, silent
from orienteer.seeds import all_methods, make_method, settings_of
from orienteer.seeds.seed_method import Cover, SeedMethod, choose_seeds
from orienteer.seeds.select import Division, check_numbers, groups_of
from orienteer.seeds.value import Value, page_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RANDOM = "random"
REFERENCE = "greedy"
MIN_PAGES = 100  # of a site, as in the paper

N_DRAWS = 20
_FIXED_SEEDS = 5
_TITLES = {"pages": "pages covered", "value": "value covered"}
_TOO_WIDE = 20  # times the median
_LEAST_PERCENT = 1.0


class Web(NamedTuple):
    """A graph to choose seeds on, and the values of its pages."""

    graph: LinkGraph
    value: NDArray[np.float64]


class SeedSeries(NamedTuple):
    """Shares covered by the number of seeds or of hops: of the pages, and of the positive value."""

    pages: NDArray[np.float64]
    value: NDArray[np.float64]

    def of(self, measure: str) -> NDArray[np.float64]:
        return self.pages if measure == "pages" else self.value

    def at(self, n: int) -> tuple[float, float]:
        """Return the shares of pages and of value at n seeds or hops."""
        return float(self.pages[n - 1]), float(self.value[n - 1])


@dataclass(frozen=True)
class SeedComparison:
    """`by_seeds` has a series for 1 to `k` seeds at `hops`, `by_hops` one for 1 to `hops` hops at `fixed_seeds`.

    If all pages have the same value, only pages are measured.
    """

    n_pages: int
    n_webs: int
    per: str | None
    k: int
    hops: int
    fixed_seeds: int
    measures: tuple[str, ...]
    by_seeds: dict[str, SeedSeries]
    by_hops: dict[str, SeedSeries]

    def improvement(self, series: dict[str, SeedSeries], name: str, measure: str) -> NDArray[np.float64]:
        """Return the improvement over random: 0.5 is 50 % more; NaN if random covers nothing, or less."""
        baseline = series[RANDOM].of(measure)
        safe = np.where(baseline > 0, baseline, np.nan)
        return series[name].of(measure) / safe - 1

    def of_reference(self, series: dict[str, SeedSeries], name: str, measure: str) -> NDArray[np.float64]:
        """Return the cover as a share of that of the exact greedy; NaN if that is 0."""
        most = series[REFERENCE].of(measure)
        return series[name].of(measure) / np.where(most > 0, most, np.nan)

    def as_dict(self) -> dict[str, Any]:
        """Return all results, for JSON."""
        return {
            "n_pages": self.n_pages,
            "n_webs": self.n_webs,
            "per": self.per,
            "k": self.k,
            "hops": self.hops,
            "fixed_seeds": self.fixed_seeds,
            "by_seeds": self._series_dict(self.by_seeds),
            "by_hops": self._series_dict(self.by_hops),
        }

    def _series_dict(self, series: dict[str, SeedSeries]) -> dict[str, Any]:
        return {
            name: {
                measure: {
                    "coverage": series[name].of(measure).tolist(),
                    "improvement": _numbers(self.improvement(series, name, measure)),
                    "of_greedy": _numbers(self.of_reference(series, name, measure)),
                }
                for measure in self.measures
            }
            for name in series
        }


def compare_seeds(
    graph: LinkGraph,
    k: int = 10,
    hops: int = 5,
    value: Value = None,
    depth: int = 2,
    *,
    per: str | None = None,
    progress: Progress = silent,
) -> SeedComparison:
    """Compare all methods on a graph, or on each of its hosts or sites of at least 100 pages."""
    check_numbers(k, hops)
    if hops == 0:
        raise InputError("hops is 0; a comparison needs at least one")
    return compare_seeds_on(_webs(graph, page_values(graph, value), per, k), k, hops, depth, per=per, progress=progress)


def compare_seeds_on(
    webs: Sequence[Web],
    k: int = 10,
    hops: int = 5,
    depth: int = 2,
    *,
    per: str | None = None,
    n_draws: int = N_DRAWS,
    progress: Progress = silent,
) -> SeedComparison:
    """Compare all methods on several webs, each of at least k pages and some value; random is the mean of `n_draws`.

    Each web gets k seeds; fewer seeds need no separate selection, because they are a prefix of more.
    """
    webs = [Web(graph, page_values(graph, value)) for graph, value in webs]
    makers = _makers(depth, n_draws)
    fixed = min(_FIXED_SEEDS, k)
    by_seeds: dict[str, SeedSeries] = {}
    by_hops: dict[str, SeedSeries] = {}
    for done, (name, make) in enumerate(makers.items()):
        progress(f"seeds by {name}", done, len(makers))
        by_seeds[name] = _mean([_covered(web, make, k, hops) for web in webs])
        each = [_mean([_covered(web, make, fixed, h) for web in webs]).at(fixed) for h in range(1, hops)]
        by_hops[name] = SeedSeries(*np.transpose([*each, by_seeds[name].at(fixed)]))
    all_values = np.concatenate([web.value for web in webs])
    return SeedComparison(
        n_pages=len(all_values),
        n_webs=len(webs),
        per=per,
        k=k,
        hops=hops,
        fixed_seeds=fixed,
        measures=("pages",) if bool((all_values == all_values[0]).all()) else ("pages", "value"),
        by_seeds=by_seeds,
        by_hops=by_hops,
    )


def _webs(graph: LinkGraph, values: NDArray[np.float64], per: str | None, k: int) -> list[Web]:
    """Return the webs to choose seeds on, with the values of their pages."""
    if per is None:
        if k > graph.n_pages:
            raise InputError(f"k is {k:,}, but the graph has {graph.n_pages:,} pages to choose from")
        webs = [Web(graph, values)]
    else:
        groups = groups_of(graph, Division.of(graph, per))
        webs = [Web(group.graph, values[group.pages]) for group in groups if len(group.pages) >= max(MIN_PAGES, k)]
    webs = [web for web in webs if (web.value > 0).any()]
    if not webs:
        raise InputError(
            "no page has a positive value" if per is None else f"no {per} has {max(MIN_PAGES, k)} pages and any value"
        )
    return webs


def _makers(depth: int, n_draws: int) -> dict[str, Callable[[], Sequence[SeedMethod]]]:
    """Return factories of methods by label; results are means over the methods. As in the paper, max-weight runs at
    two depths."""
    makers: dict[str, Callable[[], Sequence[SeedMethod]]] = {}
    for name, kind in all_methods().items():
        if name == RANDOM:
            makers[name] = lambda: [make_method(RANDOM, rng=rng) for rng in range(n_draws)]
        elif "depth" in settings_of(kind):
            for d in (depth, depth + 1) if name == "max-weight" else (depth,):
                makers[f"{name}({d})"] = lambda name=name, d=d: [make_method(name, depth=d)]  # type: ignore[misc]
        else:
            makers[name] = lambda name=name: [make_method(name)]  # type: ignore[misc]
    return makers


def _covered(web: Web, make: Callable[[], Sequence[SeedMethod]], k: int, hops: int) -> SeedSeries:
    """Return the shares that 1 to k seeds cover."""
    total = web.value[web.value > 0].sum()
    found = []
    for method in make():
        seeds = choose_seeds(method, Cover(web.graph, hops, web.value), k)
        added = np.zeros((2, k))
        added[0, : len(seeds)] = [seed.n_pages for seed in seeds]
        added[1, : len(seeds)] = [seed.value for seed in seeds]
        pages, value = np.cumsum(added, axis=1)
        found.append(SeedSeries(pages / web.graph.n_pages, value / total))
    return _mean(found)


def _mean(series: list[SeedSeries]) -> SeedSeries:
    return SeedSeries(
        np.asarray(np.mean([one.pages for one in series], axis=0)),
        np.asarray(np.mean([one.value for one in series], axis=0)),
    )


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(one) else float(one) for one in values]


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
    make_plain(axes)


def _scale(axes: Axes, percents: NDArray[np.float64]) -> None:
    """Make the axis logarithmic beyond about the median if the largest curve would compress all others."""
    sizes = np.abs(percents[np.isfinite(percents)])
    usual, largest = (float(np.median(sizes)), float(sizes.max())) if len(sizes) else (0.0, 0.0)
    if largest <= _TOO_WIDE * max(usual, _LEAST_PERCENT):
        return
    linear_to = 10.0 ** np.floor(np.log10(max(usual, _LEAST_PERCENT)))
    axes.set_yscale("symlog", linthresh=linear_to)
    axes.set_ylabel(f"over random (logarithmic beyond {linear_to:,.6g} %)")
