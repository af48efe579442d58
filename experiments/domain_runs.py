"""The global rank of domains, estimated round by round: how far off it is, for each selection and each estimator.

2n pages in 50 rounds, as in the paper; after 25 rounds it is what 25 rounds of n pages in all give. Errors are L1,
L-infinity and Kendall's tau-b against the true rank.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.domains import Domain
from orienteer.graph.estimation import all_selections, make_estimator
from orienteer.graph.estimation.estimation import Estimation
from orienteer.graph.estimation.history import Errors
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.progress import Progress, silent

METHODS = ("paper", "frontier-return")
COMPLEMENT = "stochastic-complement"
ROUNDS = 50
L1, L_INF, TAU = range(3)
RANDOM_DRAWS = 3

_TOLERANCE = 1e-8
_EXACT = 1e-5  # L1 of a domain that is closed, or exact from the start


@dataclass(frozen=True)
class Run:
    """One domain by one selection: errors [method][round, L1 | L-infinity | tau], changes [method][round]."""

    domain: Domain
    select: str
    errors: dict[str, NDArray[np.float64]]
    changes: dict[str, NDArray[np.float64]]

    @property
    def local_l1(self) -> float:
        """The error before the first fetch, of what the domain's own links say."""
        return float(self.errors["paper"][0, L1])


def run_domain(domain: Domain, select: str = COMPLEMENT, rng: int = 0) -> Run:
    """Both estimators on the same fetches: what is fetched does not depend on them."""
    web, n_local = domain.web.graph, len(domain.pages)
    estimation = Estimation(known_locally(domain), domain.pages, select, "paper", rng=rng)
    estimators = {method: make_estimator(method) for method in METHODS}
    ranks: dict[str, list[NDArray[np.float64]]] = {method: [] for method in METHODS}
    for k in [0, *np.diff(np.arange(ROUNDS + 1) * 2 * n_local // ROUNDS).tolist()]:
        for page in estimation.next_pages(k).tolist():
            estimation.fetched(page, web.links(page))
        within = estimation.rank_within(_TOLERANCE)
        for method, estimator in estimators.items():
            worth = estimator.worth(estimation.neighborhood, within, _TOLERANCE, estimation.damping)[:n_local]
            ranks[method].append(worth / worth.sum())
    errors = {method: np.array([_errors(rank, domain) for rank in ranks[method]]) for method in METHODS}
    changes = {method: np.abs(np.diff(np.array(ranks[method]), axis=0)).sum(axis=1) for method in METHODS}
    return Run(domain, select, errors, changes)


def known_locally(domain: Domain) -> GrowingGraph:
    """The web as the domain's own pages show it."""
    known = GrowingGraph()
    known.grow_to(domain.web.graph.n_pages)
    for page in domain.pages.tolist():
        known.add(page, domain.web.graph.links(page))
    return known


def runs_of(domains: Iterable[Domain], progress: Progress = silent) -> list[Run]:
    """All selections on every domain that is neither closed nor exact from the start; random as the mean of draws."""
    runs, domains = [], list(domains)
    for done, domain in enumerate(domains):
        progress(f"domains: {domain.web.name} {domain.name}", done, len(domains))
        first = run_domain(domain)
        if first.local_l1 < _EXACT:
            continue
        others = [name for name in all_selections() if name not in (COMPLEMENT, "random")]
        draws = [run_domain(domain, "random", rng) for rng in range(RANDOM_DRAWS)]
        runs += [first, *(run_domain(domain, name) for name in others), _mean(draws)]
    return runs


def complement_runs(domains: Iterable[Domain]) -> list[Run]:
    """Stochastic complement alone, on the same kind of domains."""
    return [run for run in map(run_domain, domains) if run.local_l1 >= _EXACT]


def _errors(rank: NDArray[np.float64], domain: Domain) -> tuple[float, float, float]:
    found = Errors.between(rank, domain.truth)
    return found.l1, found.l_inf, found.tau


def _mean(draws: list[Run]) -> Run:
    errors = {method: np.mean([run.errors[method] for run in draws], axis=0) for method in METHODS}
    changes = {method: np.mean([run.changes[method] for run in draws], axis=0) for method in METHODS}
    return Run(draws[0].domain, draws[0].select, errors, changes)
