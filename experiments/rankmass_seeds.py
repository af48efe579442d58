"""RankMass, Figures 9 and 10: how many seeds?

Here all pages are trusted, each as much as its uniform PageRank, and a crawl starts from the k most trusted ones. The
trust they hold together, 1 - delta, bounds what L-Neighbor can prove: (1 - delta) (1 - d^(L+1)) after level L. The
RankMass is the PageRank with the trust of all pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from experiments.drawing import counts_across, legend, line, panels, png, titled
from experiments.findings import Finding, Plot, Table, graded, span
from experiments.rankmass_orders import top_pages
from orienteer.crawl.simulate import simulate
from orienteer.evaluate.metrics import Curve, cumulative_rank, sample_positions
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.progress import Progress

N_SEEDS = (160, 1600, 16000)
_PUBLISHED_SHARE = 100_000 / 141e6  # of the pages, which held over 99 % of the trust
_CURVE_POSITIONS = 300


@dataclass(frozen=True)
class Seeded:
    """A crawl by levels from the `n_seeds` most trusted pages, which hold `trust` together."""

    n_seeds: int
    trust: float
    guarantee: Curve
    mass: Curve


@dataclass(frozen=True)
class SeedStudy:
    """The trust of the most trusted pages, and crawls that start from them."""

    n_pages: int
    trust: Curve  # by the number of seeds
    crawls: tuple[Seeded, ...]

    @property
    def trust_of_published_share(self) -> float:
        """The trust of as large a share of the pages as the paper's 100,000."""
        return float(np.interp(max(_PUBLISHED_SHARE * self.n_pages, 1), *self.trust))


def study(graph: LinkGraph, rank: NDArray[np.float64], progress: Progress) -> SeedStudy:
    """`rank` is the uniform PageRank, which is the trust here."""
    best_first = np.sort(rank)[::-1]
    by_count = Curve.sampled(np.cumsum(best_first), sample_positions(graph.n_pages, _CURVE_POSITIONS))
    truth = pagerank(graph, rank, tolerance=1e-8, progress=progress)
    crawls = tuple(_seeded(graph, rank, truth, k, progress) for k in N_SEEDS if k < graph.n_pages // 2)
    return SeedStudy(graph.n_pages, by_count, crawls)


def _seeded(
    graph: LinkGraph, rank: NDArray[np.float64], truth: NDArray[np.float64], k: int, progress: Progress
) -> Seeded:
    seeds = top_pages(rank, k)
    trace = simulate(graph, "l-neighbor", seeds, progress=progress)
    assert trace.guarantees is not None
    trust = float(rank[seeds].sum())
    positions = sample_positions(trace.n_fetched, _CURVE_POSITIONS)
    proved = Curve.sampled(trust * trace.guarantees, positions)
    return Seeded(k, trust, proved, Curve.sampled(cumulative_rank(truth, trace.order), positions))


def figure_9(found: Mapping[str, SeedStudy]) -> Plot:
    figure, (axes,) = panels(1, width=7.5, height=4.2)
    for place, (web, one) in enumerate(found.items()):
        line(axes, (one.trust.positions / one.n_pages, one.trust.values), web, place)
    axes.set_xscale("log")
    axes.axvline(_PUBLISHED_SHARE, color="#999999", linewidth=0.9, zorder=1)
    axes.plot(_PUBLISHED_SHARE, 0.99, marker="*", markersize=12, color="black", linestyle="none", label="the paper")
    axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.6f}".rstrip("0").rstrip(".") + " %")
    titled(axes, "Trust of the most trusted pages", "seeds, as a share of all pages", "their share of the trust")
    legend(axes, loc="upper left")
    shows = "the trust of the seeds by their number. The line is at 0.07 % of the pages, the paper's 100,000 seeds."
    return Plot("figure-9", f"Figure 9: {shows}", png(figure))


def figure_10(web: str, found: SeedStudy) -> Plot:
    figure, axes = panels(2)
    for place, one in enumerate(found.crawls):
        line(axes[0], one.mass, f"{one.n_seeds:,} seeds", place)
        line(axes[1], one.guarantee, f"{one.n_seeds:,} seeds", place, drawstyle="steps-post")
    for one_axes, letter, what in zip(axes, "ab", ("actual", "guaranteed"), strict=True):
        one_axes.set_xscale("log")
        counts_across(one_axes)
        one_axes.set_ylim(0, 1.02)
        titled(one_axes, f"({letter}) {what}", "pages fetched", f"{what} RankMass")
        legend(one_axes, loc="upper left")
    return Plot("figure-10", f"Figure 10, on {web}: L-Neighbor from more or fewer seeds.", png(figure))


