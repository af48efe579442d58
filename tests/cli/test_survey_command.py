"""`orienteer survey` on a fake web, and `orienteer graph survey` on its graph."""

from __future__ import annotations

import json
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph.survey.survey import survey
from orienteer.graph.synthetic import synthetic_web
from tests.cli.live_process import ended, started, wait_until
from tests.cli.run import orienteer, orienteer_each
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite, RequestHeaders
from tests.live.live_crawls import crawled, hub

pytestmark = pytest.mark.long

N_FETCHED = 60


@pytest.fixture(scope="module")
def site() -> GraphSite:
    return GraphSite(synthetic_web(1500, mean_degree=8.0, rng=5), page_bytes=500)


@pytest.fixture
def web(site: GraphSite) -> Iterator[FakeWeb]:
    with FakeWeb(site) as web:
        yield web


def audited(web: FakeWeb, site: GraphSite, folder: Path) -> Path:
    crawled(web, hub(site), folder, budget=N_FETCHED, policy="breadth-first")
    return folder


def bounds_in(text: str) -> list[float]:
    found = re.search(r"between ([\d.]+) % and ([\d.]+) % with 99.9 % confidence", " ".join(text.split()))
    assert found is not None, text
    return [float(found[1]) / 100, float(found[2]) / 100]


def test_from_the_crawl_to_the_gaps(web: FakeWeb, site: GraphSite, tmp_path: Path) -> None:
    folder = audited(web, site, tmp_path / "crawl")
    n_before = len(web.requests)
    done = orienteer("survey", folder, "--half-width", 0.05, "--top", 3)
    n_probes = len(web.requests) - n_before
    lower, upper = bounds_in(done.stdout)
    assert 0 < upper - lower < 0.101
    assert f"{N_FETCHED} pages of" in done.stdout
    assert f"which needed {n_probes} pages outside" in done.stdout
    assert "the coverage is known to 5 % on each side" in done.stdout
    assert "proved" in done.stdout
    assert len(re.findall(r"http://h\d+\.test/", done.stdout)) == 6
    again = orienteer("survey", folder, "--half-width", 0.05, "--json")
    assert again.stderr == ""
    assert len(web.requests) == n_before + n_probes
    facts = json.loads(again.stdout)
    assert (facts["measured"]["lower"], facts["measured"]["upper"]) == pytest.approx((lower, upper), abs=2e-4)
    assert facts["stopped_because"] == "half width"
    assert facts["goal"] == {"half_width": 0.05, "budget": None, "confidence": 0.999}
    assert len(facts["hosts"]) == len(facts["folders"]) == 5
    gap = facts["hosts"][0]
    assert gap["lower"] <= gap["share"] <= gap["upper"]
    assert gap["url"].startswith(f"http://{gap['name']}/")
    assert facts["proved"]["lower"] <= facts["measured"]["lower"]


def test_a_budget_ends_with_exit_code_3(web: FakeWeb, site: GraphSite, tmp_path: Path) -> None:
    folder = audited(web, site, tmp_path / "crawl")
    n_before = len(web.requests)
    done = orienteer("survey", folder, "--budget", 5, "--workers", 2, "--delay", 0, "--quiet", code=3)
    assert done.stderr == ""
    assert "the budget is spent" in done.stdout
    assert len(web.requests) == n_before + 5
    bounds_in(done.stdout)
    other_folder = tmp_path / "other"
    facts = json.loads(orienteer("survey", folder, "-o", other_folder, "--budget", 3, "--json", code=3).stdout)
    assert facts["measured"]["n_probes"] == 3
    assert (other_folder / "report.json").exists()
    assert orienteer("survey", folder, "--budget", 4, "--restart", code=3).stdout != done.stdout


def test_narrow_terminals(web: FakeWeb, site: GraphSite, tmp_path: Path) -> None:
    folder = audited(web, site, tmp_path / "crawl")
    done = orienteer("survey", folder, "--half-width", 0.05, columns=40)
    assert max(map(len, done.stdout.splitlines())) <= 40
    bounds_in(done.stdout)


def test_ctrl_c_says_how_it_stands(tmp_path: Path) -> None:
    released = threading.Event()

    def slow(host: str, target: str, _: RequestHeaders) -> FakeResponse:
        return FakeResponse("<a href=/>home</a><a href=/later>later</a>", held_until=released)

    pages: dict[str, Any] = {"http://a.test/": "<a href=/1>1</a><a href=/2>2</a>", "http://a.test/1": slow}
    pages |= {"http://a.test/2": "<a href=/>home</a>", "http://a.test/later": "<a href=/2>2</a>"}
    truth = ori.pagerank(ori.LinkGraph.from_links(4, [0, 0, 1, 1, 2, 3], [1, 2, 0, 3, 0, 2]), [0])[0]
    with FakeWeb(MadeSite(pages)) as web:
        crawled(web, "http://a.test/", tmp_path / "c", budget=1)
        with started("survey", "c", "--set", "fetch.timeout_s=3000", cwd=tmp_path) as process:
            wait_until(lambda: web.count("http://a.test/1") > 0)
            process.send_signal(signal.SIGINT)
            released.set()
            done = ended(process)
        assert done.returncode == 130
        assert "interrupted; the same command resumes it" in done.stdout
        lower, upper = bounds_in(done.stdout)
        assert lower <= truth <= upper
        assert not web.count("http://a.test/later")
        final = bounds_in(orienteer("survey", tmp_path / "c").stdout)
        assert lower <= final[0] <= truth <= final[1] <= upper
        assert web.count("http://a.test/1") == web.count("http://a.test/later") == 1


