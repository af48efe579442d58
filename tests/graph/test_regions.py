"""Regions (hosts, or folders of one host) and the mass between them, against explicit sums."""

from __future__ import annotations

import numpy as np
import pytest

from orienteer.graph import regions
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.graph.regions import Masses, masses_between, regions_of
from orienteer.graph.url_table import UrlTable
from tests.conftest import random_web


def of(*urls: str) -> list[tuple[str, str]]:
    """Each URL's region."""
    found = regions_of(UrlTable.of(urls))
    return [(found.kind, found.names[region]) for region in found.of_page]


def names_on_a(*paths: str) -> list[str]:
    return [name for _, name in of(*(f"https://a.org{path}" for path in paths))]


def test_several_hosts_are_the_regions() -> None:
    assert of("http://b.org/", "http://a.org/x", "https://b.org/y") == [
        ("host", "b.org"), ("host", "a.org"), ("host", "b.org"),
    ]  # fmt: skip


def test_a_single_host_is_divided_by_its_folders() -> None:
    assert names_on_a("/", "/a/1", "/a/2", "/b/1?x=/c/", "/end") == ["/", "/a/", "/a/", "/b/", "/"]


def test_a_large_folder_is_opened() -> None:
    many = [f"/wp/{letter}/{k}" for letter in "abcdef" for k in range(5)]
    assert names_on_a("/", *many) == ["/", *(f"/wp/{path[4]}/" for path in many)]


def test_a_common_folder_is_not_a_region() -> None:
    assert names_on_a("/docs/en/a/1", "/docs/en/b/1") == ["/docs/en/a/", "/docs/en/b/"]


def test_without_folders_each_page_is_a_region() -> None:
    assert of("http://a.org/x", "http://a.org/y?q") == [("page", "/x"), ("page", "/y?q")]
    assert of("http://a.org/in/x", "http://a.org/in/y") == [("page", "/in/x"), ("page", "/in/y")]


def test_a_folder_with_too_many_children_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "MAX_FOLDERS", 5)
    users = [f"/users/{k}/home" for k in range(20)]
    assert names_on_a("/", "/about/us", *users) == ["/", "/about/", *["/users/"] * 20]


def test_a_trap_of_deep_paths_costs_little() -> None:
    deep = ["/x" * 1000 + f"/{k}" for k in range(50)]
    assert len(set(names_on_a("/", *deep))) == 2


def test_no_page_and_one_page() -> None:
    assert of() == []
    assert of("http://a.org/") == [("page", "/")]


Flows = dict[tuple[int, int], list[float]]


def reference(graph: LinkGraph, hosts: np.ndarray, rank: np.ndarray) -> Flows:
    """Mass and number of links from host to host, link by link."""
    flows: Flows = {}
    for page in range(graph.n_pages):
        for target in graph.links(page).tolist():
            if hosts[page] != hosts[target]:
                flow = flows.setdefault((int(hosts[page]), int(hosts[target])), [0.0, 0])
                flow[0] += 0.85 * rank[page] / len(graph.links(page))
                flow[1] += 1
    return flows


@pytest.mark.parametrize("n_pages", [1, 7, 60, 300])
def test_masses_are_the_sums_over_links(rng: np.random.Generator, n_pages: int) -> None:
    graph = random_web(rng, n_pages, with_hosts=True)
    assert graph.hosts is not None
    n_hosts = int(graph.hosts.max()) + 2  # the last one has no page
    rank = pagerank(graph)
    found: Masses = masses_between(graph, graph.hosts, n_hosts, rank)
    expected = reference(graph, graph.hosts, rank)
    assert list(zip(found.sources.tolist(), found.targets.tolist(), strict=True)) == sorted(expected)
    assert found.mass == pytest.approx([expected[pair][0] for pair in sorted(expected)])
    assert found.n_links.tolist() == [expected[pair][1] for pair in sorted(expected)]
    assert found.rank == pytest.approx([rank[graph.hosts == host].sum() for host in range(n_hosts)])
    assert found.n_pages.tolist() == [int((graph.hosts == host).sum()) for host in range(n_hosts)]
