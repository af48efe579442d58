"""Choose seeds on a graph: the pages to start from that reach the most value within h hops.

A graph may be split into groups by host or by site; each has a number of seeds in proportion to its value.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError, unknown_name
from orienteer.graph.hosts import host_ids, site_ids
from orienteer.graph.link_graph import LinkGraph
from orienteer.kernel import allocating_kernel
from orienteer.notebook import data_frame, rows_html
from orienteer.progress import Progress, silent
from orienteer.seeds import make_method, settings_of
from orienteer.seeds.seed_method import METHODS, Approximation, Cover, Seed, SeedMethod, choose_seeds
from orienteer.seeds.value import Value, page_values

if TYPE_CHECKING:
    import pandas

_N_LISTED = 20
PER = ("host", "site")


@dataclass(frozen=True)
class SeedSelection:
    """Seeds in the order chosen, and their cover.

    `total_value`, the sum of all positive values, is an upper bound for any seeds; shares are relative to it. `depth`
    is that of the method, if it has one. `group_names` are hosts or sites, if the graph was split (`per`) and they are
    known.
    """

    method: str
    k: int
    hops: int
    depth: int | None
    per: str | None
    seeds: tuple[Seed, ...]
    n_pages: int
    total_value: float
    approximation: Approximation | None = None
    group_names: list[str] | None = None

    @property
    def pages(self) -> NDArray[np.int64]:
        """The ids of the seeds."""
        return np.array([seed.page for seed in self.seeds], np.int64)

    @property
    def n_covered(self) -> int:
        return sum(seed.n_pages for seed in self.seeds)

    @property
    def value(self) -> float:
        """The total value of the covered pages."""
        return sum(seed.value for seed in self.seeds)

    def share(self, value: float) -> float:
        """Return a value as a share of the total value; 0 if that is 0."""
        return value / self.total_value if self.total_value > 0 else 0.0

    def group_name(self, seed: Seed) -> str | None:
        """Return the host or site that a seed was chosen for."""
        if seed.group is None:
            return None
        return str(seed.group) if self.group_names is None else self.group_names[seed.group]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table of the seeds in the order chosen: the page, and what it adds to those before it."""
        names = ("page", "n_pages", "value")
        return data_frame({name: [getattr(seed, name) for seed in self.seeds] for name in names})

    def __repr__(self) -> str:
        choose_seeds = f"{len(self.seeds):,} seeds by {self.method}, {self.hops} hops"
        return f"<SeedSelection: {choose_seeds}; they cover {self.n_covered:,} of {self.n_pages:,} pages>"

    def _repr_html_(self) -> str:
        rows = [(number, seed.page, seed.n_pages, seed.value) for number, seed in enumerate(self.seeds[:_N_LISTED], 1)]
        title = repr(self).strip("<>")
        return rows_html(title, ("", "page", "adds pages", "adds value"), rows, len(self.seeds) - len(rows))

    def as_dict(self) -> dict[str, Any]:
        """Return all results, for JSON."""
        approximation = self.approximation
        return {
            "method": self.method,
            "k": self.k,
            "hops": self.hops,
            "depth": self.depth,
            "per": self.per,
            "n_pages": self.n_pages,
            "total_value": self.total_value,
            "seeds": [
                {"page": seed.page, "n_pages": seed.n_pages, "value": seed.value, "share": self.share(seed.value)}
                | ({} if self.per is None else {self.per: self.group_name(seed)})
                for seed in self.seeds
            ],
            "n_covered": self.n_covered,
            "value": self.value,
            "share": self.share(self.value),
            "approximation": None
            if approximation is None
            else {
                "at_least": approximation.at_least,
                "confidence": approximation.confidence,
                "text": str(approximation),
            },
        }


def select_seeds(
    graph: LinkGraph,
    k: int = 10,
    hops: int = 5,
    method: str = "greedy",
    value: Value = None,
    depth: int = 2,
    *,
    per: str | None = None,
    rng: int = 0,
    progress: Progress = silent,
) -> NDArray[np.int64]:
    """Return the ids of up to k seeds, in the order chosen; `seed_selection` also returns what each adds.

    >>> from orienteer.graph import shapes
    >>> select_seeds(shapes.chain(9), k=3, hops=2, method="greedy").tolist()
    [0, 3, 6]
    """
    return seed_selection(graph, k, hops, method, value, depth, per=per, rng=rng, progress=progress).pages


