"""The global rank of local domains: frontier return, our estimator, compared with the paper's on the same fetches.

What the paper claims of its own estimator is in `experiments/global-rank`. Pages are chosen by stochastic complement,
2n in 50 rounds; L1, L-infinity and Kendall's tau-b against the true rank in the whole graph. Domains that are closed or
exact from the start (L1 below 1e-5) are left out. Frontier return came out of some 200 variants. *Chosen by* are
domains the variants were ranked on; *watched* ones were not, but results on them were seen three times on the way and
one change followed, and some overlap with the first: no clean test; *held out* ones were run once everything was fixed,
and are the figures to go by. The two differ only where something is left on the frontier. Ratios are geometric means.
Plot: `benchmarks/plots/`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.global_rank_domains import grouped_domains, more_kinds
from benchmarks.measure import machine, table
from benchmarks.sizes import sized
from experiments.domain_runs import L1, METHODS, ROUNDS, Run, complement_runs
from experiments.global_rank import MARKS
from orienteer.evaluate.report import COLOURS, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = {
    "docs-web-dev": "hosts",
    "schools-wikipedia-articles": "subjects",
    "polblogs-2004": "blogs",
    "webkb-dev": "universities and their hosts",
    "cnr-2000-nat": "stretches of cnr-2000",
    "wb-cs-stanford-2001": "stretches of stanford",
    "hollins-2004": "stretches of hollins",
    "ukwa-hosts-1996": "suffixes of .uk",
    "wikispeedia": "subjects of wikispeedia",
}
PLOT = sized(Path(__file__).parent / "plots", Path(tempfile.gettempdir())) / "global-rank-estimators.png"
FEWEST = sized(5, 1)  # domains of a kind
EDGES = (0.005, 0.02, 0.1, 2.0)  # of changes
Groups = dict[str, list[Run]]


def run() -> str:
    groups = {group: complement_runs(domains) for group, domains in grouped_domains().items()}
    _plot(groups)
    every = [run for runs in groups.values() for run in runs] + complement_runs(more_kinds())
    linked = [run for run in every if run.domain.n_inner_links]
    texts = [
        machine("numba", "numpy") + "\n",
        _by_estimator(groups),
        *(experience(linked, method) for method in METHODS),
        _without_basis(every),
    ]
    return "\n".join(texts)


def _by_estimator(groups: Groups) -> str:
    rows = []
    for group, runs in groups.items():
        rows += [[f"{group}, {mark}", *_compared(runs, at)] for mark, at in MARKS.items() if at]
        differ = [run for run in runs if abs(run.errors["paper"] - run.errors["frontier-return"])[-1, L1] > 1e-7]
        rows.append([f"{group}, 2n, where the two differ", *_compared(differ, ROUNDS)])
        for name, kind in KINDS.items():
            part = [run for run in runs if run.domain.web.name == name]
            if part and group != "chosen by":
                rows.append([f"{group}: {kind}, 2n", *_compared(part, ROUNDS)])
    heads = ["frontier return and the paper's", "domains", "L1 local", "L1 paper", "L1 ours", "ratio", "better in",
             "L∞ ratio", "tau paper", "tau ours", "tau better / worse in"]  # fmt: skip
    return table(heads, rows)


def _compared(runs: list[Run], at: int) -> list[str]:
    """Compare frontier return with the paper's estimator on these domains."""
    ours = np.array([run.errors["frontier-return"][at] for run in runs])
    theirs = np.array([run.errors["paper"][at] for run in runs])
    return [
        str(len(runs)), f"{np.mean([run.local_l1 for run in runs]):.3f}", f"{theirs[:, 0].mean():.4f}",
        f"{ours[:, 0].mean():.4f}", f"{_ratio(ours[:, 0], theirs[:, 0]):.2f}",
        f"{int((ours[:, 0] < theirs[:, 0] - 1e-7).sum())}", f"{_ratio(ours[:, 1], theirs[:, 1]):.2f}",
        f"{np.nanmean(theirs[:, 2]):.4f}", f"{np.nanmean(ours[:, 2]):.4f}",
        f"{int((ours[:, 2] > theirs[:, 2] + 1e-6).sum())} / {int((ours[:, 2] < theirs[:, 2] - 1e-6).sum())}",
    ]  # fmt: skip


