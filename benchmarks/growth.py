"""How costs grow with the web, from 1 to 100 million pages: a plot of what the sections say."""

from __future__ import annotations

from pathlib import Path

from benchmarks.results_file import Results
from orienteer.evaluate.report import COLOURS, MARKERS, write_figure

PLOT = Path(__file__).parent / "plots" / "growth.png"
_SCALE = ("1 M", "10 M", "100 M")
_CRAWL = ("0.8 of 1 M", "8 of 10 M", "80 of 100 M")
_SEEDS = ("100,000", "200,000", "1,000,000", "3,000,000", "10,000,000")
_ROUNDS = ("10,000", "30,000", "100,000", "300,000", "1,000,000")
_SUBJECTS = (
    "PageRank to 1e-6",
    "components",
    "Fractional PageRank",
    "10 seeds at 5 hops",
    "a round of estimating the global rank",
)

Curve = tuple[str, list[float], list[float]]


def write_plot(results: Results) -> None:
    """Time and memory against the size of the web, both logarithmic: what grows in proportion is a straight line."""
    from matplotlib.figure import Figure  # takes a second, and most benchmarks draw nothing

    figure = Figure(figsize=(11, 4.6), dpi=110, layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw(left, "CPU seconds", _times(results))
    _draw(right, "peak memory, GiB", _memory(results))
    write_figure(figure, PLOT)


def _times(results: Results) -> list[Curve]:
    pages = [1e6, 1e7, 1e8]
    of_web = {
        f"{task}, of the whole web": [results.number("scale", row, f"{task}, CPU s") for row in _SCALE]
        for task in ("PageRank to 1e-6", "components")
    }
    curves: list[Curve] = [(label, pages, values) for label, values in of_web.items()]
    order = [results.number("crawl_scale", row, "CPU s") for row in _CRAWL]
    curves.append(("Fractional PageRank, four fifths of the web", pages, order))
    seeds = [results.number("seeds", row, "CPU s", "generated web, pages") for row in _SEEDS]
    curves.append(("10 seeds at 5 hops, sketched", [_count(row) for row in _SEEDS], seeds))
    rounds = [results.number("global_rank_scale", f"{row}, paper", "CPU s a round") for row in _ROUNDS]
    curves.append(("a round of estimating the global rank", [_count(row) for row in _ROUNDS], rounds))
    return curves


def _memory(results: Results) -> list[Curve]:
    order = [results.number("crawl_scale", row, "peak GiB") for row in _CRAWL]
    seeds = [results.number("seeds", row, "peak MiB", "generated web, pages") / 1024 for row in _SEEDS]
    return [
        ("Fractional PageRank, the mapped graph included", [1e6, 1e7, 1e8], order),
        ("10 seeds at 5 hops, sketched", [_count(row) for row in _SEEDS], seeds),
    ]


def _count(text: str) -> float:
    return float(text.replace(",", ""))


def _draw(axes, title: str, curves: list[Curve]) -> None:  # type: ignore[no-untyped-def]
    for label, pages, values in curves:
        place = _SUBJECTS.index(label.split(",")[0])  # the same in both plots
        axes.plot(pages, values, color=COLOURS[place], marker=MARKERS[place], markersize=5, linewidth=1.6, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    axes.set_xlabel("pages")
    axes.xaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.grid(which="major", color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8.5, loc="upper left")
