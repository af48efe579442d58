"""A domain compared with its neighborhood: its top referrers, and the pages whose local and global ranks differ most.

The *impact* of a non-local page j is g[j] * o_L[j] / o[j] (Davis & Dhillon): its global rank times the share of its
links that lead into the domain, which is how often a surfer enters through it. It is known for fetched pages only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.estimation.estimation import Estimation
from orienteer.graph.estimation.known_web import Neighborhood, rank_within


@dataclass(frozen=True)
class ReferringPage:
    """A non-local page that links into the domain.

    `worth` is its estimated rank among all crawled pages; `impact` is the share of it that follows its links to the
    local pages `links`, out of its `n_links` links.
    """

    page: int
    worth: float
    impact: float
    links: NDArray[np.uint32]
    n_links: int


@dataclass(frozen=True)
class LocalPageRanks:
    """The local and the global rank of a local page.

    `inside` is its rank by the links between local pages alone, `outside` its estimated global rank; both sum to 1 over
    the domain. Positions begin at 1. The names of the fields are keys in estimate.json.
    """

    page: int
    inside: float
    outside: float
    position_inside: int
    position_outside: int

    @property
    def ratio(self) -> float:
        """The global rank as a multiple of the local rank."""
        return self.outside / self.inside


def top_referrers(estimation: Estimation, n: int = 20) -> list[ReferringPage]:
    """Return the n fetched non-local pages with the greatest impact on the domain, the greatest first."""
    _check(n)
    neighborhood, worth = estimation.neighborhood, estimation.worth()
    n_local = neighborhood.n_local
    rows = np.repeat(np.arange(neighborhood.n_crawled), neighborhood.inside_degrees())
    into = np.bincount(rows[neighborhood.inside < n_local], minlength=neighborhood.n_crawled)
    degrees = neighborhood.degrees()
    impact = worth * into / np.maximum(degrees, 1)
    impact[:n_local] = 0.0
    order = np.lexsort((neighborhood.pages, -impact))[:n]
    return [_referring_page(neighborhood, int(place), worth, impact, degrees) for place in order if impact[place] > 0]


def _referring_page(
    neighborhood: Neighborhood,
    place: int,
    worth: NDArray[np.float64],
    impact: NDArray[np.float64],
    degrees: NDArray[np.int64],
) -> ReferringPage:
    row = neighborhood.inside[neighborhood.inside_offsets[place] : neighborhood.inside_offsets[place + 1]]
    return ReferringPage(
        page=int(neighborhood.pages[place]),
        worth=float(worth[place]),
        impact=float(impact[place]),
        links=np.sort(neighborhood.pages[row[row < neighborhood.n_local]]),
        n_links=int(degrees[place]),
    )


@dataclass(frozen=True)
class NeighborhoodView:
    """The ranks of a domain's pages, global (`rank`) and local (`local_rank`), in the order of `local`; both for each
    page, in the order of global rank; and the fetched non-local pages with the greatest impact.
    """

    local: NDArray[np.uint32]
    rank: NDArray[np.float64]
    local_rank: NDArray[np.float64]
    page_ranks: list[LocalPageRanks]
    referrers: list[ReferringPage]

    @classmethod
    def of(cls, estimation: Estimation, n_referrers: int = 20) -> NeighborhoodView:
        rank, local_rank = estimation.rank(), rank_by_local_links(estimation)
        ranks = page_ranks(estimation.local, local_rank, rank)
        return cls(estimation.local, rank, local_rank, ranks, top_referrers(estimation, n_referrers))

    def largest_differences(self, n: int = 20) -> tuple[list[LocalPageRanks], list[LocalPageRanks]]:
        """Return the n local pages whose global rank exceeds the local rank the most, and the n where it is lowest.

        Both are in decreasing order of the difference between the two ranks.
        """
        _check(n)
        found = sorted(self.page_ranks, key=lambda entry: (entry.inside - entry.outside, entry.page))
        more = [entry for entry in found if entry.outside > entry.inside]
        less = [entry for entry in reversed(found) if entry.outside < entry.inside]
        return more[:n], less[:n]

    def as_dict(self, name: Callable[[int], str | None], n: int = 20) -> dict[str, Any]:
        """Return the n pages of each kind, with their names (URLs), for JSON."""

        def listed(found: list[LocalPageRanks]) -> list[dict[str, Any]]:
            return [asdict(entry) | {"url": name(entry.page)} for entry in found]

        more, less = self.largest_differences(n)
        return {
            "top": listed(self.page_ranks[:n]),
            "valued_more": listed(more),
            "valued_less": listed(less),
            "outside": [
                asdict(page)
                | {"url": name(page.page), "links": [name(local) for local in page.links.tolist()]}
                | {"n_into": len(page.links)}
                for page in self.referrers[:n]
            ],
        }


def page_ranks(
    pages: NDArray[np.uint32], inside: NDArray[np.float64], outside: NDArray[np.float64]
) -> list[LocalPageRanks]:
    """Return the local and the global rank of every local page, in decreasing order of global rank."""
    position_inside, position_outside = _positions(pages, inside), _positions(pages, outside)
    return [
        LocalPageRanks(
            int(pages[k]), float(inside[k]), float(outside[k]), int(position_inside[k]), int(position_outside[k])
        )
        for k in np.argsort(position_outside)
    ]


def rank_by_local_links(estimation: Estimation) -> NDArray[np.float64]:
    """Return the rank of the local pages by the links between them alone, in the order of `local`, summing to 1."""
    neighborhood, n = estimation.neighborhood, len(estimation.local)
    rows = np.repeat(np.arange(n), neighborhood.inside_degrees()[:n])
    targets = neighborhood.inside[: neighborhood.inside_offsets[n]]
    is_local = targets < n
    offsets = np.concatenate(([0], np.cumsum(np.bincount(rows[is_local], minlength=n))))
    nothing = np.empty(0, np.uint32)
    domain = Neighborhood(
        n,
        neighborhood.pages[:n],
        nothing,
        nothing.astype(np.bool_),
        offsets,
        targets[is_local],
        np.zeros(n + 1, np.int64),
        nothing,
    )
    return rank_within(domain, tolerance=1e-8, damping=estimation.damping)


def _positions(pages: NDArray[np.uint32], rank: NDArray[np.float64]) -> NDArray[np.int64]:
    positions = np.empty(len(rank), np.int64)
    positions[np.lexsort((pages, -rank))] = np.arange(1, len(rank) + 1)
    return positions


def _check(n: int) -> None:
    if n < 0:
        raise InputError(f"n is {n}; it must be 0 or more")
