"""The map of a crawl: against what a search says of the same pages, and against sums written out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.url_table import UrlTable
from orienteer.search.search_index import SearchIndex
from orienteer.store.database import DatabaseView
from orienteer.web import crawl_map
from orienteer.web.crawl_map import CrawlMap
from tests.conftest import random_web
from tests.search.small_webs import HandmadeCrawl
from tests.web.small_crawl import DEAD, FORBIDDEN, MOVED
from tests.web.wide_crawl import host_name, many_hosts, urls_of_hosts, written_crawl


def map_of(folder: Path) -> CrawlMap:
    with DatabaseView(folder / "crawl.db") as database:
        return CrawlMap.of(database)


@pytest.fixture(scope="module")
def small(small_crawl: Path) -> CrawlMap:
    return map_of(small_crawl)


def random_map(rng: np.random.Generator, n_pages: int) -> tuple[LinkGraph, CrawlMap]:
    graph = random_web(rng, n_pages, with_hosts=True)
    assert graph.hosts is not None
    hosts = np.unique(graph.hosts, return_inverse=True)[1]
    return graph, CrawlMap.of_graph(graph, UrlTable.of(urls_of_hosts(hosts)), 0)


def test_it_has_the_fetched_pages_and_no_others(small: CrawlMap) -> None:
    assert small.kind == "host"
    assert set(small.names) == {f"{name}.harbour.test" for name in ("www", "museum", "library", "club")}
    assert not {DEAD, FORBIDDEN, MOVED} & set(small.urls)
    assert small.rank.sum() == pytest.approx(1)
    assert small.masses.n_pages.sum() == len(small.urls)


def test_pages_are_worth_what_a_search_says(small: CrawlMap, small_crawl: Path) -> None:
    with SearchIndex.open(small_crawl) as index:
        hits = index.search("harbour", n=50).hits
    assert len(hits) > 10
    ranks = dict(zip(small.urls, small.rank.tolist(), strict=True))
    assert [ranks[hit.url] for hit in hits] == pytest.approx([hit.local_rank for hit in hits])


def test_flows_are_the_strongest_links(rng: np.random.Generator) -> None:
    graph, found = random_map(rng, 200)
    hosts = found.of_page
    mass = np.zeros((len(found.names), len(found.names)))
    for page in range(graph.n_pages):
        for target in graph.links(page).tolist():
            mass[hosts[page], hosts[target]] += 0.85 * found.rank[page] / len(graph.links(page))
    np.fill_diagonal(mass, 0)
    for region in range(len(found.names)):
        for flows, row in ((found.flows_out(region, 3), mass[region]), (found.flows_in(region, 3), mass[:, region])):
            assert [flow.mass for flow in flows] == pytest.approx(sorted(row[row > 0], reverse=True)[:3])
            assert [flow.mass for flow in flows] == pytest.approx([row[found.names.index(flow.name)] for flow in flows])


def test_the_pages_of_a_region_come_by_rank(rng: np.random.Generator) -> None:
    graph, found = random_map(rng, 200)
    in_degrees = np.bincount(graph.targets, minlength=graph.n_pages)
    for region, name in enumerate(found.names):
        pages = found.pages(region, 0, 1000)
        assert {one.url for one in pages} == {url for url in found.urls if url.startswith(f"http://{name}/")}
        assert [one.rank for one in pages] == sorted((one.rank for one in pages), reverse=True)
        assert pages[1:3] == found.pages(region, 1, 2)
        for one in pages:
            page = found.urls.find(one.url)
            assert (one.n_in, one.n_out) == (in_degrees[page], len(graph.links(page)))
            assert one.position - 1 <= (found.rank >= found.rank[page]).sum()


def test_circles_are_of_the_regions_with_the_most_rank(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawl_map, "MAX_CIRCLES", 20)
    _, found = random_map(rng, 300)
    assert len(found.names) > 20
    circles = found.circles
    assert len(circles.layout.x) == 20
    assert (np.diff(found.masses.rank[found.order]) <= 0).all()
    assert max(circles.sources.max(), circles.targets.max()) < 20
    assert (np.diff(circles.mass) <= 0).all()
    for source, target, mass in zip(circles.sources, circles.targets, circles.mass, strict=True):
        flows = {found.names.index(flow.name): flow.mass for flow in found.flows_out(int(found.order[source]), 300)}
        assert flows[int(found.order[target])] == mass


def test_what_is_looked_for_comes_by_rank(small: CrawlMap) -> None:
    assert [small.names[region] for region in small.named_like("HARBOUR m")] == [
        name for name in (small.names[region] for region in small.order) if "m" in name.replace("harbour", "")
    ]
    assert list(small.named_like("nowhere")) == []


def test_before_the_first_page_there_is_nothing(tmp_path: Path) -> None:
    found = map_of(HandmadeCrawl(tmp_path / "crawl").path)
    assert (found.names, len(found.urls), len(found.circles.layout.x)) == ([], 0, 0)


def test_a_single_host_is_divided_by_folders(tmp_path: Path, rng: np.random.Generator) -> None:
    graph = random_web(rng, 60)
    urls = [f"http://a.test/{'xyz'[page % 3]}/{page}" for page in range(60)]
    found = map_of(
        written_crawl(tmp_path / "crawl", LinkGraph.from_links(60, graph.sources(), graph.targets, urls=urls))
    )
    assert (found.kind, sorted(found.names)) == ("folder", ["/x/", "/y/", "/z/"])


def test_a_written_crawl_is_the_graph_it_was_made_of(tmp_path: Path, rng: np.random.Generator) -> None:
    graph = many_hosts(rng, 30)
    assert graph.urls is not None
    found, expected = map_of(written_crawl(tmp_path / "crawl", graph)), CrawlMap.of_graph(graph, graph.urls, 0)
    assert found.names == expected.names == [host_name(host) for host in range(30)]
    assert found.masses.mass == pytest.approx(expected.masses.mass)


def test_what_is_known_and_not_fetched_is_counted_by_region(small: CrawlMap) -> None:
    shares = {name: small.fetched_share(region) for region, name in enumerate(small.names)}
    assert small.n_others.sum() == 1, "what robots.txt forbids; the dead link leads to no page"
    assert shares.pop("museum.harbour.test") < 1
    assert set(shares.values()) == {1.0}


def test_unfetched_pages_of_folders_are_counted() -> None:
    urls = UrlTable.of(["http://a.org/", "http://a.org/b/1", "http://a.org/b/2"])
    graph = LinkGraph.from_links(3, [0, 0], [1, 2])
    others = UrlTable.of(["http://a.org/b/3", "http://a.org/c", "http://other.org/b/4"])
    found = CrawlMap.of_graph(graph, urls, 0, others, sample_step=2)
    assert dict(zip(found.names, found.n_others.tolist(), strict=True)) == {"/": 2, "/b/": 2}