def table_of_seeds(found: Mapping[str, SeedStudy]) -> Table:
    rows = []
    for web, one in found.items():
        for crawl in one.crawls:
            at = [np.interp(share * one.n_pages, *crawl.mass) for share in (0.1, 0.5)]
            rows.append([web, f"{crawl.n_seeds:,}", f"{crawl.trust:.3f}", f"{_mean_guarantee(crawl):.3f}",
                         f"{_half_way_guarantee(one, crawl):.3f}",
                         f"{at[0]:.3f}", f"{at[1]:.3f}"])  # fmt: skip
    headings = ["web", "seeds", "their trust", "guaranteed on average", "at half", "actual at a tenth", "at half"]
    note = "By L-Neighbor, when a tenth and half of the pages are fetched; trust is the uniform PageRank of all pages."
    return Table("Figures 9 and 10 in figures", headings, rows, note)


def findings(found: Mapping[str, SeedStudy]) -> list[Finding]:
    """What became of the claims of Figures 9 and 10."""
    return [_trust_of_few(found), _guarantee_grows(found), _actual_alike(found)]


def _trust_of_few(found: Mapping[str, SeedStudy]) -> Finding:
    shares = [one.trust_of_published_share for one in found.values()]
    worst = min(shares)
    ours = f"{span([100 * share for share in shares], 0)} % of the trust on 0.07 % of the pages"
    return Finding("few-seeds-hold-trust", graded(worst >= 0.95, worst >= 0.5), worst, ours)


def _guarantee_grows(found: Mapping[str, SeedStudy]) -> Finding:
    """From the fewest to the most seeds; it must grow at every step, on average over the crawl and half-way, too."""
    means = [[_mean_guarantee(crawl) for crawl in one.crawls] for one in found.values()]
    halves = [[_half_way_guarantee(one, crawl) for crawl in one.crawls] for one in found.values()]
    ratio = means[-1][-1] / means[-1][0]
    ours = f"{_in_steps(means)} on average over the crawl, {_in_steps(halves)} at half of the pages"
    on_average = all(map(_grows, means))
    holds = on_average and all(map(_grows, halves)) and ratio >= 1.2
    return Finding("more-seeds-guarantee-more", graded(holds, on_average), ratio, ours)


def _grows(row: list[float]) -> bool:
    return all(first < second for first, second in pairwise(row))


def _in_steps(rows: list[list[float]]) -> str:
    return "; ".join(" / ".join(f"{value:.2f}" for value in row) for row in rows)


def _actual_alike(found: Mapping[str, SeedStudy]) -> Finding:
    """More seeds collect more at first, and from half of the pages on it makes no difference, or at least less."""
    early, late = [], []
    for one in found.values():
        fewest, most = one.crawls[0], one.crawls[-1]
        early.append(float(np.interp(most.n_seeds, *most.mass) - np.interp(most.n_seeds, *fewest.mass)))
        counts = np.linspace(0.5 * one.n_pages, one.n_pages, 20)
        late.append(float(np.abs(np.interp(counts, *most.mass) - np.interp(counts, *fewest.mass)).max()))
    ours = f"{span(early, 2)} more when the seeds of the largest set are fetched; at most "
    ours += f"{max(late):.3f} apart from half of the pages on"
    holds = min(early) > 0 and max(late) <= 0.05
    closer = all(then < before for then, before in zip(late, early, strict=True))
    return Finding("actual-alike-later", graded(holds, closer), max(late), ours)


def _half_way_guarantee(found: SeedStudy, crawl: Seeded) -> float:
    """What is guaranteed when half of the pages are fetched."""
    at = np.searchsorted(crawl.guarantee.positions, 0.5 * found.n_pages, side="right") - 1
    return float(crawl.guarantee.values[at])


def _mean_guarantee(crawl: Seeded) -> float:
    """What is guaranteed, on average over the crawl. It stays what it is until the next level is complete."""
    positions, values = crawl.guarantee
    return float(np.diff(positions, prepend=0) @ values / positions[-1])
