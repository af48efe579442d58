"""Seeds selected on a known web, and crawls that start from them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orienteer as ori
from orienteer.errors import GraphFileError, InputError
from orienteer.graph.coverage import certificate
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.reach import within
from orienteer.graph.synthetic import synthetic_web
from orienteer.inspect.snapshot import web_at
from orienteer.ledger.settings import StartSettings
from orienteer.live.start_pages import StartPages, paper_value_of_crawl, start_pages
from orienteer.seeds.select import seed_selection
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.live.live_crawls import StoredCrawl, crawled, hub


@pytest.fixture
def site(rng: np.random.Generator) -> GraphSite:
    """A web without hubs, in which a few hops do not reach everything."""
    links = rng.integers(0, 200, (2, 400))
    return GraphSite(LinkGraph.from_links(200, *links, hosts=np.arange(200) // 8))


# -- the law ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_seeds", "hops"), [(1, 0), (2, 1), (3, 2), (5, 4)])
def test_a_crawl_from_the_seeds_reaches_their_reported_coverage(
    n_seeds: int, hops: int, tmp_path: Path, site: GraphSite
) -> None:
    with FakeWeb(site) as web:
        crawled(web, [hub(site), site.url_of(3), site.url_of(150)], tmp_path / "first")
        start = start_pages(tmp_path / "first", StartSettings(n_seeds, hops))
        crawled(web, list(start.seeds), tmp_path / "second", settings={"scope": {"max_depth": hops}})
    known = web_at(tmp_path / "first").graph
    assert known.urls is not None
    reached = within(known, start.selection.pages, hops)
    assert StoredCrawl(tmp_path / "second").fetched_urls() == {known.urls[page] for page in reached.tolist()}
    assert len(reached) == start.selection.n_covered < known.n_pages
    assert StoredCrawl(tmp_path / "second").urls[:n_seeds] == list(start.seeds)


def test_trust_by_value_is_the_trust_of_the_crawl(tmp_path: Path, site: GraphSite) -> None:
    with FakeWeb(site) as web:
        crawled(web, hub(site), tmp_path / "first", budget=60)
        start = start_pages(tmp_path / "first", StartSettings(4, 2, trust_by="value"))
        assert len(start.trust) == len(start.seeds) == 4
        assert start.trust == tuple(seed.value for seed in start.selection.seeds)
        report = crawled(
            web, list(start.seeds), tmp_path / "second", until=0.7, settings={"crawl": {"trust": start.trust}}
        )
    stored = StoredCrawl(tmp_path / "second")
    graph = web_at(tmp_path / "second").graph
    weights = dict(enumerate(np.array(start.trust) / sum(start.trust)))
    assert stored.urls[:4] == list(start.seeds)
    assert report.figures.certificate.lower == pytest.approx(certificate(graph, stored.order, weights).lower, abs=1e-8)


# -- selection --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def web_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graph") / "web.npz"
    synthetic_web(500, with_urls=True).save(path)
    return path


@pytest.mark.parametrize("method", ["max-weight", "greedy", "random"])
def test_the_seeds_of_a_graph_are_those_of_select_seeds(method: str, web_file: Path) -> None:
    graph = LinkGraph.load(web_file)
    found = start_pages(web_file, StartSettings(6, 2, method))
    assert found.selection.pages.tolist() == ori.select_seeds(graph, 6, 2, method).tolist()
    assert graph.urls is not None
    assert list(found.seeds) == [graph.urls[page] for page in found.selection.pages.tolist()]
    assert found.trust == ()
    assert start_pages(web_file, StartSettings(6, 2, method, value="paper")) == found, "all pages count as crawled"


def test_pages_of_a_crawl_have_the_values_of_the_paper_by_default(tmp_path: Path, site: GraphSite) -> None:
    with FakeWeb(site) as web:
        crawled(web, [hub(site), site.url_of(3)], tmp_path / "c", budget=30)
    known = web_at(tmp_path / "c")
    by_paper = seed_selection(known.graph, 5, 1, "greedy", paper_value_of_crawl(known))
    alike = tmp_path / "alike.txt"
    alike.write_text("1\n" * known.graph.n_pages)
    settings = StartSettings(5, 1, "greedy")
    assert start_pages(tmp_path / "c", settings).selection == by_paper
    assert start_pages(tmp_path / "c", replace(settings, value="paper")).selection == by_paper
    assert start_pages(tmp_path / "c", replace(settings, value=str(alike))).selection == seed_selection(
        known.graph, 5, 1, "greedy"
    )


def test_values_from_a_file_and_no_more_seeds_than_pages(tmp_path: Path) -> None:
    urls = ["http://a.test/", "http://a.test/b", "http://b.test/"]
    LinkGraph.from_links(3, [0], [1], urls=urls).save(tmp_path / "web.npz")
    values = tmp_path / "values.txt"
    values.write_text("http://a.test/b -3\nhttp://b.test/ 7\n")
    settings = StartSettings(hops=1, method="greedy", value=str(values), trust_by="value")
    found = start_pages(tmp_path / "web.npz", settings)
    assert (found.seeds, found.trust) == (("http://b.test/",), (7.0,)), "the others would cost more than they add"
    assert len(start_pages(tmp_path / "web.npz").seeds) == 2
    assert len(start_pages(tmp_path / "web.npz", StartSettings(hops=0)).seeds) == 3


def test_a_seed_that_adds_nothing_is_not_trusted(tmp_path: Path) -> None:
    """Methods that ignore values may select one."""
    urls = [f"http://a.test/{page}" for page in range(4)]
    LinkGraph.from_links(4, [0, 0, 1, 1, 2], [1, 2, 0, 2, 3], urls=urls).save(tmp_path / "web.npz")
    settings = StartSettings(3, 1, "out-degree")
    assert start_pages(tmp_path / "web.npz", settings).seeds == tuple(urls[:3])
    found = start_pages(tmp_path / "web.npz", replace(settings, trust_by="value"))
    assert (found.seeds, found.trust) == ((urls[0], urls[2]), (3.0, 1.0))
    assert found.selection.n_covered == 4


def test_two_pages_of_a_graph_with_the_same_canonical_url(tmp_path: Path) -> None:
    urls = ["http://a.test/", "HTTP://A.test:80", "http://b.test/#x"]
    LinkGraph.from_links(3, [], [], urls=urls).save(tmp_path / "web.npz")
    found = start_pages(tmp_path / "web.npz", StartSettings(trust_by="value"))
    assert (found.seeds, found.trust) == (("http://a.test/", "http://b.test/"), (2.0, 1.0))


def test_named_seeds_come_first(web_file: Path) -> None:
    found = start_pages(web_file, StartSettings(2, 2))
    one, two = found.seeds
    assert found.behind(["http://x.test/", two]).seeds == ("http://x.test/", two, one)
    assert found.behind(["http://x.test/"]).trust == ()
    assert found.behind([]) == found
    trusted = StartPages(("http://a.test/", "http://b.test/"), (6.0, 2.0), found.selection)
    assert trusted.behind(["http://x.test/", "http://b.test/"]).trust == (4.0, 2.0, 6.0)


# -- errors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_seeds": 0}, "n_seeds is 0; at least one seed is needed"),
        ({"hops": -1}, "hops is -1; it must be 0 or more"),
        ({"method": "gredy"}, "no seed method named 'gredy'; did you mean 'greedy'?"),
        ({"trust_by": "values"}, "no way to trust seeds named 'values'; did you mean 'value'?"),
    ],
)
def test_invalid_settings_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        StartSettings(**wrong)


def test_graphs_that_no_crawl_can_start_from(tmp_path: Path) -> None:
    path = tmp_path / "web.npz"
    with pytest.raises(GraphFileError, match="no such file"):
        start_pages(path)
    LinkGraph.from_links(3, [0], [1]).save(path)
    with pytest.raises(InputError, match="web.npz: the graph has no URLs, so no crawl can start"):
        start_pages(path)
    LinkGraph.from_links(0, [], [], urls=[]).save(path)
    with pytest.raises(InputError, match="there is no page in it"):
        start_pages(path)
    LinkGraph.from_links(2, [0], [1], urls=["A title", "http://a.test/"]).save(path)
    with pytest.raises(InputError, match="web.npz: 'A title' was chosen, and is not a URL"):
        start_pages(path, StartSettings(1))
    values = tmp_path / "values.txt"
    values.write_text("-1\n0\n")
    with pytest.raises(InputError, match="no page that greedy names would add anything"):
        start_pages(path, StartSettings(value=str(values)))
