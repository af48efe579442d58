"""Search over the crawls of a library, in the browser and over HTTP."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from orienteer.store.page_texts import TEXTS
from orienteer.web.pages.several import MAX_CRAWLS
from tests.web.small_library import DAMAGED, HARBOUR, OTHER, heading, make_library, served_library


@pytest.fixture(scope="module")
def client(small_crawl: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    library = make_library(tmp_path_factory.mktemp("several") / "crawls", small_crawl)
    shutil.copytree(small_crawl, library / "bare", ignore=shutil.ignore_patterns("index"))
    shutil.copytree(small_crawl, library / "torn")
    (library / "torn" / "index" / "columns.npz").write_bytes(b"no arrays")
    with served_library(library) as (asking, _):
        yield asking


def test_each_hit_names_its_crawls(client: httpx.Client) -> None:
    found = client.get("/api/search", params={"q": "sea charts", "facets": "true"}).json()
    assert found["by_crawl"] == {HARBOUR: 20, OTHER: 20}
    assert found["total"] == 40
    assert found["hits"][0]["hit"]["title"] == "Old sea charts"
    assert {found["hits"][0]["crawl"], *found["hits"][0]["also_in"]} == {HARBOUR, OTHER}
    assert sum(value["n_pages"] for value in found["facets"][0]["values"]) == 40
    page = client.get("/search", params={"q": "sea charts"}).text
    assert f'href="/crawls/{HARBOUR}/?q=sea+charts"' in page
    assert 'also in <a href="/crawls/other%20town/?q=sea+charts">' in page
    assert "40 pages found, 1 to 10, best first" in page


def test_some_crawls_can_be_chosen_and_stay_chosen(client: httpx.Client) -> None:
    found = client.get("/api/search", params={"q": "sea charts", "crawl": OTHER, "rank": "text"}).json()
    assert found["by_crawl"] == {OTHER: 20}
    page = client.get("/search", params={"q": "sea charts", "crawl": OTHER, "rank": "local"}).text
    assert f'value="{OTHER}" checked' in page
    assert f'value="{HARBOUR}" checked' not in page
    links: list[str] = re.findall(r'href="(/search\?[^"]*)"', page)
    assert len(links) >= 7  # three orders, the next page, hosts
    assert all("crawl=other+town" in address for address in links)
    followed = [client.get(address.replace("&amp;", "&")) for address in links[:12]]
    assert {response.status_code for response in followed} == {200}


def test_crawls_without_an_index_are_no_choice_and_damaged_ones_are_named(client: httpx.Client) -> None:
    page = client.get("/search").text
    assert re.findall(r'name="crawl" value="([^"]+)"', page) == [HARBOUR, OTHER, "torn"]
    assert "torn is left out: " in page
    assert heading(client.get("/search")).startswith("Search 104 pages of 3 crawls")
    response = client.get("/search", params={"q": "sea", "crawl": "bare"})
    assert response.status_code == 400
    assert "bare: there is no search index yet" in response.text


@pytest.mark.parametrize("name", ["nothing", "../harbour", "", DAMAGED, "link", "<b>"])
def test_what_is_no_crawl_is_refused(client: httpx.Client, name: str) -> None:
    for path in ("/api/search", "/api/complete", "/search"):
        response = client.get(path, params={"q": "sea", "crawl": name})
        assert 400 <= response.status_code < 500, path
        assert "<b>" not in response.text or path.startswith("/api/")


def test_completion_over_all_crawls(client: httpx.Client) -> None:
    suggestions = client.get("/api/complete", params={"q": "old sea"}).json()["suggestions"]
    assert suggestions == [{"text": "Old sea charts", "kind": "title"}]
    assert client.get("/api/suggest", params={"q": "old sea"}).json() == ["old sea", ["Old sea charts"]]
    assert "/search?q={searchTerms}" in client.get("/opensearch.xml").text


def test_an_empty_library_says_where_to_begin(tmp_path: Path) -> None:
    with served_library(tmp_path / "none") as (client, _):
        page = client.get("/search", params={"q": "sea"})
        assert page.status_code == 200
        assert "No crawl has a search index yet." in page.text
        assert client.get("/api/search", params={"q": "sea"}).status_code == 400
        assert client.get("/api/complete", params={"q": "sea"}).json()["suggestions"] == []


def test_more_crawls_than_are_searched_at_once_are_counted_and_any_can_be_chosen(
    small_crawl: Path, tmp_path: Path
) -> None:
    library = make_library(tmp_path / "crawls", small_crawl)
    for number in range(MAX_CRAWLS):  # they come first by name, and cannot be read
        (library / f"a{number}" / "index").mkdir(parents=True)
        for name in ("crawl.db", f"index/{TEXTS}"):
            (library / f"a{number}" / name).write_bytes(b"no database")
    with served_library(library) as (client, _):
        page = client.get("/search", params={"q": "sea charts"}).text
        assert f"Only the first {MAX_CRAWLS} of these {MAX_CRAWLS + 2} crawls by name are searched" in page
        assert page.count(" is left out: ") == MAX_CRAWLS
        assert f'name="crawl" value="{OTHER}"' in page
        chosen = client.get("/search", params={"q": "sea charts", "crawl": OTHER}).text
        assert "Only the first" not in chosen
        assert "20 pages found" in chosen