def test_on_a_graph(site: GraphSite, tmp_path: Path) -> None:
    graph = site.graph
    urls = [site.url_of(page) for page in range(graph.n_pages)]
    named, plain = tmp_path / "named.npz", tmp_path / "plain.npz"
    ori.LinkGraph.from_links(graph.n_pages, graph.sources(), graph.targets, urls=urls).save(named)
    graph.save(plain)
    order, by_url = tmp_path / "order.txt", tmp_path / "urls.txt"
    orienteer("simulate", named, "-p", "breadth-first", "--budget", 300, "--order-out", order, "--trust", "uniform")
    pages = [int(line.split("\t")[0]) for line in order.read_text().splitlines()]
    by_url.write_text("# fetched\n" + "".join(f"{urls[page]}\n" for page in pages))
    options = ["--trust", "uniform", "--half-width", 0.05, "--rng", 7, "--json"]
    found = [
        json.loads(done.stdout)
        for done in orienteer_each(
            [["graph", "survey", named, "--fetched", file, *options] for file in (order, by_url)]
            + [["graph", "survey", plain, "--fetched", order, *options]]
        )
    ]
    truth = ori.pagerank(graph, tolerance=1e-10)[pages].sum()
    for facts in found:
        assert facts["measured"]["lower"] <= truth <= facts["measured"]["upper"]
        assert facts["n_pages"] == 300
        assert facts["measured"] == found[0]["measured"]
    assert found[0]["hosts"][0]["url"]
    assert found[2]["hosts"][0]["name"].startswith("host ")
    assert found[2]["folders"] == []
    printed = orienteer("graph", "survey", plain, "--fetched", order, *options[:-1]).stdout
    assert "".join(f"300 pages of {order}".split()) in "".join(printed.split()), "a long path is on a line of its own"
    assert bounds_in(printed) == pytest.approx([found[0]["measured"][key] for key in ("lower", "upper")], abs=2e-4)


def test_what_is_wrong_is_said_in_one_line(tmp_path: Path) -> None:
    graph, file = tmp_path / "web.npz", tmp_path / "pages.txt"
    ori.LinkGraph.from_links(3, [0, 1], [1, 2]).save(graph)
    file.write_text("0\n")
    (tmp_path / "empty.txt").write_text("# nothing\n")
    (tmp_path / "other.txt").write_text("0\n7\n")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    on_graph = ["graph", "survey", graph, "--fetched"]
    right = [*on_graph, file]
    wrong: dict[str, list[object]] = {
        "Missing argument 'DIR'": ["survey"],
        "no such crawl folder": ["survey", tmp_path / "none"],
        "not a crawl folder": ["survey", tmp_path],
        "half width is 0.8": ["survey", tmp_path, "--half-width", 0.8],
        "--top: 0 or more": ["survey", tmp_path, "--top", -1],
        "Missing option '--fetched'": ["graph", "survey", graph],
        "no such file of pages": [*on_graph, tmp_path / "no.txt"],
        "no page was fetched": [*on_graph, tmp_path / "empty.txt"],
        "line 2: page 7 is not in the graph": [*on_graph, tmp_path / "other.txt"],
        "bytes.txt": [*on_graph, tmp_path / "bytes.txt"],
        "half width is 0.7": [*right, "--half-width", 0.7],
        "budget is -1": [*right, "--budget", -1],
        "confidence": [*right, "--confidence", 1.5],
        "--top: 0 or": [*right, "--top", -1],
        "damping is 1.0": [*right, "--damping", 1],
    }
    for (expected, arguments), done in zip(wrong.items(), orienteer_each(list(wrong.values())), strict=True):
        assert done.returncode == 2, (arguments, done)
        assert done.stderr.startswith("orienteer: ")
        assert done.stderr.count("\n") == 1
        assert expected in done.stderr, (expected, done.stderr)
        assert done.stdout == ""


def test_the_numbers_are_those_of_the_function(tmp_path: Path) -> None:
    """On a graph without dangling pages, trust on one page: the command and `orienteer.survey` walk alike."""
    rng = np.random.default_rng(2)
    graph = ori.LinkGraph.from_links(200, np.repeat(np.arange(200), 5), rng.integers(0, 200, 1000))
    path, file = tmp_path / "web.npz", tmp_path / "pages.txt"
    graph.save(path)
    file.write_text("\n".join(map(str, range(120))))
    options = ["--trust", "ids:0", "--half-width", 0.02, "--rng", 3, "--json"]
    facts = json.loads(orienteer("graph", "survey", path, "--fetched", file, *options).stdout)["measured"]
    expected = survey(graph, range(120), [0], half_width=0.02, rng=np.random.default_rng(3))
    assert (facts["lower"], facts["upper"], facts["n_walks"]) == (expected.lower, expected.upper, expected.n_walks)
