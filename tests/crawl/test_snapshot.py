"""The graph of a crawl folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from orienteer.crawl.snapshot import graph_of_crawl, is_crawl_folder
from orienteer.fake_web.graph_site import GraphSite
from orienteer.fake_web.server import FakeWeb
from orienteer.fake_web.site import MadeSite
from orienteer.seeds.select import select_seeds
from tests.cli.run import orienteer
from tests.conftest import random_web
from tests.crawl.live_crawls import Told, crawled, hub, renumbered


def test_pages_outside_the_scope_are_left_out(tmp_path: Path) -> None:
    places = {"http://a.test/": "<a href=/b><a href=http://outside.test/><a href=/c>", "http://a.test/c": "<a href=/b>"}
    with FakeWeb(MadeSite(places)) as web:
        crawled(web, "http://a.test/", tmp_path, scope="host")
    graph = graph_of_crawl(tmp_path)
    assert graph.urls is not None
    assert list(graph.urls) == ["http://a.test/", "http://a.test/b", "http://a.test/c"]
    assert [graph.links(page).tolist() for page in range(3)] == [[1, 2], [], [1]]


def test_a_crawl_to_the_end_knows_the_links_of_the_site(tmp_path: Path, rng: np.random.Generator) -> None:
    site = GraphSite(random_web(rng, 120, 4.0, with_hosts=True))
    assert not is_crawl_folder(tmp_path)
    with FakeWeb(site) as web:
        crawled(web, hub(site), tmp_path / "c", budget=15)
        part = graph_of_crawl(tmp_path / "c")
        crawled(web, hub(site), tmp_path / "c")
    assert is_crawl_folder(tmp_path / "c")
    graph, truth = graph_of_crawl(tmp_path / "c"), renumbered(Told(tmp_path / "c"), site)
    assert graph.urls is not None
    assert list(graph.urls) == Told(tmp_path / "c").urls
    for page in range(graph.n_pages):
        assert graph.links(page).tolist() == truth.links(page).tolist()
    assert (part.out_degrees() > 0).sum() <= 15
    said = orienteer("graph", "info", tmp_path / "c").stdout
    assert f"{graph.n_links:,}" in said
    seeds = json.loads(orienteer("seeds", tmp_path / "c", "-k", 3, "--method", "greedy", "--json").stdout)
    assert [entry["page"] for entry in seeds["seeds"]] == select_seeds(graph, 3, method="greedy").tolist()
