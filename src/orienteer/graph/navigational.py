"""Navigational Rank: which unfetched pages are likely to lead to relevant ones (focused crawling).

The known graph has the fetched pages with their links, and the pages these link to. Let p be the relevance of fetched
pages (0 for others), di and do the numbers of known links to and from a page, and s the own share (the paper's d, 0.2):

    step 1, from targets to sources:   up(v)   = s p(v)  + (1-s) mean over links v -> u of  up(u) / di(u)
    step 2, from sources to targets:   down(v) = s up(v) + (1-s) mean over links u -> v of  down(u) / do(u)

A mean over no links is 0. Step 1 takes the mean because a page that links to everything leads nowhere in particular;
`gather="sum"` takes the sum. An unfetched page has no links, so its `up` is 0, and `down` is its score.

Stopping rule: both steps are contractions by q = 1 - s, means in the maximum norm, sums (a page's shares add up to its
value) in L1. If a sweep changes the vector by c in that norm, every value is within c q / (1-q) of its limit. This also
holds for Gauss-Seidel sweeps, which use the values that they have just changed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.errors import InputError, unknown_name
from orienteer.graph.link_graph import LinkGraph
from orienteer.kernel import kernel

GATHERS = ("mean", "sum")

_MAX_SWEEPS = 10_000


class KnownLinks(NamedTuple):
    """Rows of links, empty for unfetched pages, and the number of known links to each page."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    targets: NDArray[np.uint32]
    in_degrees: NDArray[np.int64]


def navigational_rank(
    graph: LinkGraph,
    relevance: ArrayLike,
    fetched: ArrayLike,
    own_share: float = 0.2,
    gather: str = "mean",
    tolerance: float = 1e-12,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return step 1 and step 2 of every page, each value within `tolerance` of its limit.

    `fetched` is a mask, or page ids. The relevance of unfetched pages is ignored.

    >>> from orienteer.graph import shapes
    >>> up, down = navigational_rank(shapes.chain(3), [0, 1, 0], fetched=[0, 1])
    >>> up.round(3).tolist(), down.round(4).tolist()
    ([0.16, 0.2, 0.0], [0.032, 0.0656, 0.0525])
    """
    check_own_share(own_share)
    check_gather(gather)
    is_fetched = _mask(graph.n_pages, fetched)
    weights = np.asarray(checked_relevance(graph.n_pages, relevance) * is_fetched)
    known = graph.only_links_of(is_fetched)
    in_degrees = np.bincount(known.targets, minlength=graph.n_pages).astype(np.int64)
    links = KnownLinks(known.offsets[:-1], known.offsets[1:], known.targets, in_degrees)
    up, down = np.zeros(graph.n_pages), np.zeros(graph.n_pages)
    climb(links, weights, up, own_share, gather == "mean", tolerance)
    descend(links, up, down, own_share, True, tolerance)
    return up, down


def climb(
    links: KnownLinks,
    relevance: NDArray[np.float64],
    up: NDArray[np.float64],
    own_share: float,
    mean: bool,
    error: float,
) -> int:
    """Run step 1 in place, starting from the given `up`; return the number of sweeps."""
    return int(_climb(*links, relevance, up, np.zeros(len(up)), own_share, mean, error, _MAX_SWEEPS))


def descend(
    links: KnownLinks, own: NDArray[np.float64], down: NDArray[np.float64], own_share: float, mean: bool, error: float
) -> int:
    """Run step 2 in place, starting from `down`; return the number of sweeps. With sums it is a PageRank that leaks."""
    return int(_descend(*links, own, down, np.zeros(len(down)), own_share, mean, error, _MAX_SWEEPS))


def check_own_share(own_share: float) -> None:
    if not 0 < own_share <= 1:
        raise InputError(f"own_share is {own_share}; it must be above 0 and at most 1 (the paper's d, 0.2)")


def check_gather(gather: str) -> None:
    if gather not in GATHERS:
        raise unknown_name("way to gather", str(gather), GATHERS)


def checked_relevance(n_pages: int, relevance: ArrayLike) -> NDArray[np.float64]:
    """Return one number in [0, 1] for each page, or raise an InputError."""
    try:
        values = np.asarray(relevance, np.float64)
    except (ValueError, TypeError):
        raise InputError("relevance: expected one number per page") from None
    if values.shape != (n_pages,):
        raise InputError(f"relevance: {values.size:,} values for {n_pages:,} pages")
    bad = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if len(bad):
        raise InputError(f"relevance: page {int(bad[0])} has {values[bad[0]]}; it must be from 0 to 1")
    return values


def _mask(n_pages: int, pages: ArrayLike) -> NDArray[np.bool_]:
    given = np.asarray(pages)
    if given.dtype == np.bool_:
        if given.shape != (n_pages,):
            raise InputError(f"fetched: {given.size:,} marks for {n_pages:,} pages")
        return given
    mask = np.zeros(n_pages, np.bool_)
    ids = given.astype(np.int64)
    if len(ids) and not (ids.min() >= 0 and ids.max() < n_pages):
        raise InputError(f"fetched: page {int(ids[(ids < 0) | (ids >= n_pages)][0])} is not in the graph")
    mask[ids] = True
    return mask


@kernel
def _climb(
    starts: Any, ends: Any, targets: Any, in_degrees: Any, own: Any, up: Any, share: Any,
    s: float, mean: bool, error: float, n: int,
) -> Any:  # fmt: skip
    """Sweep step 1; `share`, initially 0, is what a page gives to each page that links to it.

    Sweeps go from high ids to low ones, because a crawl numbers a page's targets after the page: one sweep then carries
    a change along a whole path of links.
    """
    for page in range(len(up)):
        if in_degrees[page]:
            share[page] = up[page] / in_degrees[page]
    for sweep in range(1, n + 1):
        change = 0.0
        for page in range(len(up) - 1, -1, -1):
            gathered = 0.0
            n_links = ends[page] - starts[page]
            for k in range(starts[page], ends[page]):
                gathered += share[targets[k]]
            if mean and n_links:
                gathered /= n_links
            new = s * own[page] + (1 - s) * gathered
            moved = abs(new - up[page])
            change = max(change, moved) if mean else change + moved
            up[page] = new
            if in_degrees[page]:
                share[page] = new / in_degrees[page]
        if change * (1 - s) <= error * s:
            return sweep
    return n


@kernel
def _descend(
    starts: Any, ends: Any, targets: Any, in_degrees: Any, own: Any, down: Any, received: Any,
    s: float, mean: bool, error: float, n: int,
) -> Any:  # fmt: skip
    for sweep in range(1, n + 1):
        for page in range(len(received)):
            received[page] = 0.0
        for page in range(len(down)):
            if ends[page] > starts[page] and down[page] > 0:
                share = down[page] / (ends[page] - starts[page])
                for k in range(starts[page], ends[page]):
                    received[targets[k]] += share
        change = 0.0
        for page in range(len(down)):
            if mean and in_degrees[page]:
                received[page] /= in_degrees[page]
            new = s * own[page] + (1 - s) * received[page]
            moved = abs(new - down[page])
            change = max(change, moved) if mean else change + moved
            down[page] = new
        if change * (1 - s) <= error * s:
            return sweep
    return n
