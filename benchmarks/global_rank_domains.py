"""The real domains that the global rank is estimated for: hosts, subjects, communities and stretches of real webs.

Three groups, by what they had to do with frontier return, whose form and constants came out of some 200 variants:

- *chosen by*: the variants were ranked on these (and on 47 more, stretches and subjects of the same graphs and of
  wikispeedia).
- *watched*: no variant was ranked on these, but results on them were seen three times on the way, and one change
  followed such a look. Those of stanford and hollins overlap with pages of the first group. They are no clean test.
- *unseen*: run for the first time when everything was fixed, and nothing was changed after.
"""

from __future__ import annotations

import csv
import gzip
import itertools
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
    group: str


@cache
def graph(name: str) -> LinkGraph:
    return LinkGraph.load(REAL / f"{name}.npz")


@cache
def true_rank(name: str) -> np.ndarray:
    return pagerank(graph(name), tolerance=1e-10)


def domains() -> list[Domain]:
    """Those chosen by, and those watched: every second one of each kind, and more stretches and subjects."""
    found = []
    for kind in (_hosts(100, 10**6), _cnr(), _subjects(80, 10**6), _labels("polblogs-2004", "label"),
                 _labels("webkb-dev", "univ")):  # fmt: skip
        found += [Domain(*domain, ("chosen by", "watched")[k % 2]) for k, domain in enumerate(kind)]
    more = (
        _ranges("cnr-2000-nat", 2026, (600, 1200, 2400, 4800), 12),
        _subjects(45, 55),
        _ranges("wb-cs-stanford-2001", 2026, (300, 500, 800), 6),
        _ranges("hollins-2004", 2026, (300, 500, 800), 6),
    )
    return found + [Domain(*domain, "watched") for kind in more for domain in kind]


def unseen_domains() -> list[Domain]:
    """Smaller hosts and subjects, stretches apart from all others, and a graph of hosts that was never used."""
    kinds = (_hosts(50, 99), _subjects(30, 44), _other_stretches(), _suffixes())
    return [Domain(*domain, "unseen") for kind in kinds for domain in kind]


Named = Iterator[tuple[str, str, np.ndarray]]


def _cnr() -> Named:
    return _ranges("cnr-2000-nat", 7, (500, 1000, 2000, 3000, 4000, 6000), 12)


def _other_stretches() -> Named:
    """Stretches of cnr-2000 that share no page with any other that was ever used."""
    taken = np.zeros(graph("cnr-2000-nat").n_pages, bool)
    for used in (_cnr(), _ranges("cnr-2000-nat", 99, (700, 1500, 2500, 3500, 5000), 10),
                 _ranges("cnr-2000-nat", 2026, (600, 1200, 2400, 4800), 12)):  # fmt: skip
        for _, _, pages in used:
            taken[pages] = True
    drawn = _ranges("cnr-2000-nat", 31415, (800, 1600, 3200), 24)
    yield from itertools.islice((domain for domain in drawn if not taken[domain[2]].any()), 10)


def _suffixes() -> Named:
    """Hosts of the .uk of 1996 by what they are under: universities, schools, government, ..."""
    with gzip.open(REAL / "ukwa-hosts-1996.urls.txt.gz", "rt") as lines:
        names = [".".join(line.strip().rstrip("/").split(".")[-2:]) for line in lines]
    suffixes, which = np.unique(np.array(names), return_inverse=True)
    for number, size in enumerate(np.bincount(which)):
        if 100 <= size <= 0.3 * len(names):
            yield "ukwa-hosts-1996", str(suffixes[number]), np.flatnonzero(which == number)


def _hosts(least: int, most: int) -> Named:
    hosts = graph("docs-web-dev").hosts
    assert hosts is not None
    for host, size in enumerate(np.bincount(hosts)):
        if least <= size <= most:
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
