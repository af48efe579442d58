"""Figure 1 of the paper on global rank: is the influence of a page a good guess at what fetching it brings?

The influence of a frontier page is computed before it is fetched (stochastic complement). The objective is the L1 error
of the domain's rank when this page alone is added: with links as links go in general, which is what the paper defines,
and with the links that it turns out to have. Both for frontier pages of a domain drawn at random, compared with the
number of links to the page.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from experiments.domain_runs import known_locally
from experiments.domains import Domain
from orienteer.graph.estimation.estimation import Estimation
from orienteer.graph.estimation.known_web import Neighborhood
from orienteer.graph.estimation.selection import Influence

_MAX_PAGES, _MIN_PAGES = 200, 20
_TOLERANCE = 1e-9
_SAME = 1e-7


@dataclass(frozen=True)
class Candidates:
    """Pages that might be fetched: what is computed of each before, and the error that is left after.

    `expected` is that error with links as links go in general, `objective` with those that the page has.
    """

    domain: Domain
    influence: NDArray[np.float64]
    n_links: NDArray[np.float64]
    expected: NDArray[np.float64]
    objective: NDArray[np.float64]

    @property
    def correlations(self) -> NDArray[np.float64]:
        """Of influence, then of links, with what is won: expected, then in fact; 1 is perfect, NaN: all is the same."""
        return np.array(
            [
                [correlation(guess, -error) for error in (self.expected, self.objective)]
                for guess in (self.influence, self.n_links)
            ]
        )


def candidates_of(domain: Domain, rng: int = 0) -> Candidates | None:
    """Up to 200 pages of the frontier; None where it has fewer than 20."""
    estimation = Estimation(known_locally(domain), domain.pages, method="paper")
    neighborhood = estimation.neighborhood
    n_frontier = len(neighborhood.frontier)
    if n_frontier < _MIN_PAGES:
        return None
    places = np.sort(np.random.default_rng(rng).permutation(n_frontier)[:_MAX_PAGES]).astype(np.int64)
    influence = Influence.of(neighborhood, estimation.rank_within(_TOLERANCE)).exact(places)
    n_links = np.bincount(neighborhood.outward, minlength=n_frontier)[places].astype(float)
    in_links = np.bincount(neighborhood.inside, minlength=neighborhood.n_local).astype(float)
    usual = in_links / in_links.sum() if in_links.any() else np.full(neighborhood.n_local, 1 / neighborhood.n_local)
    errors = [
        np.abs(ranks_with(neighborhood, places, onward) - domain.truth[:, None]).sum(axis=0)
        for onward in (np.tile(usual[:, None], len(places)), _links_home(domain, neighborhood.frontier[places]))
    ]
    return Candidates(domain, influence, n_links, *errors)


def ranks_with(
    neighborhood: Neighborhood, places: NDArray[np.int64], onward: NDArray[np.float64], damping: float = 0.85
) -> NDArray[np.float64]:
    """The rank of the crawled pages when one page of the frontier is added, a column for each; columns sum to 1.

    `onward` says where each of these pages leads; one that leads nowhere is dangling.
    """
    n, n_frontier = neighborhood.n_crawled, len(neighborhood.frontier)
    inside = csr_matrix(
        (np.ones(len(neighborhood.inside)), neighborhood.inside, neighborhood.inside_offsets), (n, n)
    ).T.tocsr()
    to_frontier = csr_matrix(
        (np.ones(len(neighborhood.outward)), neighborhood.outward, neighborhood.outward_offsets), (n, n_frontier)
    )
    to_page = np.asarray(to_frontier[:, places].toarray())
    degrees = neighborhood.inside_degrees()[:, None] + to_page
    is_dangling, leads_nowhere = degrees == 0, onward.sum(axis=0) == 0
    rank, of_page = np.full(to_page.shape, 1 / (n + 1)), np.full(len(places), 1 / (n + 1))
    while True:
        shared = np.where(is_dangling, 0.0, rank / np.maximum(degrees, 1))
        lost = np.where(is_dangling, rank, 0.0).sum(axis=0) + np.where(leads_nowhere, of_page, 0.0)
        anywhere = (damping * lost + 1 - damping) / (n + 1)
        new = damping * (inside @ shared + onward * of_page) + anywhere
        of_page = damping * (to_page * shared).sum(axis=0) + anywhere
        change = float(np.abs(new - rank).sum(axis=0).max())
        rank = new
        if change * damping / (1 - damping) < _TOLERANCE:
            return np.asarray(rank / rank.sum(axis=0))


def _links_home(domain: Domain, frontier: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Where the links of these pages lead in the domain, a column for each page."""
    where = np.full(domain.web.graph.n_pages, -1)
    where[domain.pages] = np.arange(len(domain.pages))
    onward = np.zeros((len(domain.pages), len(frontier)))
    for k, page in enumerate(frontier.tolist()):
        places = where[domain.web.graph.links(page)]
        home = places[places >= 0]
        onward[home, k] = 1 / max(len(home), 1)
    return onward


def correlation(guess: NDArray[np.float64], won: NDArray[np.float64]) -> float:
    """Pearson's; NaN where either is the same for all."""
    if np.ptp(guess) == 0 or np.ptp(won) < _SAME:
        return float("nan")
    return float(np.corrcoef(guess, won)[0, 1])
