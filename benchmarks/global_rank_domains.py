"""The domains that frontier return was developed on, and those that it was tested on.

Three groups, by what they had to do with frontier return, whose form and constants came out of some 200 variants:

- *chosen by*: the variants were ranked on these (and on 47 more, stretches and subjects of the same graphs and of
  wikispeedia).
- *watched*: no variant was ranked on these, but results on them were seen three times on the way, and one change
  followed such a look. Those of stanford and hollins overlap with pages of the first group. They are no clean test.
- *held out*: run for the first time when everything was fixed, and nothing was changed after.
"""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Iterator

import numpy as np

from benchmarks.sizes import DATA, IS_TINY
from experiments.domains import CNR, MANY, SITE, TOPIC, Domain, RankedWeb, RealDomains, hosts_of
from experiments.papers import experiments_named
from experiments.real_data import RealData
from experiments.webs import Webs
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.synthetic import synthetic_web
from orienteer.url import host_of


def grouped_domains() -> dict[str, list[Domain]]:
    """Of each kind every second one is watched, and so are the further ones."""
    if IS_TINY:
        found = _tiny_domains()
        return {"held out": found[0::3], "watched": found[1::3], "chosen by": found[2::3]}
    real = RealDomains(RealData(experiments_named("global-rank")[0], Webs(DATA, quick=False)))
    by_kind = real.by_kind()
    return {
        "held out": [*real.hosts(50, 99), *real.subjects(30, 44), *_other_stretches(real), *_suffixes()],
        "watched": [*(domain for kind in by_kind for domain in kind[1::2]), *real.further()],
        "chosen by": [domain for kind in by_kind for domain in kind[::2]],
    }


def more_kinds() -> list[Domain]:
    """Domains that had nothing to do with frontier return, for what is said of errors: subjects of another
    encyclopedia, hosts of universities, and hosts of webs that have only links between hosts."""
    if IS_TINY:
        return []
    found = list(_wikispeedia())
    for name, least in (("webkb-dev", 40), ("tsaparas-movies", 20), ("tsaparas-cars", 20)):
        found += itertools.islice(hosts_of(_with_hosts(name), least, MANY), 30)
    return found


def _tiny_domains() -> list[Domain]:
    """Hosts of two generated webs, and pages of one without links between them."""
    webs = [RankedWeb.of(name, synthetic_web(300, rng=k)) for k, name in enumerate(("docs-web-dev", "hollins-2004"))]
    dangling = np.flatnonzero(webs[0].graph.out_degrees() == 0)[:5]
    hosts = [domain for web in webs for domain in itertools.islice(hosts_of(web, 3, MANY), 6)]
    return [*hosts, Domain(webs[0], SITE, "dangling pages", dangling)]


def _wikispeedia() -> Iterator[Domain]:
    web = RankedWeb.of("wikispeedia", LinkGraph.load(DATA / "graphs" / "wikispeedia.npz"))
    subjects: dict[str, set[int]] = {}
    with gzip.open(DATA / "graphs" / "wikispeedia.categories.tsv.gz", "rt") as lines:
        for page, _, path in (line.strip().partition("\t") for line in lines):
            subjects.setdefault(".".join(path.split(".")[:3]), set()).add(int(page))
    for subject, pages in subjects.items():
        if 40 <= len(pages) <= 800:
            yield Domain(web, TOPIC, subject, np.array(sorted(pages)))


def _with_hosts(name: str) -> RankedWeb:
    """A web whose hosts are those of its URLs, where its file says nothing of hosts."""
    graph = LinkGraph.load(DATA / "graphs" / f"{name}.npz")
    if graph.hosts is None:
        assert graph.urls is not None
        hosts = np.unique(np.array([host_of(url) for url in graph.urls]), return_inverse=True)[1]
        sources = np.repeat(np.arange(graph.n_pages), graph.out_degrees())
        graph = LinkGraph.from_links(graph.n_pages, sources, graph.targets, hosts=hosts)
    return RankedWeb.of(name, graph)


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