def seed_selection(
    graph: LinkGraph,
    k: int = 10,
    hops: int = 5,
    method: str = "greedy",
    value: Value = None,
    depth: int = 2,
    *,
    per: str | None = None,
    rng: int = 0,
    progress: Progress = silent,
) -> SeedSelection:
    """Choose up to k seeds so that the pages within `hops` links of them have as much value as possible.

    `value` is a number for each page, or a file of them (see value.py); by default each page has the value 1. `depth`
    is for max-weight, max-scc and root-scc, and limited to the hops; `rng` is for random and sketched-greedy. Fewer
    seeds are returned if nothing is left to gain. With `per` "host" or "site" the graph is split into groups. Links
    between groups are ignored, each group gets seeds in proportion to its value and is solved separately; the seeds are
    merged so that those that add the most come first.
    """
    check_numbers(k, hops)
    if k > graph.n_pages:
        raise InputError(f"k is {k:,}, but the graph has {graph.n_pages:,} pages to choose from")
    settings = _settings(method, depth, rng)
    make_method(method, **settings)  # raises an InputError for invalid settings before values are read
    values = page_values(graph, value)
    approximation: Approximation | None
    if per is None:
        instance = make_method(method, **settings)
        seeds = choose_seeds(instance, Cover(graph, hops, values), k, progress)
        approximation, names = instance.approximation, None
    else:
        division = Division.of(graph, per)
        names = division.names
        seeds, approximation = _chosen_by_group(graph, division, k, hops, values, (method, settings), progress)
    return SeedSelection(
        method=method,
        k=k,
        hops=hops,
        depth=min(depth, hops) if "depth" in settings else None,
        per=per,
        seeds=tuple(seeds),
        n_pages=graph.n_pages,
        total_value=float(values[values > 0].sum()),
        approximation=approximation,
        group_names=names,
    )


def check_numbers(k: int, hops: int) -> None:
    """Raise an InputError for numbers that are invalid for every graph."""
    if k < 1:
        raise InputError(f"k is {k}; at least one seed is needed")
    if hops < 0:
        raise InputError(f"hops is {hops}; it must be 0 or more")


def _settings(method: str, depth: int, rng: int) -> dict[str, Any]:
    """Return those of depth and rng that are settings of this method."""
    allowed = settings_of(METHODS.find(method))
    return {name: given for name, given in (("depth", depth), ("rng", rng)) if name in allowed}


def _chosen_by_group(
    graph: LinkGraph,
    division: Division,
    k: int,
    hops: int,
    values: NDArray[np.float64],
    spec: tuple[str, dict[str, Any]],
    progress: Progress,
) -> tuple[list[Seed], Approximation | None]:
    """Solve each group with its share of the seeds, in one thread per core: kernels release the GIL."""
    worth = np.asarray(np.bincount(division.labels, values, division.n_groups), np.float64)
    sizes = np.bincount(division.labels, minlength=division.n_groups)
    shares = apportioned(k, worth, sizes)
    groups = groups_of(graph, division)

    def solve(group_id: int) -> tuple[list[Seed], SeedMethod]:
        group: PageGroup = groups[group_id]
        method = make_method(spec[0], **spec[1])
        found = choose_seeds(method, Cover(group.graph, hops, values[group.pages]), int(shares[group_id]))
        return [replace(seed, page=int(group.pages[seed.page]), group=group_id) for seed in found], method

    found: list[list[Seed]] = []
    approximation: Approximation | None = None
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        open_groups = np.flatnonzero(shares).tolist()
        for done, (seeds, method) in enumerate(threads.map(solve, open_groups)):
            progress("choosing seeds", done, len(open_groups))
            found.append(seeds)
            if method.approximation is not None:
                approximation = method.approximation.combined_with(approximation)
    return _merged(found), approximation


def _merged(found: list[list[Seed]]) -> list[Seed]:
    """Merge seeds by decreasing gain, while the seeds of a group stay in their order."""
    keyed = []
    for seeds in found:
        least = np.inf
        for seed in seeds:
            least = min(least, seed.value)
            keyed.append((-least, seed))
    return [seed for _, seed in sorted(keyed, key=lambda pair: pair[0])]


class PageGroup(NamedTuple):
    """The pages of one host or site, in increasing order, and the links among them."""

    pages: NDArray[np.int64]
    graph: LinkGraph