def _ratio(ours: Any, theirs: Any) -> float:
    return float(np.exp(np.mean(np.log(np.maximum(ours, 1e-9) / np.maximum(theirs, 1e-9)))))


def experience(runs: list[Run], method: str) -> str:
    """What error was left where the estimate had changed so much while the last n/5 pages were fetched.

    Each domain counts once a row, with its median. A figure is what 95 in 100 domains of the worst kind of five or more
    were within; *by other kinds* is the share of its domains' rounds that are within the figures of all other kinds.
    These are the figures of EXPERIENCE in history.py.
    """
    kinds = sorted({run.domain.web.name for run in runs})
    within = {kind: _within([run for run in runs if run.domain.web.name != kind], method) for kind in kinds}
    shares = {
        kind: [_share_within(run, method, within[kind]) for run in runs if run.domain.web.name == kind]
        for kind in kinds
    }
    every = [share for found in shares.values() for share in found]
    figures = [
        [f"changes below {edge:g}", f"{most:.2f}"] for edge, most in zip(EDGES, _within(runs, method), strict=True)
    ]
    tried = [[KINDS.get(kind, kind), str(len(found)), f"{np.mean(found):.2f}"] for kind, found in shares.items()]
    return "\n".join((
        table([f"{method}: change over the last n/5 pages", "95 % of the worst kind within, L1"], figures),
        table([f"{method}: kind", "domains", "within, by other kinds"],
              [*tried, ["all", str(len(every)), f"{np.mean(every):.2f}"]]),
    ))  # fmt: skip


def _recent(run: Run, method: str) -> tuple[Any, Any]:
    """Which row each round is in by what changed lately, and its error."""
    changes = np.convolve(run.changes[method], np.ones(5), "valid")
    rows = np.minimum(np.searchsorted(EDGES, changes, side="right"), len(EDGES) - 1)
    return rows, run.errors[method][5:, L1]


def _within(runs: list[Run], method: str) -> Any:
    """For each row, what nearly all domains of the worst kind are within; never less than the row before."""
    left: list[dict[str, list[float]]] = [{} for _ in EDGES]
    for run in runs:
        rows, errors = _recent(run, method)
        for row in np.unique(rows):
            left[row].setdefault(run.domain.web.name, []).append(float(np.median(errors[rows == row])))
    within = ([np.quantile(found, 0.95) for found in kinds.values() if len(found) >= FEWEST] for kinds in left)
    most = [max(one, default=0.0) for one in within]
    return np.maximum.accumulate(most)


def _share_within(run: Run, method: str, within: Any) -> float:
    rows, errors = _recent(run, method)
    return float(np.mean(errors <= within[rows]))


def _without_basis(runs: list[Run]) -> str:
    """Why nothing is said of them."""
    found = {
        "before n/5 pages were fetched": [error for run in runs if run.domain.n_inner_links
                                          for error in run.errors["frontier-return"][:5, L1]],
        "domains without links between their pages": [run.errors["frontier-return"][-1, L1] for run in runs
                                                      if not run.domain.n_inner_links],
    }  # fmt: skip
    rows = [
        [label, str(len(errors)), *(f"{np.quantile(errors, share):.2f}" for share in (0.5, 0.9, 1.0))]
        for label, errors in found.items()
    ]
    return table(["no basis for a figure", "estimates", "L1 left: half", "90 %", "all"], rows)


def _plot(groups: Groups) -> None:
    """Both estimators after the last round, a dot a domain."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.8, 5.6), dpi=130, layout="constrained")
    _scatter(figure.subplots(), groups)
    PLOT.parent.mkdir(exist_ok=True)
    write_figure(figure, PLOT)


def _scatter(axes: Axes, groups: Groups) -> None:
    faces = {"held out": COLOURS[1], "watched": COLOURS[3], "chosen by": "none"}
    for group, runs in groups.items():
        x, y = ([max(run.errors[method][-1, L1], 1e-4) for run in runs] for method in METHODS)
        axes.scatter(
            x,
            y,
            s=26,
            facecolors=faces[group],
            edgecolors=COLOURS[0],
            linewidths=0.7,
            alpha=0.85,
            label=group,
            zorder=3,
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
    axes.grid(which="major", color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
