"""Compare policies on one graph: the coverage, the proofs and the cost of each.

The truth, unknown to a crawl, is the PageRank personalized by the trust. For each policy and each level (such as 0.98)
the comparison counts the fetches until

- *actual*: the fetched pages have that share of the true rank;
- *own*: the policy itself has proved it, if it proves anything;
- *certified*: the certificate, the best bound that the links of fetched pages allow, has proved it;
- *measured*: random walks, whose pages count, have measured it, or it was proved, whichever came first. This takes
  another crawl for each level, step by step; it is done if a `confidence` is given.

A policy runs until it has proved the highest level itself (then the certificate has, too, as the better bound), or, if
it proves nothing, until the certificate has. It stops earlier at the budget, or when nothing is left to fetch. RankMass
and its variants would push ever smaller amounts beyond that, without benefit; `whole` continues nevertheless.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.crawl.goal import Goal
from orienteer.crawl.simulate import Trace, simulate
from orienteer.errors import InputError
from orienteer.evaluate.metrics import Cost, Curve, cumulative_rank, first_reaching, measured, sample_positions
from orienteer.graph import shapes
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import crawl_trust, pagerank
from orienteer.graph.trust import Trust
from orienteer.pages.stop_reason import StopReason
from orienteer.policies import all_policies
from orienteer.policies.focused import FocusedPolicy
from orienteer.policies.policy_spec import PolicySpec
from orienteer.progress import Progress, silent

LEVELS = (0.90, 0.98, 0.99)

_TRUTH = 1e-10  # L1 error of the true ranks
_CURVE_POSITIONS = 240
_CERTIFICATE_POSITIONS = 60  # each costs pushes
_MEASURES = ("actual", "own", "certified", "measured", "uniform")
_STEPS = 1000  # of progress, for each policy


@dataclass(frozen=True)
class PolicyResult:
    """The result of one policy.

    `fetches` has, by measure (actual, own, certified, measured, uniform), the fetches until each level, None for never.
    `curves` are actual, own (if `proves`), lower and upper (the certificate's bounds), and uniform (if requested).
    """

    policy: str
    proves: bool
    n_fetched: int
    stopped_because: StopReason
    cost: Cost
    fetches: dict[str, tuple[int | None, ...]]
    curves: dict[str, Curve]

    def as_dict(self, levels: Sequence[float]) -> dict[str, Any]:
        return {
            "policy": self.policy,
            "proves": self.proves,
            "n_fetched": self.n_fetched,
            "stopped_because": self.stopped_because,
            "cpu_s": round(self.cost.cpu_s, 4),
            "memory_bytes": self.cost.memory_bytes,
            "fetches_until": {
                measure: dict(zip(map(str, levels), counts, strict=True)) for measure, counts in self.fetches.items()
            },
            "curves": {name: _curve_dict(curve) for name, curve in self.curves.items()},
        }


@dataclass(frozen=True)
class Comparison:
    """Policies on one graph, sorted by the fetches until certified.

    `ceilings` are upper bounds for any order, the cumulated highest ranks: one for each truth (actual, and uniform if
    requested).
    """

    n_pages: int
    n_links: int
    n_trusted: int
    damping: float
    levels: tuple[float, ...]
    budget: int | None
    results: tuple[PolicyResult, ...]
    ceilings: dict[str, Curve]

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that were counted: actual, own, certified, and optionally measured and uniform."""
        return tuple(self.results[0].fetches)

    def as_dict(self) -> dict[str, Any]:
        """Return all results, for JSON."""
        return {
            "n_pages": self.n_pages,
            "n_links": self.n_links,
            "n_trusted": self.n_trusted,
            "damping": self.damping,
            "levels": list(self.levels),
            "budget": self.budget,
            "policies": [result.as_dict(self.levels) for result in self.results],
            "ceilings": {name: _curve_dict(curve) for name, curve in self.ceilings.items()},
        }


def compare(
    graph: LinkGraph,
    policies: Sequence[str | PolicySpec] = (),
    trust: Trust = None,
    *,
    damping: float = 0.85,
    levels: Sequence[float] = LEVELS,
    budget: int | None = None,
    whole: bool = False,
    uniform: bool = False,
    confidence: float | None = None,
    rng: int = 0,
    progress: Progress = silent,
) -> Comparison:
    """Run the policies (by default all but the focused ones) from the same trusted pages.

    Without `trust` these are the pages that `simulate` trusts.

    `uniform` also counts the rank of a surfer who starts anywhere. `whole` continues to the budget or the end. With a
    `confidence` the coverage is also measured by random walks, seeded by `rng`.

    >>> found = compare(shapes.star(9), ["rankmass", "random"], trust=[0], levels=[0.5])
    >>> [(result.policy, result.fetches["actual"]) for result in found.results]
    [('rankmass', (1,)), ('random', (1,))]
    """
    specs = _specs(policies)
    levels = checked_levels(levels)
    goal = Goal(None if whole else levels[-1], budget, confidence=confidence)
    weights = crawl_trust(graph, trust, progress)
    truths = {"actual": pagerank(graph, weights, damping, _TRUTH, progress=progress)}
    if uniform:
        truths["uniform"] = pagerank(graph, None, damping, _TRUTH, progress=progress)
    results = []
    for k, spec in enumerate(specs):
        watch = _progress_of(progress, str(spec), k, len(specs))
        results.append(_result(graph, spec, weights, damping, goal, levels, truths, rng, watch))
    longest = max(result.n_fetched for result in results)
    return Comparison(
        n_pages=graph.n_pages,
        n_links=graph.n_links,
        n_trusted=int(np.count_nonzero(weights)),
        damping=damping,
        levels=levels,
        budget=budget,
        results=tuple(sorted(results, key=_soonest_certified)),
        ceilings={name: _ceiling(rank, longest) for name, rank in truths.items()},
    )


def _result(
    graph: LinkGraph,
    spec: PolicySpec,
    trust: NDArray[np.float64],
    damping: float,
    goal: Goal,
    levels: tuple[float, ...],
    truths: dict[str, NDArray[np.float64]],
    rng: int,
    progress: Progress,
) -> PolicyResult:
    """Run one policy and measure its results and cost."""
    warm_up(spec, damping, with_hosts=graph.hosts is not None)
    policy = spec.make(damping)
    with measured() as cost:
        trace = simulate(graph, policy, trust, goal.until, goal.budget, progress=progress)
    after_each = {name: cumulative_rank(rank, trace.order) for name, rank in truths.items()}
    if policy.proves and trace.guarantees is not None:
        after_each["own"] = trace.guarantees
    fetches = {name: tuple(first_reaching(values, level) for level in levels) for name, values in after_each.items()}
    fetches.setdefault("own", (None,) * len(levels))
    fetches["certified"] = tuple(trace.fetches_until(level) for level in levels)
    if goal.confidence is not None:
        run = (graph, spec, trust, damping, goal)
        fetches["measured"] = tuple(_fetches_until_measured(*run, level, rng, progress) for level in levels)
    positions = sample_positions(trace.n_fetched, _CURVE_POSITIONS)
    curves = {name: Curve.sampled(values, positions) for name, values in after_each.items()}
    return PolicyResult(
        policy=str(spec),
        proves=policy.proves,
        n_fetched=trace.n_fetched,
        stopped_because=trace.stopped_because,
        cost=cost,
        fetches={name: fetches[name] for name in _MEASURES if name in fetches},
        curves=curves | _certificate_curves(trace),
    )


def _fetches_until_measured(
    graph: LinkGraph, spec: PolicySpec, trust: NDArray[np.float64], damping: float, goal: Goal, level: float, rng: int,
    progress: Progress,
) -> int | None:  # fmt: skip
    """Return the fetches of another crawl, until walks or a proof reach this level; None if it ends earlier."""
    trace = simulate(
        graph, spec.make(damping), trust, level, goal.budget, confidence=goal.confidence, rng=rng, progress=progress
    )
    return trace.n_fetched if trace.stopped_because in (StopReason.MEASURED, StopReason.COVERAGE) else None


def _certificate_curves(trace: Trace) -> dict[str, Curve]:
    positions = sample_positions(trace.n_fetched, _CERTIFICATE_POSITIONS)
    certificates = trace.certificates(positions)
    return {
        "lower": Curve(positions, np.array([certificate.lower for certificate in certificates])),
        "upper": Curve(positions, np.array([certificate.upper for certificate in certificates])),
    }


def warm_up(spec: PolicySpec, damping: float, with_hosts: bool, step_by_step: bool = False) -> None:
    """Compile or load the kernels, so that this is not part of the next measurement."""
    star = shapes.star(5)
    web = LinkGraph(star.offsets, star.targets, np.arange(6, dtype=np.int32) if with_hosts else None)
    simulate(web, spec.make(damping), [0], until=0.5, by_certificate=True, step_by_step=step_by_step)


def _ceiling(rank: NDArray[np.float64], n_fetched: int) -> Curve:
    best_first = np.sort(rank)[::-1][:n_fetched]
    return Curve.sampled(np.cumsum(best_first), sample_positions(len(best_first), _CURVE_POSITIONS))


def _specs(policies: Sequence[str | PolicySpec]) -> list[PolicySpec]:
    unfocused = [name for name, kind in all_policies().items() if not issubclass(kind, FocusedPolicy)]
    given = [PolicySpec.parse(spec) if isinstance(spec, str) else spec for spec in policies or unfocused]
    return list({str(spec): spec for spec in given}.values())


def checked_levels(levels: Sequence[float]) -> tuple[float, ...]:
    if not levels:
        raise InputError("levels: at least one share of the rank is needed, such as 0.98")
    for level in levels:
        if not 0 < level < 1:
            raise InputError(f"levels: {level} is not a share of the rank between 0 and 1, such as 0.98")
    return tuple(sorted(set(levels)))


def _soonest_certified(result: PolicyResult) -> tuple[float, ...]:
    """Return the sort key: fetches until certified, then until actual, the highest level first; never sorts last."""
    counts = (*reversed(result.fetches["certified"]), *reversed(result.fetches["actual"]))
    return tuple(float("inf") if count is None else count for count in counts)


def _progress_of(progress: Progress, name: str, position: int, n_policies: int) -> Progress:
    """Return the progress of one policy, scaled to its share of the whole comparison."""

    def report(stage: str, done: int, total: int) -> None:
        share = min(done / total, 1.0) if total else 0.0
        progress(name, int(_STEPS * (position + share)), _STEPS * n_policies)

    report("", 0, 1)
    return report


def _curve_dict(curve: Curve) -> dict[str, list[Any]]:
    return {"positions": curve.positions.tolist(), "values": curve.values.tolist()}