class Division(NamedTuple):
    """The group of each page, as dense ids, and the names of the groups, if known."""

    labels: NDArray[np.int32]
    n_groups: int
    names: list[str] | None

    @classmethod
    def of(cls, graph: LinkGraph, per: str) -> Division:
        """Divide a graph by "host" or "site"."""
        if per not in PER:
            raise unknown_name("division of the graph", per, PER)
        if per == "host" and graph.hosts is not None:
            return cls(graph.hosts, int(graph.hosts.max(initial=-1)) + 1, _host_names(graph, graph.hosts))
        if graph.urls is None:
            raise InputError(f"seeds per {per} need URLs{' or hosts' * (per == 'host')}, and the graph has none")
        labels, names = site_ids(graph.urls) if per == "site" else host_ids(graph.urls)
        return cls(labels, len(names), names)


def groups_of(graph: LinkGraph, division: Division) -> list[PageGroup]:
    """Return the groups by their ids; links between groups are left out. A host id without pages is an empty group."""
    labels = division.labels
    order = np.argsort(labels, kind="stable")
    place = np.empty(graph.n_pages, np.uint32)  # index of each page in its group
    starts = np.searchsorted(labels[order], np.arange(division.n_groups + 1))
    place[order] = np.arange(graph.n_pages) - starts[labels[order]]
    degrees, targets = _inner_links(graph.offsets, graph.targets, labels, order, place)
    offsets = np.concatenate(([0], np.cumsum(degrees)))
    groups = []
    for first, last in pairwise(starts.tolist()):
        rows = offsets[first : last + 1]
        inner = LinkGraph(rows - rows[0], targets[rows[0] : rows[-1]])
        groups.append(PageGroup(order[first:last], inner))
    return groups


def apportioned(k: int, values: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Apportion k seeds to groups in proportion to their value, where it is above 0, but at most one per page.

    By largest remainder, ties to the first group. The excess of small groups goes to the others in the same way.

    >>> apportioned(10, np.array([60.0, 30.0, -5.0, 10.0]), np.array([99, 99, 99, 99])).tolist()
    [6, 3, 0, 1]
    >>> apportioned(10, np.array([60.0, 30.0, 10.0]), np.array([2, 99, 99])).tolist()
    [2, 6, 2]
    """
    seeds = np.zeros(len(values), np.int64)
    open_groups = np.flatnonzero((values > 0) & (sizes > 0))
    while len(open_groups) and seeds.sum() < k:
        quotas = (k - seeds.sum()) * values[open_groups] / values[open_groups].sum()
        shares = np.floor(quotas).astype(np.int64)
        n_over = int(k - seeds.sum() - shares.sum())
        shares[np.argsort(shares - quotas, kind="stable")[:n_over]] += 1
        full = shares >= sizes[open_groups]
        if not full.any():
            seeds[open_groups] = shares
            break
        seeds[open_groups[full]] = sizes[open_groups[full]]
        open_groups = open_groups[~full]
    return seeds


def _host_names(graph: LinkGraph, hosts: NDArray[np.int32]) -> list[str] | None:
    """Return the names of the hosts by their ids, if the hosts of the URLs agree with the ids."""
    if graph.urls is None or graph.n_pages == 0:
        return None
    derived, names = host_ids(graph.urls)
    derived_of = np.zeros(int(hosts.max()) + 1, np.int64)
    derived_of[hosts] = derived
    return [names[one] for one in derived_of.tolist()] if np.array_equal(derived_of[hosts], derived) else None


@allocating_kernel
def _inner_links(offsets: Any, targets: Any, labels: Any, order: Any, place: Any) -> Any:
    """Return, for each page of `order`, the number of links inside its group, and their targets as indices, sorted."""
    degrees = np.zeros(len(order), np.int64)
    n_links = 0
    for row in range(len(order)):
        page = order[row]
        for k in range(offsets[page], offsets[page + 1]):
            degrees[row] += labels[targets[k]] == labels[page]
        n_links += degrees[row]
    inner = np.empty(n_links, np.uint32)
    at = 0
    for row in range(len(order)):
        page = order[row]
        for k in range(offsets[page], offsets[page + 1]):
            if labels[targets[k]] == labels[page]:
                inner[at] = place[targets[k]]
                at += 1
    return degrees, inner
