"""A graph as a web: what is served is what the graph says."""

from __future__ import annotations

import numpy as np
import pytest

from orienteer.errors import InputError
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.shapes import clique
from orienteer.graph.synthetic import synthetic_web
from orienteer.url import canonical_url
from tests.conftest import random_web, shared_file
from tests.extract.only_links import extract_links
from tests.fake_web.client import fetch
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.process import FakeWebProcess
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import RequestHeaders, host_and_target


def links_served(port: int, site: GraphSite, page: int) -> list[int | None]:
    url = site.url_of(page)
    status, headers, body = fetch(port, url)
    assert (status, headers["content-type"]) == (200, "text/html")
    return [site.page_of(link) for link in extract_links(body, url)]


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("with_hosts", [False, True])
def test_every_link_of_a_random_web_is_served_in_order(rng, with_hosts, relative):
    graph = random_web(rng, 60, 5.0, with_hosts)
    site = GraphSite(graph, page_bytes=1000, relative=relative)
    with FakeWeb(site) as web:
        for page in range(graph.n_pages):
            assert links_served(web.port, site, page) == graph.links(page).tolist()
        assert len(web.requests) == graph.n_pages


def test_urls_of_a_graph_with_urls_are_its_own():
    graph = synthetic_web(200, rng=1, with_urls=True)
    site = GraphSite(graph, relative=True)
    assert site.urls() == graph.urls[:]
    with FakeWeb(site) as web:
        for page in range(0, graph.n_pages, 20):
            assert links_served(web.port, site, page) == graph.links(page).tolist()


def test_urls_that_are_made_up():
    graph = LinkGraph.from_links(6, [0, 1], [1, 5], hosts=[0, 0, 3, 3, 0, 3])
    site = GraphSite(graph)
    assert site.urls() == [
        "http://h0.test/",
        "http://h0.test/p1",
        "http://h3.test/",
        "http://h3.test/p3",
        "http://h0.test/p4",
        "http://h3.test/p5",
    ]
    assert site.hosts == ["h0.test", "h3.test"]
    assert [site.page_of(url) for url in site.urls()] == list(range(6))
    assert site.page_of("https://h3.test/p3") == 3
    nothing = ["http://h1.test/", "http://h9.test/", "http://h0.test/p0", "http://h3.test/p1", "http://h0.test/p77"]
    nothing += [
        "http://h0.test/px",
        "http://h0.test/p1?",
        "http://hx.test/",
        "http://a.test/",
        "http://h0.test/p" + "1" * 99,
    ]
    assert [site.page_of(url) for url in nothing] == [None] * len(nothing)


def test_urls_that_are_odd_in_the_graph_are_served_in_canonical_form():
    texts = [
        "HTTP://A.test",
        "https://a.test/x y",
        "ftp://a.test/",
        "A title",
        "http://a.test/b?c=1&copy=2#d",
        "http://a.test//e",
    ]
    graph = LinkGraph.from_links(6, [0] * 5, [1, 2, 3, 4, 5], urls=texts)
    site = GraphSite(graph, relative=True)
    urls = [
        "http://a.test/",
        "http://a.test/x%20y",
        "http://h0.test/p2",
        "http://h0.test/p3",
        "http://a.test/b?c=1&copy=2",
        "http://a.test//e",
    ]
    assert site.urls() == urls
    assert [canonical_url(url) for url in urls] == urls
    assert [site.page_of(url) for url in urls] == list(range(6))
    with FakeWeb(site) as web:
        assert links_served(web.port, site, 0) == [1, 2, 3, 4, 5]
        assert fetch(web.port, "http://a.test/nothing")[0] == 404


@pytest.mark.parametrize("page_bytes", [1000, 4000, 15_000, 40_000])
def test_pages_have_about_the_size_asked_for(page_bytes):
    site = GraphSite(clique(5), page_bytes)
    for page in range(5):
        assert 0.8 * page_bytes < len(site.html(page).encode()) < 1.2 * page_bytes + 100


def test_pages_are_the_same_every_time_and_differ_from_each_other():
    graph = synthetic_web(300, rng=2)
    first, second = GraphSite(graph, 4000), GraphSite(graph, 4000)
    shingles = []
    for page in range(0, 300, 3):
        html = first.html(page)
        assert html == second.html(page)
        words = html.partition("<p>")[2].partition("</p>")[0].split()
        shingles.append({tuple(words[k : k + 4]) for k in range(len(words) - 3)})
    resemblance = [len(a & b) / len(a | b) for k, a in enumerate(shingles) for b in shingles[k + 1 :]]
    assert max(resemblance) < 0.5


def test_what_is_kept_is_bounded():
    site = GraphSite(clique(20), page_bytes=4000, cache_bytes=30_000)
    with FakeWeb(site) as web:
        bodies = [fetch(web.port, site.url_of(page))[2] for page in range(20)]
        assert [fetch(web.port, site.url_of(page))[2] for page in range(20)] == bodies
    assert sum(len(response.body) for response in site._cache.values()) == site._cached_bytes <= 30_000
    assert len(GraphSite(clique(2), cache_bytes=0).response("h0.test", "/", RequestHeaders(b"")).body) > 0


def test_robots():
    with FakeWeb(GraphSite(clique(3), robots={"*": "User-agent: *\nDisallow: /p1\n"})) as web:
        assert fetch(web.port, "http://h0.test/robots.txt")[2].endswith(b"/p1\n")
    with FakeWeb(GraphSite(clique(3))) as web:
        assert fetch(web.port, "http://h0.test/robots.txt")[0] == 404


def test_a_size_that_makes_no_sense():
    with pytest.raises(InputError, match="page_bytes is -1"):
        GraphSite(clique(2), page_bytes=-1)


def loaded_site(path, **settings):
    return GraphSite(LinkGraph.load(path), **settings)


def test_from_a_file_in_a_process_of_its_own(tmp_path, rng):
    graph = random_web(rng, 30, 4.0, with_hosts=True)
    graph.save(tmp_path / "web.npz")
    site = GraphSite(graph, page_bytes=2000)
    with FakeWebProcess(loaded_site, tmp_path / "web.npz", page_bytes=2000) as web:
        for page in range(30):
            assert fetch(web.port, site.url_of(page))[2] == site.html(page).encode()


def test_an_empty_graph():
    site = GraphSite(LinkGraph.from_links(0, [], [], hosts=np.empty(0, np.int32)))
    assert site.urls() == []
    assert site.page_of("http://h0.test/") is None
    assert GraphSite(LinkGraph.from_links(0, [], [])).page_of("http://h0.test/") is None


def test_a_real_graph_with_urls_that_nobody_could_fetch():
    graph = LinkGraph.load(shared_file("graphs/webkb-dev.npz"))
    site = GraphSite(graph)
    urls = site.urls()
    assert all(url.startswith("http://") for url in urls)
    first_with = {url: page for page, url in reversed(list(enumerate(urls)))}
    for page in range(0, graph.n_pages, 37):
        found = site.page_of(urls[page])
        assert found is not None
        assert urls[found] == urls[page]
        assert found == first_with[urls[page]] or urls.count(urls[page]) > 1
        assert site.response(*host_and_target(urls[page]), RequestHeaders(b"")).status == 200
