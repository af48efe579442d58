from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from experiments.domains import SITE, STRETCH, TOPIC, Domain, RankedWeb, RealDomains, hosts_of
from experiments.real_data import RealData
from experiments.webs import Webs
from orienteer.graph.pagerank import pagerank
from tests.conftest import random_web
from tests.experiments.made_up_data import experiment_with, write_graph


def domains_in(home: Path) -> RealDomains:
    return RealDomains(RealData(experiment_with(home), Webs(home, quick=False)))


def test_hosts_of_some_sizes(rng: np.random.Generator) -> None:
    web = RankedWeb.of("web", random_web(rng, 100, with_hosts=True))
    assert web.graph.hosts is not None
    found = list(hosts_of(web, 5, 7))
    assert found
    for domain in found:
        assert 5 <= len(domain.pages) <= 7
        assert len(set(web.graph.hosts[domain.pages])) == 1
        assert domain.kind == SITE


def test_the_truth_is_the_rank_in_the_whole_web(rng: np.random.Generator) -> None:
    graph = random_web(rng, 50)
    truth = Domain(RankedWeb.of("web", graph), SITE, "", np.arange(5)).truth
    whole = pagerank(graph, tolerance=1e-10)[:5]
    assert np.allclose(truth, whole / whole.sum())


def test_without_data_there_are_no_domains(tmp_path: Path) -> None:
    real = domains_in(tmp_path)
    assert real.by_kind() == [[], [], [], [], []]
    assert real.further() == []


def test_domains_of_each_kind(tmp_path: Path, rng: np.random.Generator) -> None:
    write_graph(tmp_path, "polblogs-2004", random_web(rng, 300), label=np.arange(300) % 2)
    write_graph(
        tmp_path, "webkb-dev", random_web(rng, 400), univ=np.arange(400) // 150, univ_names=np.array(["a", "b", "c"])
    )
    write_graph(tmp_path, "schools-wikipedia-articles", random_web(rng, 300))
    write_graph(tmp_path, "hollins-2004", random_web(rng, 900))
    with gzip.open(tmp_path / "graphs" / "schools-wikipedia-articles.topics.tsv.gz", "wt") as lines:
        lines.writelines(f"{page}\tA.Large\n{page % 50}\tA.Small\n{page % 9}\tTiny\n" for page in range(90))
    real = domains_in(tmp_path)
    hosts, stretches, subjects, blogs, universities = real.by_kind()
    assert (hosts, stretches) == ([], [])
    assert [(one.kind, one.name, len(one.pages)) for one in subjects] == [(TOPIC, "Large", 90)]
    assert [(one.kind, one.name, len(one.pages)) for one in blogs] == [(TOPIC, "label 0", 150), (TOPIC, "label 1", 150)]
    assert [(one.kind, one.name) for one in universities] == [(SITE, "univ a"), (SITE, "univ b"), (SITE, "univ c")]
    further = real.further()
    assert [(one.kind, len(one.pages)) for one in further] == [
        (TOPIC, 50), *[(STRETCH, size) for size in (300, 500, 800, 300, 500, 800)],
    ]  # fmt: skip
