"""What the paper on seeds found, each finding held against a comparison on other webs.

Zheng et al., Graph-based seed selection for web-scale crawlers, CIKM 2009. A comparison has two sets of curves: over
the seeds at the most hops, and over the hops at a fixed number of seeds. A claim that some methods cover no less than
others

- *holds*, if it does at every point of both curves, for every pair of methods;
- *holds in shape*, if it does on the whole: by the mean of either curve, for every pair, or misses it by less than 1 %;
- *does not hold* otherwise.

A claim that the improvement over random falls, or grows, along a curve: from every point to the next, for every method;
from the first point to the last; or not. Each verdict comes with the figure that decided it: `a 0.420 of b, h=1` says
that method a covers 0.42 of what b does at one hop; `k=1..10` is the mean of a curve.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.verdict import FAILS, HOLDS, IN_SHAPE
from orienteer.evaluate.seed_compare import RANDOM, SeedComparison

SIMILAR = 0.97  # of what another covers: as good as that

_OUT_DEGREE, _PAGERANK, _MAX_OUT, _ROOT = "out-degree", "pagerank", "max-out", "root-scc(2)"
_WEIGHT_2, _WEIGHT_3 = "max-weight(2)", "max-weight(3)"
HEURISTICS = (RANDOM, _PAGERANK, _OUT_DEGREE)
GRAPH_BASED = (_MAX_OUT, _WEIGHT_2, _WEIGHT_3, "max-scc(2)", _ROOT)

_ROUNDING = 1e-9
_NEXT_TO_NOTHING = 0.01


class Finding(NamedTuple):
    """A verdict, and the figure that decided it."""

    verdict: str
    detail: str


@dataclass(frozen=True)
class CoversMore:
    """Each of `better` covers at least `share` of what each of `others` does, of pages or of value."""

    text: str
    better: tuple[str, ...]
    others: tuple[str, ...]
    share: float = 1.0

    def held_against(self, found: SeedComparison, measure: str) -> Finding:
        points, wholes = [], []
        for axis, a, b, covered, by_other in self._curves(found, measure):
            wholes.append((_ratio(covered.mean(), by_other.mean()), a, b, f"{axis}=1..{len(covered)}"))
            points += [
                (_ratio(*both), a, b, f"{axis}={place}")
                for place, both in enumerate(zip(covered, by_other, strict=True), 1)
            ]
        least, least_whole = min(points), min(wholes)
        if least[0] >= self.share - _ROUNDING:
            return Finding(HOLDS, _pair_text(*least))
        if least_whole[0] >= self.share - _NEXT_TO_NOTHING:
            return Finding(IN_SHAPE, _pair_text(*least))
        return Finding(FAILS, _pair_text(*least_whole))

    def _curves(
        self, found: SeedComparison, measure: str
    ) -> Iterator[tuple[str, str, str, NDArray[np.float64], NDArray[np.float64]]]:
        """Both curves of every pair of methods, with the letter of their axis."""
        for axis, series in (("k", found.by_seeds), ("h", found.by_hops)):
            for a in self.better:
                for b in self.others:
                    if a != b:
                        yield axis, a, b, series[a].of(measure), series[b].of(measure)


@dataclass(frozen=True)
class ImprovementMoves:
    """The improvement over random of each method falls as the seeds grow ("k"), or grows with the hops ("h")."""

    text: str
    methods: tuple[str, ...]
    axis: str

    def held_against(self, found: SeedComparison, measure: str) -> Finding:
        series, sign = (found.by_seeds, -1) if self.axis == "k" else (found.by_hops, 1)
        curves = {name: found.improvement(series, name, measure) for name in self.methods}
        if np.isnan([*curves.values()]).any():
            return Finding(FAILS, f"{RANDOM} covers nothing")
        steps = {name: sign * np.diff(curve) for name, curve in curves.items()}
        least = min(steps, key=lambda name: float(steps[name].sum()))
        first, last = (over_random(float(curves[least][end])) for end in (0, -1))
        detail = f"{least} {first} at {self.axis}=1, {last} at {self.axis}={len(curves[least])}"
        if all((step >= -_ROUNDING).all() for step in steps.values()):
            return Finding(HOLDS, detail)
        return Finding(IN_SHAPE if steps[least].sum() >= 0 else FAILS, detail)


Claim = CoversMore | ImprovementMoves

# What the paper says: the first two of both, then of pages, of value; then of both.
BEATS_RANDOM = CoversMore("every method beats random", (*GRAPH_BASED, _PAGERANK, _OUT_DEGREE), (RANDOM,))
BEATS_HEURISTICS = CoversMore("all graph-based methods beat all heuristics", GRAPH_BASED, HEURISTICS)
MAX_OUT_BEST = CoversMore("max-out is the best", (_MAX_OUT,), GRAPH_BASED + HEURISTICS)
MAX_WEIGHT_BEST = CoversMore("max-weight is the best", (_WEIGHT_2,), (_MAX_OUT, "max-scc(2)", _ROOT, *HEURISTICS))
DEPTH_2_ENOUGH = CoversMore("depth 2 is as good as 3", (_WEIGHT_2,), (_WEIGHT_3,), SIMILAR)
ROOT_SCC_POOR = CoversMore("root-scc is below out-degree", (_OUT_DEGREE,), (_ROOT,))
PAGERANK_POOR = CoversMore("pagerank is below out-degree", (_OUT_DEGREE,), (_PAGERANK,))
FALLS_WITH_SEEDS = ImprovementMoves("the improvement falls as the seeds grow", GRAPH_BASED, "k")
GROWS_WITH_HOPS = ImprovementMoves("the improvement grows with the hops", GRAPH_BASED, "h")


def over_random(share: float) -> str:
    """An improvement as text."""
    if np.isnan(share):
        return "–"
    return f"{100 * share:+,.0f} %" if abs(share) >= 0.1 else f"{100 * share:+.1f} %"


def _ratio(covered: float, by_other: float) -> float:
    """Who covers nothing, or less than nothing, is surpassed by everybody who covers no less."""
    if by_other > 0:
        return float(covered / by_other)
    return np.inf if covered >= by_other else -np.inf


def _pair_text(ratio: float, better: str, other: str, place: str) -> str:
    return f"{better} {ratio:.3f} of {other}, {place}"
