"""Exports can be imported again, with the same result."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import orienteer as ori
from orienteer.exports.export import export
from orienteer.inspect.snapshot import graph_of_crawl
from tests.conftest import random_web
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.imports.test_import_archives import links_by_url
from tests.live.live_crawls import StoredCrawl, crawled, hub


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl with nothing left to fetch."""
    site = GraphSite(random_web(np.random.default_rng(7), 80, 4.0, with_hosts=True))
    folder = tmp_path_factory.mktemp("crawls") / "own"
    with FakeWeb(site) as web:
        crawled(web, hub(site), folder)
    return folder


def links_of(graph: ori.LinkGraph) -> dict[str, set[str]]:
    assert graph.urls is not None
    return {graph.urls[page]: {graph.urls[k] for k in graph.links(page)} for page in range(graph.n_pages)}


@pytest.mark.parametrize("name", ["pages.warc.gz", "pages.wacz"])
def test_archives(name: str, crawl: Path, tmp_path: Path) -> None:
    kind = name.split(".")[1]
    export(crawl, kind, tmp_path / name)
    seed = StoredCrawl(crawl).urls[0]
    report = ori.import_crawl(tmp_path / name, tmp_path / "again", seeds=seed, scope="web")
    assert (report.n_frontier, report.n_unlinked, report.n_damaged) == (0, 0, 0)
    assert links_by_url(tmp_path / "again") == links_by_url(crawl)
    own, again = StoredCrawl(crawl), StoredCrawl(tmp_path / "again")
    assert {url: row.digest for url, row in again.rows.items() if row} == {
        url: row.digest for url, row in own.rows.items() if row
    }


@pytest.mark.parametrize(
    ("kind", "name"), [("edges", "web.csv.gz"), ("graphml", "web.graphml"), ("parquet", "web.parquet")]
)
def test_graphs(kind: str, name: str, crawl: Path, tmp_path: Path) -> None:
    graph_of_crawl(crawl).save(tmp_path / name, **({"urls": True} if kind == "edges" else {}))
    report = ori.import_crawl(tmp_path / name, tmp_path / "graph")
    again = ori.LinkGraph.load(tmp_path / "graph")
    assert (report.made, report.n_known, report.n_links) == ("graph", again.n_pages, again.n_links)
    assert links_of(again) == links_by_url(crawl)


def test_a_sitemap(crawl: Path, tmp_path: Path) -> None:
    export(crawl, "sitemap", tmp_path / "sitemap.xml", hosts=[StoredCrawl(crawl).urls[0].split("/")[2]])
    report = ori.import_crawl(tmp_path / "sitemap.xml", tmp_path / "next")
    assert report.n_listed > 0
    assert report.n_fetched == 0
    assert set(StoredCrawl(tmp_path / "next").urls) - set(report.seeds) <= set(StoredCrawl(crawl).urls)
