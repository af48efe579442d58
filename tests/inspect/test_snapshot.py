"""The graph of a crawl folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import orienteer as ori
from orienteer.errors import CrawlFolderError
from orienteer.inspect.snapshot import graph_of_crawl, is_crawl_folder, web_at, web_of_crawl
from orienteer.pages.states import PageState
from orienteer.seeds.select import select_seeds
from orienteer.store.database import Database
from orienteer.store.page_row import PageRow
from tests.cli.run import orienteer
from tests.conftest import random_web
from tests.fake_web.fake_response import redirect_to
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import StoredCrawl, crawled, hub, renumbered


def test_pages_outside_the_scope_are_left_out(tmp_path: Path) -> None:
    places = {"http://a.test/": "<a href=/b><a href=http://outside.test/><a href=/c>", "http://a.test/c": "<a href=/b>"}
    with FakeWeb(MadeSite(places)) as web:
        crawled(web, "http://a.test/", tmp_path, scope="host")
    graph = graph_of_crawl(tmp_path)
    assert graph.urls is not None
    assert list(graph.urls) == ["http://a.test/", "http://a.test/b", "http://a.test/c"]
    assert [graph.links(page).tolist() for page in range(3)] == [[1, 2], [], [1]]
    assert ori.LinkGraph.load(tmp_path) == graph, "a crawl folder can be read as graphs are"


def test_what_is_done_and_what_repeats_another_page(tmp_path: Path) -> None:
    long_text = " ".join(f"word{k}" for k in range(300))
    places = {
        "http://a.test/": "<a href=http://outside.test/><a href=/1><a href=/2><a href=/near><a href=/gone><a href=/to>",
        "http://a.test/1": f"<p>{long_text}",
        "http://a.test/2": f"<p>{long_text}",
        "http://a.test/near": f"<p>{long_text} and more",
        "http://a.test/to": redirect_to("/late"),
    }
    with FakeWeb(MadeSite(places)) as fake:
        crawled(
            fake, "http://a.test/", tmp_path, scope="host", budget=6, policy="breadth-first",
            settings={"crawl": {"workers": 1}},
        )  # fmt: skip
    web = web_at(tmp_path)
    assert web.graph.urls is not None
    paths = [url.removeprefix("http://a.test") for url in web.graph.urls]
    assert paths == ["/", "/1", "/2", "/near", "/gone", "/to", "/late"]
    assert web.pages.tolist() == [0, 2, 3, 4, 5, 6, 7], "1 is outside of the scope"
    assert web.is_done.tolist() == [True] * 6 + [False]
    assert [path for path, repeats in zip(paths, web.is_duplicate, strict=True) if repeats] == ["/2", "/near"]
    assert web.graph.links(5).tolist() == [6]


def test_the_database_may_be_that_of_the_writer(tmp_path: Path) -> None:
    """What it has written is seen before it is committed."""
    with Database.create(tmp_path / "crawl.db") as database:
        assert web_of_crawl(database).graph.n_pages == 0
        database.urls.add(0, ["http://a.test/", "http://out.test/", "http://a.test/b", "http://a.test/c"])
        database.pages.add(PageRow(0, 0, PageState.FETCHED, links=np.array([2, 2, 3], np.uint32)))
        database.pages.add(PageRow(2, 1, PageState.FETCHED, duplicate_of=0, near_duplicate_of=None))
        web = web_of_crawl(database)
    assert web.pages.tolist() == [0, 2, 3]
    assert web.graph.links(0).tolist() == [1, 2]
    assert web.is_done.tolist() == [True, True, False]
    assert web.is_duplicate.tolist() == [False, True, False]


@pytest.mark.parametrize("links", [[0, 7], [7]])
def test_a_page_without_a_url_is_damage(links: list[int], tmp_path: Path) -> None:
    with Database.create(tmp_path / "crawl.db") as database:
        database.pages.add(PageRow(0, 0, PageState.FETCHED))
        with pytest.raises(CrawlFolderError, match=r"damaged \(there is no URL with id 0\)"):
            web_of_crawl(database)
        database.urls.add(0, ["http://a.test/", "http://a.test/b"])
        database.pages.add(PageRow(1, 1, PageState.FETCHED, links=np.array(links, np.uint32)))
        with pytest.raises(CrawlFolderError, match=r"damaged \(there is no URL with id 7\)"):
            web_of_crawl(database)


def test_a_duplicate_url_is_damage(tmp_path: Path) -> None:
    with Database.create(tmp_path / "crawl.db") as database:
        database.urls.add(0, ["http://a.test/", "http://a.test/"])
        with pytest.raises(CrawlFolderError, match="it has a URL twice"):
            web_of_crawl(database)


def test_a_crawl_to_the_end_knows_the_links_of_the_site(tmp_path: Path, rng: np.random.Generator) -> None:
    site = GraphSite(random_web(rng, 120, 4.0, with_hosts=True))
    assert not is_crawl_folder(tmp_path)
    with FakeWeb(site) as web:
        crawled(web, hub(site), tmp_path / "c", budget=15)
        part = graph_of_crawl(tmp_path / "c")
        crawled(web, hub(site), tmp_path / "c")
    assert is_crawl_folder(tmp_path / "c")
    graph, truth = graph_of_crawl(tmp_path / "c"), renumbered(StoredCrawl(tmp_path / "c"), site)
    assert graph.urls is not None
    assert list(graph.urls) == StoredCrawl(tmp_path / "c").urls
    for page in range(graph.n_pages):
        assert graph.links(page).tolist() == truth.links(page).tolist()
    assert (part.out_degrees() > 0).sum() <= 15
    said = orienteer("graph", "info", tmp_path / "c").stdout
    assert f"{graph.n_links:,}" in said
    seeds = json.loads(orienteer("seeds", tmp_path / "c", "-k", 3, "--method", "greedy", "--json").stdout)
    assert [entry["page"] for entry in seeds["seeds"]] == select_seeds(graph, 3, method="greedy").tolist()
