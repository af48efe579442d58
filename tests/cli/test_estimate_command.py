"""`orienteer estimate` on a fake web, and `orienteer graph estimate` on its graph."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import orienteer as ori
from orienteer.cli.estimate import describe_round, pages_of_budget
from orienteer.errors import InputError
from orienteer.graph.estimation.estimation import estimate_global_rank
from orienteer.graph.estimation.history import EstimateRound
from tests.cli.run import orienteer, orienteer_each
from tests.conftest import random_web
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.live.live_crawls import crawled


@pytest.fixture
def web(rng: np.random.Generator) -> Iterator[FakeWeb]:
    graph = random_web(rng, 120, 6.0, with_hosts=True)
    assert graph.hosts is not None
    with FakeWeb(GraphSite(ori.LinkGraph(graph.offsets, graph.targets, (graph.hosts // 6).astype(np.int32)))) as web:
        yield web


@pytest.fixture
def site(web: FakeWeb) -> GraphSite:
    assert isinstance(web.site, GraphSite)
    return web.site


def hub(site: GraphSite) -> int:
    return int(np.argmax(site.graph.out_degrees()))


def test_from_the_crawl_to_the_ranks(web: FakeWeb, site: GraphSite, tmp_path: Path) -> None:
    folder, ranks = tmp_path / "crawl", tmp_path / "ranks.tsv"
    report = crawled(web, site.url_of(hub(site)), folder, scope="host")
    done = orienteer("estimate", folder, "--budget", "1n", "--rounds", 4, "--settle", 0, "--top", 2, "--output", ranks)
    n = report.figures.n_fetched
    assert f"{n} pages of" in done.stdout
    assert f"{n} pages in 4 rounds" in done.stdout
    assert "the budget is spent" in done.stdout
    assert "too few pages were fetched to see a trend" in " ".join(done.stdout.split())
    assert "Highest rank in the whole web" in done.stdout
    assert done.stderr.count("the estimate changed by") == 4
    lines = [line.split("\t") for line in ranks.read_text().splitlines()]
    assert lines[0] == ["page", "global rank", "local rank"]
    assert len(lines) == n + 1
    assert sum(float(line[1]) for line in lines[1:]) == pytest.approx(1)
    assert sum(float(line[2]) for line in lines[1:]) == pytest.approx(1)
    n_requests = len(web.requests)
    again = orienteer("estimate", folder, "--budget", "1n", "--rounds", 4, "--settle", 0, "--json", "--top", 3)
    assert len(web.requests) == n_requests
    facts = json.loads(again.stdout)
    assert again.stderr == ""
    assert (facts["n_local"], facts["n_fetched"], facts["stopped_because"]) == (n, n, "budget")
    assert [entry["url"] for entry in facts["top"]] == [line[0] for line in lines[1:4]]
    assert facts["forecast"]["text"]
    restarted = orienteer("estimate", folder, "--budget", 3, "--rounds", 1, "--restart", "--quiet")
    assert len(web.requests) == n_requests + 3
    assert restarted.stderr == ""


def test_on_a_graph(site: GraphSite, tmp_path: Path) -> None:
    graph, host = site.graph, site.url_of(hub(site)).split("/")[2]
    urls = [site.url_of(page) for page in range(graph.n_pages)]
    path = tmp_path / "web.npz"
    ori.LinkGraph(
        graph.offsets, graph.targets, None, ori.LinkGraph.from_links(graph.n_pages, [], [], urls=urls).urls
    ).save(path)
    local = [url for url in urls if url.split("/")[2] == host]
    (tmp_path / "local.txt").write_text("\n".join(local))
    by_host, by_file = (
        json.loads(orienteer("graph", "estimate", path, "--pages", named, "--json").stdout)
        for named in (f"host:{host}", tmp_path / "local.txt")
    )
    assert by_host == by_file
    assert by_host["n_local"] == len(local)
    expected = estimate_global_rank(
        ori.LinkGraph.load(path), [urls.index(url) for url in local], settle=0.005, truth=True
    )
    assert by_host["top"][0]["outside"] == pytest.approx(expected.rank.max())
    assert by_host["history"][-1]["errors"]["l1"] == pytest.approx(expected.history[-1].errors.l1)
    printed = orienteer("graph", "estimate", path, "--pages", f"host:{host}", "--top", 2).stdout
    assert f"{len(local)} pages of 120" in printed
    assert "Kendall's tau" in printed


def test_what_is_wrong_is_said_in_one_line(tmp_path: Path) -> None:
    graph = tmp_path / "web.npz"
    ori.LinkGraph.from_links(3, [0, 1], [1, 2]).save(graph)
    (tmp_path / "empty.txt").write_text("# nothing\n")
    (tmp_path / "other.txt").write_text("7\n")
    on_graph = ["graph", "estimate", graph, "--pages"]
    other = [*on_graph, tmp_path / "other.txt"]
    wrong: dict[str, list[object]] = {
        "Missing argument 'DIR'": ["estimate"],
        "no such crawl folder": ["estimate", tmp_path / "none"],
        "--top: 0 or more": ["estimate", tmp_path, "--top", -1],
        "Missing option '--pages'": ["graph", "estimate", graph],
        "the graph has no hosts": [*on_graph, "host:a"],
        "no such file of pages": [*on_graph, tmp_path / "no.txt"],
        "a domain has at least one": [*on_graph, tmp_path / "empty.txt"],
        "page 7 is not in the graph": other,
        "rounds is 0": [*other, "--rounds", 0],
        "settle is 3": [*other, "--settle", 3],
        "did you mean 'paper'": [*other, "--method", "papr"],
        "--top: 0 or": [*other, "--top", -1],
    }
    for (expected, arguments), done in zip(wrong.items(), orienteer_each(list(wrong.values())), strict=True):
        assert done.returncode == 2, (arguments, done)
        assert done.stderr.startswith("orienteer: ")
        assert done.stderr.count("\n") == 1
        assert expected in done.stderr, done.stderr


def test_budgets() -> None:
    assert pages_of_budget("500", 10) == 500
    assert pages_of_budget("2n", 10) == 20
    assert pages_of_budget(" 0.5n ", 10) == 5
    for text in ("", "n", "-1", "2m", "1e3", "٣"):
        with pytest.raises(InputError, match="--budget"):
            pages_of_budget(text, 10)


def test_a_round_in_words() -> None:
    assert describe_round(EstimateRound(0, 5, None, 0.25), 10).startswith("before the first round: 25 %")
    assert describe_round(EstimateRound(3, 5, 0.01234, 0.5), 10) == (
        "3 of 10 pages fetched outside: the estimate changed by 0.0123; 50 % of the rank leads to pages not fetched"
    )
