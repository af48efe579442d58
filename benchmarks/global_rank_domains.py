"""The domains that frontier return was made with, and those that it was tried on.

Three groups, by what they had to do with frontier return, whose form and constants came out of some 200 variants:

- *chosen by*: the variants were ranked on these (and on 47 more, stretches and subjects of the same graphs and of
  wikispeedia).
- *watched*: no variant was ranked on these, but results on them were seen three times on the way, and one change
  followed such a look. Those of stanford and hollins overlap with pages of the first group. They are no clean test.
- *unseen*: run for the first time when everything was fixed, and nothing was changed after.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from experiments.domains import CNR, TOPIC, Domain, RankedWeb, RealDomains
from experiments.papers import experiments_named
from experiments.real_data import RealData
from experiments.webs import Webs
from orienteer.graph.link_graph import LinkGraph

DATA = Path(__file__).parents[2] / "shared" / "data"


def grouped_domains() -> dict[str, list[Domain]]:
    """Of each kind every second one is watched, and so are the further ones."""
    real = RealDomains(RealData(*experiments_named("global-rank"), Webs(DATA, quick=False)))
    by_kind = real.by_kind()
    return {
        "unseen": [*real.hosts(50, 99), *real.subjects(30, 44), *_other_stretches(real), *_suffixes()],
        "watched": [*(domain for kind in by_kind for domain in kind[1::2]), *real.further()],
        "chosen by": [domain for kind in by_kind for domain in kind[::2]],
    }


def _other_stretches(real: RealDomains) -> Iterator[Domain]:
    """Stretches of cnr-2000 that share no page with any other that was ever used."""
    used = (
        real.stretches(CNR, 7, (500, 1000, 2000, 3000, 4000, 6000), 12),
        real.stretches(CNR, 99, (700, 1500, 2500, 3500, 5000), 10),
        real.stretches(CNR, 2026, (600, 1200, 2400, 4800), 12),
    )
    taken = {page for stretches in used for domain in stretches for page in domain.pages.tolist()}
    drawn = real.stretches(CNR, 31415, (800, 1600, 3200), 24)
    yield from itertools.islice((domain for domain in drawn if taken.isdisjoint(domain.pages.tolist())), 10)


def _suffixes() -> Iterator[Domain]:
    """Hosts of the .uk of 1996 by what they are under: universities, schools, government, ..."""
    web = RankedWeb.of("ukwa-hosts-1996", LinkGraph.load(DATA / "graphs" / "ukwa-hosts-1996.npz"))
    assert web.graph.urls is not None
    names = [".".join(host.rstrip("/").split(".")[-2:]) for host in web.graph.urls]
    suffixes, which = np.unique(np.array(names), return_inverse=True)
    for number, size in enumerate(np.bincount(which)):
        if 100 <= size <= 0.3 * len(names):
            yield Domain(web, TOPIC, str(suffixes[number]), np.flatnonzero(which == number))
