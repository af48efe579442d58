"""Graphs with URLs and ranks, read by NetworkX, pandas, DuckDB, and Orienteer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import networkx as nx
import pytest

import orienteer as ori
from orienteer.exports.export import export
from tests.exports.crawls import HOME, NEWS, PAGES, RUDE_TITLE, RUDE_URLS, TWIN, VISIT, hostile_crawl, site_crawl


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site_crawl(tmp_path_factory.mktemp("site") / "crawl")


def exported(crawl: Path, folder: Path, **options: Any) -> nx.DiGraph:
    report = export(crawl, "graphml", folder / "links.graphml", **options)
    web = nx.read_graphml(folder / "links.graphml", node_type=int)
    assert isinstance(web, nx.DiGraph)
    assert (web.number_of_nodes(), web.number_of_edges()) == (report.n_pages, report.n_links)
    return web


def links(web: nx.DiGraph) -> set[tuple[str, str]]:
    return {(web.nodes[source]["url"], web.nodes[target]["url"]) for source, target in web.edges}


def test_networkx_reads_it(crawl: Path, tmp_path: Path) -> None:
    web = exported(crawl, tmp_path)
    by_url = {values["url"]: values for _, values in web.nodes(data=True)}
    assert set(by_url) == PAGES
    assert by_url[VISIT]["title"] == "Visit"
    assert by_url[VISIT]["host"] == "www.b.test"
    assert {target for source, target in links(web) if source == VISIT} == {HOME, NEWS}, "a redirect is another name"


def test_the_rank_is_that_of_the_graph(crawl: Path, tmp_path: Path) -> None:
    web = exported(crawl, tmp_path)
    rank = nx.pagerank(web, alpha=0.85, tol=1e-10)
    assert {page: values["local_rank"] for page, values in web.nodes(data=True)} == pytest.approx(rank, abs=1e-6)


def test_hostile_titles_and_urls(tmp_path: Path) -> None:
    web = exported(hostile_crawl(tmp_path / "crawl").path, tmp_path)
    urls = {values["url"] for _, values in web.nodes(data=True)}
    titles = {values["title"] for _, values in web.nodes(data=True)}
    readable = str.maketrans(dict.fromkeys("\x00\x07\x1b\ufffe", "\ufffd"))
    assert titles == {RUDE_TITLE.translate(readable)}
    assert urls == {url.translate(readable) for url in RUDE_URLS}


def test_a_selection_of_pages(crawl: Path, tmp_path: Path) -> None:
    web = exported(crawl, tmp_path, sites="a.test")
    assert {values["url"] for _, values in web.nodes(data=True)} == PAGES - {VISIT}
    assert (NEWS, HOME) in links(web)


def graph_links(web: ori.LinkGraph) -> set[tuple[str, str]]:
    assert web.urls is not None
    urls = list(web.urls)
    return {(urls[s], urls[t]) for s, t in zip(web.sources().tolist(), web.targets.tolist(), strict=True)}


@pytest.mark.parametrize(
    ("format", "name"), [("graphml", "web.graphml.gz"), ("edges", "web.csv"), ("edges", "web.tsv.zst")]
)
def test_it_round_trips(format: str, name: str, crawl: Path, tmp_path: Path) -> None:
    truth = links(exported(crawl, tmp_path))
    export(crawl, format, tmp_path / name)
    web = ori.LinkGraph.load(tmp_path / name)
    assert graph_links(web) == truth
    if format == "graphml":
        assert web.urls is not None
        assert set(web.urls) == PAGES
        assert web.hosts is not None
        assert len(set(web.hosts.tolist())) == 2


def test_edges_in_pandas_and_duckdb(crawl: Path, tmp_path: Path) -> None:
    import pandas as pd  # here, since it takes long to import

    truth = links(exported(crawl, tmp_path))
    export(crawl, "edges", tmp_path / "web.csv")
    table = pd.read_csv(tmp_path / "web.csv")
    assert set(table.itertuples(index=False, name=None)) == truth
    with duckdb.connect() as database:
        assert set(database.sql(f"SELECT source, target FROM '{tmp_path / 'web.csv'}'").fetchall()) == truth


@pytest.mark.parametrize("name", ["web.csv", "web.tsv"])
def test_hostile_edges(name: str, tmp_path: Path) -> None:
    """A URL never contains a tab or a line end, but may contain commas and quotes."""
    import pandas as pd

    crawl = hostile_crawl(tmp_path / "crawl")
    export(crawl.path, "edges", tmp_path / name)
    table = pd.read_csv(tmp_path / name, sep="," if name == "web.csv" else "\t")
    assert set(table["source"]) | set(table["target"]) == set(RUDE_URLS)
    assert len(table) == ori.LinkGraph.load(tmp_path / name).n_links


def test_a_duplicate_is_a_page_of_the_graph(crawl: Path, tmp_path: Path) -> None:
    assert {NEWS, TWIN} <= {values["url"] for _, values in exported(crawl, tmp_path).nodes(data=True)}
