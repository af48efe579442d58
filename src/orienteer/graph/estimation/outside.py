"""The outside view: who out there matters to the domain, and which of its pages the world sees otherwise than it does.

The *impact* of an outside page j is g[j] * o_L[j] / o[j] (Davis & Dhillon): its worth in the web times the share of its
links that lead into the domain, which is how often a surfer comes in through it. Only fetched pages can be told of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.estimation.estimation import Estimation
from orienteer.graph.estimation.known_web import Surroundings
from orienteer.graph.estimation.within import rank_within


@dataclass(frozen=True)
class OutsidePage:
    """A page outside that leads into the domain.

    `worth` is its estimated rank among all crawled pages, `impact` the part of it that follows its links to the local
    pages `links`, out of `n_links` links that it has.
    """

    page: int
    worth: float
    impact: float
    links: NDArray[np.uint32]
    n_links: int


@dataclass(frozen=True)
class Standing:
    """How the community and the world value a local page.

    `inside` is its rank by the links between local pages alone, `outside` its estimated global rank; both sum to 1 over
    the domain. Positions begin at 1.
    """

    page: int
    inside: float
    outside: float
    position_inside: int
    position_outside: int

    @property
    def ratio(self) -> float:
        """How many times more the world values the page than its community does."""
        return self.outside / self.inside


def outside_influence(estimation: Estimation, n: int = 20) -> list[OutsidePage]:
    """The n fetched pages outside the domain with the greatest impact on it, the greatest first."""
    _check(n)
    around, worth = estimation.around, estimation.worth()
    n_local = around.n_local
    rows = np.repeat(np.arange(around.n_crawled), around.inside_degrees())
    into = np.bincount(rows[around.inside < n_local], minlength=around.n_crawled)
    degrees = around.degrees()
    impact = worth * into / np.maximum(degrees, 1)
    impact[:n_local] = 0.0
    order = np.lexsort((around.pages, -impact))[:n]
    return [_outside_page(around, int(place), worth, impact, degrees) for place in order if impact[place] > 0]


def _outside_page(
    around: Surroundings,
    place: int,
    worth: NDArray[np.float64],
    impact: NDArray[np.float64],
    degrees: NDArray[np.int64],
) -> OutsidePage:
    row = around.inside[around.inside_offsets[place] : around.inside_offsets[place + 1]]
    return OutsidePage(
        page=int(around.pages[place]),
        worth=float(worth[place]),
        impact=float(impact[place]),
        links=np.sort(around.pages[row[row < around.n_local]]),
        n_links=int(degrees[place]),
    )


@dataclass(frozen=True)
class View:
    """A domain seen from outside: the rank of its pages in the order of `local`, by the world and by the community, how
    each stands, most valued by the world first, and the fetched pages outside that matter most to it.
    """

    local: NDArray[np.uint32]
    rank: NDArray[np.float64]
    rank_inside: NDArray[np.float64]
    standings: list[Standing]
    outside: list[OutsidePage]

    @classmethod
    def of(cls, estimation: Estimation, n_outside: int = 20) -> View:
        rank, inside = estimation.rank(), rank_at_home(estimation)
        found = standings(estimation.local, inside, rank)
        return cls(estimation.local, rank, inside, found, outside_influence(estimation, n_outside))

    def valued_otherwise(self, n: int = 20) -> tuple[list[Standing], list[Standing]]:
        """The n local pages that the world values more than the community does, and the n that it values less.

        By the difference between the two ranks, the greatest first.
        """
        _check(n)
        found = sorted(self.standings, key=lambda standing: (standing.inside - standing.outside, standing.page))
        more = [standing for standing in found if standing.outside > standing.inside]
        less = [standing for standing in reversed(found) if standing.outside < standing.inside]
        return more[:n], less[:n]

    def as_dict(self, name: Callable[[int], str | None], n: int = 20) -> dict[str, Any]:
        """The n pages of each kind, with their names (URLs), ready for JSON."""

        def told(found: list[Standing]) -> list[dict[str, Any]]:
            return [asdict(standing) | {"url": name(standing.page)} for standing in found]

        more, less = self.valued_otherwise(n)
        return {
            "top": told(self.standings[:n]),
            "valued_more": told(more),
            "valued_less": told(less),
            "outside": [
                asdict(page)
                | {"url": name(page.page), "links": [name(local) for local in page.links.tolist()]}
                | {"n_into": len(page.links)}
                for page in self.outside[:n]
            ],
        }


def standings(pages: NDArray[np.uint32], inside: NDArray[np.float64], outside: NDArray[np.float64]) -> list[Standing]:
    """How every local page stands inside and outside, those that the world values most first."""
    position_inside, position_outside = _positions(pages, inside), _positions(pages, outside)
    return [
        Standing(int(pages[k]), float(inside[k]), float(outside[k]), int(position_inside[k]), int(position_outside[k]))
        for k in np.argsort(position_outside)
    ]


def rank_at_home(estimation: Estimation) -> NDArray[np.float64]:
    """The rank of the local pages by the links between them alone, in the order of `local`; sums to 1."""
    around, n = estimation.around, len(estimation.local)
    rows = np.repeat(np.arange(n), around.inside_degrees()[:n])
    targets = around.inside[: around.inside_offsets[n]]
    kept = targets < n
    offsets = np.concatenate(([0], np.cumsum(np.bincount(rows[kept], minlength=n))))
    nothing = np.empty(0, np.uint32)
    home = Surroundings(
        n,
        around.pages[:n],
        nothing,
        nothing.astype(np.bool_),
        offsets,
        targets[kept],
        np.zeros(n + 1, np.int64),
        nothing,
    )
    return rank_within(home, tolerance=1e-8, damping=estimation.damping)


def _positions(pages: NDArray[np.uint32], rank: NDArray[np.float64]) -> NDArray[np.int64]:
    positions = np.empty(len(rank), np.int64)
    positions[np.lexsort((pages, -rank))] = np.arange(1, len(rank) + 1)
    return positions


def _check(n: int) -> None:
    if n < 0:
        raise InputError(f"n is {n}; it must be 0 or more")
