"""Choose seeds on a graph: the pages to start from that reach the most value within h hops."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.link_graph import LinkGraph
from orienteer.notebook import data_frame, rows_html
from orienteer.progress import Progress, silent
from orienteer.seeds import make_method, settings_of
from orienteer.seeds.cover import Cover, Seed, chosen
from orienteer.seeds.parts import Division, Part, parts_of, shared_out
from orienteer.seeds.seed_method import METHODS, Approximation, SeedMethod
from orienteer.seeds.value import Value, page_values

if TYPE_CHECKING:
    import pandas

_SHOWN = 20


@dataclass(frozen=True)
class SeedSelection:
    """Seeds in the order chosen, and what they cover.

    `total_value` is the value of all pages that are worth anything: what no seeds can surpass. Shares are of it.
    `depth` is what the method looked at, where it has one. `part_names` are hosts or sites, where the graph was split
    (`per`) and they are known.
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
    part_names: list[str] | None = None

    @property
    def pages(self) -> NDArray[np.int64]:
        """The ids of the seeds."""
        return np.array([seed.page for seed in self.seeds], np.int64)

    @property
    def n_covered(self) -> int:
        return sum(seed.n_pages for seed in self.seeds)

    @property
    def value(self) -> float:
        """The value of all that is covered."""
        return sum(seed.value for seed in self.seeds)

    def share(self, value: float) -> float:
        """Of the total value; 0 where nothing is worth anything."""
        return value / self.total_value if self.total_value > 0 else 0.0

    def part_name(self, seed: Seed) -> str | None:
        """The host or site that a seed was chosen for."""
        if seed.part is None:
            return None
        return str(seed.part) if self.part_names is None else self.part_names[seed.part]

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each seed, in the order chosen: its page, and what it adds to those before it."""
        names = ("page", "n_pages", "value")
        return data_frame({name: [getattr(seed, name) for seed in self.seeds] for name in names})

    def __repr__(self) -> str:
        chosen = f"{len(self.seeds):,} seeds by {self.method}, {self.hops} hops"
        return f"<SeedSelection: {chosen}; they cover {self.n_covered:,} of {self.n_pages:,} pages>"

    def _repr_html_(self) -> str:
        rows = [(number, seed.page, seed.n_pages, seed.value) for number, seed in enumerate(self.seeds[:_SHOWN], 1)]
        title = repr(self).strip("<>")
        return rows_html(title, ("", "page", "adds pages", "adds value"), rows, len(self.seeds) - len(rows))

    def as_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        told = self.approximation
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
                | ({} if self.per is None else {self.per: self.part_name(seed)})
                for seed in self.seeds
            ],
            "n_covered": self.n_covered,
            "value": self.value,
            "share": self.share(self.value),
            "approximation": None
            if told is None
            else {"at_least": told.at_least, "confidence": told.confidence, "text": str(told)},
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
    """The ids of up to k pages to start from, in the order chosen; `seed_selection` also says what each adds.

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
    """Choose up to k seeds so that the pages within `hops` links of them are worth as much as possible.

    `value` is a number for each page, or a file of them (see value.py); without, each page is worth 1. `depth` is for
    max-weight, max-scc and root-scc, and at most the hops count; `rng` is for random and sketched-greedy. Fewer seeds
    come back where nothing is left to gain. `per` "host" or "site": the graph is split, links between the parts do not
    count, the parts get seeds in proportion to their value, and are solved each on its own; the seeds are merged so
    that those that add the most come first.
    """
    check_numbers(k, hops)
    if k > graph.n_pages:
        raise InputError(f"k is {k:,}, but the graph has {graph.n_pages:,} pages to choose from")
    settings = _settings(method, depth, rng)
    make_method(method, **settings)  # what is wrong is said now
    values = page_values(graph, value)
    approximation: Approximation | None
    if per is None:
        made = make_method(method, **settings)
        seeds = chosen(made, Cover(graph, hops, values), k, progress)
        approximation, names = made.approximation, None
    else:
        division = Division.of(graph, per)
        names = division.names
        seeds, approximation = _chosen_by_part(graph, division, k, hops, values, (method, settings), progress)
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
        part_names=names,
    )


def check_numbers(k: int, hops: int) -> None:
    """What can be wrong without looking at the graph."""
    if k < 1:
        raise InputError(f"k is {k}; at least one seed is needed")
    if hops < 0:
        raise InputError(f"hops is {hops}; it must be 0 or more")


def _settings(method: str, depth: int, rng: int) -> dict[str, Any]:
    """Of depth and rng what this method takes."""
    allowed = settings_of(METHODS.find(method))
    return {name: given for name, given in (("depth", depth), ("rng", rng)) if name in allowed}


def _chosen_by_part(
    graph: LinkGraph,
    division: Division,
    k: int,
    hops: int,
    values: NDArray[np.float64],
    spec: tuple[str, dict[str, Any]],
    progress: Progress,
) -> tuple[list[Seed], Approximation | None]:
    """Solve each part with its share of the seeds, in as many threads as there are cores: kernels let go of the GIL."""
    worth = np.asarray(np.bincount(division.labels, values, division.n_parts), np.float64)
    sizes = np.bincount(division.labels, minlength=division.n_parts)
    shares = shared_out(k, worth, sizes)
    parts = parts_of(graph, division)

    def solved(part_id: int) -> tuple[list[Seed], SeedMethod]:
        part: Part = parts[part_id]
        method = make_method(spec[0], **spec[1])
        found = chosen(method, Cover(part.graph, hops, values[part.pages]), int(shares[part_id]))
        return [replace(seed, page=int(part.pages[seed.page]), part=part_id) for seed in found], method

    found: list[list[Seed]] = []
    approximation: Approximation | None = None
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        wanted = np.flatnonzero(shares).tolist()
        for done, (seeds, method) in enumerate(threads.map(solved, wanted)):
            progress("choosing seeds", done, len(wanted))
            found.append(seeds)
            if method.approximation is not None:
                approximation = method.approximation.and_also(approximation)
    return _merged(found), approximation


def _merged(found: list[list[Seed]]) -> list[Seed]:
    """The seeds that add the most first; those of a part stay in their order."""
    keyed = []
    for seeds in found:
        least = np.inf
        for seed in seeds:
            least = min(least, seed.value)
            keyed.append((-least, seed))
    return [seed for _, seed in sorted(keyed, key=lambda pair: pair[0])]
