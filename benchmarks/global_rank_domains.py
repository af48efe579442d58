"""The real domains that the global rank is estimated for: hosts, subjects, communities and stretches of real webs.

A domain is *held out* if it was never looked at while the constants of frontier return were chosen.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank

REAL = Path(__file__).parents[2] / "shared" / "data" / "graphs"


@dataclass(frozen=True)
class Domain:
    graph: str
    name: str
    pages: np.ndarray
    held_out: bool


@cache
def graph(name: str) -> LinkGraph:
    return LinkGraph.load(REAL / f"{name}.npz")


@cache
def true_rank(name: str) -> np.ndarray:
    return pagerank(graph(name), tolerance=1e-10)


def domains() -> list[Domain]:
    """Every second one of each kind was used to choose constants, the others were not."""
    found = []
    for kind in (_hosts(), _ranges("cnr-2000-nat", 7, (500, 1000, 2000, 3000, 4000, 6000), 12), _subjects(80, 10**6),
                 _labels("polblogs-2004", "label"), _labels("webkb-dev", "univ")):  # fmt: skip
        found += [Domain(*domain, held_out=bool(k % 2)) for k, domain in enumerate(kind)]
    return found


def fresh_domains() -> list[Domain]:
    """Domains, and mostly graphs, that nothing was chosen by."""
    kinds = (
        _ranges("cnr-2000-nat", 2026, (600, 1200, 2400, 4800), 12),
        _subjects(45, 55),
        _ranges("wb-cs-stanford-2001", 2026, (300, 500, 800), 6),
        _ranges("hollins-2004", 2026, (300, 500, 800), 6),
    )
    return [Domain(*domain, held_out=True) for kind in kinds for domain in kind]


Named = Iterator[tuple[str, str, np.ndarray]]


def _hosts() -> Named:
    hosts = graph("docs-web-dev").hosts
    assert hosts is not None
    for host, size in enumerate(np.bincount(hosts)):
        if size >= 100:
            yield "docs-web-dev", f"host {host}", np.flatnonzero(hosts == host)


def _ranges(name: str, rng: int, sizes: tuple[int, ...], n: int) -> Named:
    """Stretches of ids, which are in the order of URLs or nearly so."""
    draw = np.random.default_rng(rng)
    for k in range(n):
        size = sizes[k % len(sizes)]
        start = int(draw.integers(0, graph(name).n_pages - size))
        yield name, f"pages from {start}", np.arange(start, start + size)


def _subjects(least: int, most: int) -> Named:
    members: dict[str, set[int]] = {}
    with gzip.open(REAL / "schools-wikipedia-articles.topics.tsv.gz", "rt") as lines:
        for page, subject in csv.reader(lines, delimiter="\t"):
            members.setdefault(subject, set()).add(int(page))
    for subject in sorted(members):
        if least <= len(members[subject]) <= most:
            yield "schools-wikipedia-articles", subject.split(".")[-1], np.array(sorted(members[subject]))


def _labels(name: str, label: str) -> Named:
    with np.load(REAL / f"{name}.npz") as arrays:
        labels = arrays[label]
    for value in np.unique(labels):
        pages = np.flatnonzero(labels == value)
        if 100 <= len(pages) <= 0.6 * len(labels):
            yield name, f"{label} {value}", pages
