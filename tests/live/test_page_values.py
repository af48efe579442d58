"""The paper's page value on the pages of a crawl, compared with a slow reference."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import orienteer as ori
from orienteer.errors import InputError
from orienteer.inspect.snapshot import CrawlWeb, web_at
from orienteer.live.start_pages import paper_value_of_crawl, paper_values
from orienteer.url import host_of, site_of
from tests.conftest import random_web
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import StoredCrawl, crawled, hub

ONE_WORKER = {"crawl": {"workers": 1}}
COPY = "<p>the same words<a href=/new1>1</a><a href=/new2>2</a>"
PLACES = {
    "http://a.test/": "<a href=/1><a href=/2><a href=/copy><a href=http://www.b.example/><a href=/later>",
    "http://a.test/1": COPY,
    "http://a.test/2": COPY,
    "http://a.test/copy": COPY,
    "http://www.b.example/": "home <a href=http://m.b.example/x><a href=/y>",
    "http://m.b.example/x": "x <a href=http://a.test/new1><a href=http://c.test/><a href=/x>",
}


def slow_values(folder: Path, spam: set[str], clicked: set[str]) -> dict[str, float]:
    """Return the values page by page, as in the paper, from the rows of the database."""
    stored = StoredCrawl(folder)
    done = {url: row for url, row in stored.rows.items() if row is not None}
    repeats = defaultdict(list)
    for url, row in done.items():
        repeats[site_of(host_of(url))].append(row.duplicate_of is not None or row.near_duplicate_of is not None)
    values = {}
    for url in stored.urls:
        value = 10.0 if url in clicked else -10.0 if url in spam else 1.0
        if url in done:
            n_uncrawled = len({stored.urls[link] for link in done[url].links} - set(done))
            value += n_uncrawled * (1 - np.mean(repeats[site_of(host_of(url))]))
        values[url] = value
    return values


def named(web: CrawlWeb, urls: set[str]) -> list[bool]:
    assert web.graph.urls is not None
    return [url in urls for url in web.graph.urls]


@pytest.mark.parametrize("budget", [1, 4, 6, None])
def test_a_crawl_of_sites_that_repeat_themselves(budget: int | None, tmp_path: Path) -> None:
    with FakeWeb(MadeSite(PLACES)) as fake:
        crawled(fake, "http://a.test/", tmp_path, budget=budget, policy="breadth-first", settings=ONE_WORKER)
    web = web_at(tmp_path)
    spam, clicked = {"http://a.test/1", "http://a.test/later"}, {"http://www.b.example/", "http://a.test/1"}
    values = paper_value_of_crawl(web, named(web, spam), named(web, clicked))
    assert web.graph.urls is not None
    assert dict(zip(web.graph.urls, values.tolist(), strict=True)) == pytest.approx(
        slow_values(tmp_path, spam, clicked)
    )


def test_a_site_with_copies_is_worth_less(tmp_path: Path) -> None:
    with FakeWeb(MadeSite(PLACES)) as fake:
        crawled(fake, "http://a.test/", tmp_path, budget=6, policy="breadth-first", settings=ONE_WORKER)
    web = web_at(tmp_path)
    assert web.graph.urls is not None
    worth = dict(zip(web.graph.urls, paper_value_of_crawl(web).tolist(), strict=True))
    assert int(web.is_duplicate.sum()) == 2
    # Of the six pages, five are of a.test, two of them copies: a newly crawled page is new with probability 3 / 5.
    assert worth["http://a.test/1"] == pytest.approx(1 + 2 * 3 / 5)
    assert worth["http://a.test/"] == 1, "all of its links are done"
    assert worth["http://www.b.example/"] == 3, "this site has no copies"
    assert worth["http://m.b.example/x"] == 1, "it is not done, so its links are unknown"


@pytest.mark.parametrize("budget", [5, 25])
def test_random_webs(budget: int, tmp_path: Path, rng: np.random.Generator) -> None:
    site = GraphSite(random_web(rng, 200, 4.0, with_hosts=True))
    with FakeWeb(site) as fake:
        crawled(fake, [hub(site), site.url_of(7)], tmp_path, budget=budget)
    web = web_at(tmp_path)
    assert web.graph.urls is not None
    spam, clicked = (set(rng.choice(web.graph.urls[:], 20)) for _ in range(2))
    values = paper_value_of_crawl(web, named(web, spam), named(web, clicked))
    slow = slow_values(tmp_path, spam, clicked)
    assert dict(zip(web.graph.urls, values.tolist(), strict=True)) == pytest.approx(
        {url: slow[url] for url in web.graph.urls}
    )
    assert not np.isin(values, [-10, 1, 10]).all(), "there are links to pages that are not done"


def test_all_pages_of_a_plain_graph_count_as_crawled(tmp_path: Path) -> None:
    graph = ori.LinkGraph.from_links(4, [0, 1, 2], [1, 2, 3])
    web = CrawlWeb.of_graph(graph)
    assert web.pages.tolist() == [0, 1, 2, 3]
    assert paper_value_of_crawl(web).tolist() == [1, 1, 1, 1]
    assert paper_value_of_crawl(web, spam=[1, 0, 0, 0], clicked=[0, 0, 0, 1]).tolist() == [-10, 1, 1, 10]
    graph.save(tmp_path / "web.npz")
    assert paper_value_of_crawl(web_at(tmp_path / "web.npz")).tolist() == [1, 1, 1, 1]


def test_without_urls_sites_are_unknown() -> None:
    graph = ori.LinkGraph.from_links(4, [0, 0, 1], [1, 2, 3], hosts=[0, 0, 1, 1])
    web = CrawlWeb(graph, np.arange(4), np.array([True, True, False, False]), np.zeros(4, np.bool_))
    assert paper_value_of_crawl(web).tolist() == [2, 2, 1, 1]


# -- files of pages ---------------------------------------------------------------------------------------------

GRAPH = ori.LinkGraph.from_links(3, [0, 1], [1, 2], urls=["http://a.org/", "A title, with spaces", "http://c.org/"])


def test_files_name_pages_by_id_and_by_url(tmp_path: Path) -> None:
    spam, clicked = tmp_path / "spam.txt", tmp_path / "clicked.txt"
    spam.write_text("# those that sell\nA title, with spaces\n\n  HTTP://A.org\n")
    clicked.write_text("2\n2\n# nothing\n0\n")
    found = paper_values(CrawlWeb.of_graph(GRAPH), spam, clicked)
    assert found.values.tolist() == [10, -10, 10]
    assert (found.n_spam, found.n_clicked, found.n_uncrawled_links) == (2, 2, 0)
    clicked.write_text("# none\n")
    assert paper_values(CrawlWeb.of_graph(GRAPH), clicked=clicked).values.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3\n", "line 1: page 3 is not in the graph"),
        ("0\nhttp://b.org/\n", "line 2: no page of the graph has the URL 'http://b.org/'"),
        (b"\xff\xfe\x00", "no text file"),
    ],
)
def test_an_error_in_a_file_is_one_line(text: str | bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "spam.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=f"spam.txt.*{message}"):
        paper_values(CrawlWeb.of_graph(GRAPH), path)
    with pytest.raises(InputError, match="none.txt: no such file of pages"):
        paper_values(CrawlWeb.of_graph(GRAPH), clicked=tmp_path / "none.txt")
