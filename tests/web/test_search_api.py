"""Search over HTTP: the same results as in Python; errors are one line."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import httpx
import pytest

from orienteer.search.search_index import SearchIndex
from orienteer.store.folder import CrawlFolder
from orienteer.store.page_row import PageRow
from tests.cli.live_process import wait_until
from tests.web.live_server import client_of, served
from tests.web.small_crawl import CHARTS, REPEATED


@pytest.mark.parametrize("rank", ["text", "local", "global", "blend"])
def test_the_api_answers_what_the_index_finds(client: httpx.Client, small_crawl: Path, rank: str) -> None:
    response = client.get("/api/search", params={"q": "sea charts", "rank": rank, "page": 2, "n": 5}).json()
    with SearchIndex.open(small_crawl) as index:
        right = index.search("sea charts", rank=rank, page=2, n=5)
    assert [hit["url"] for hit in response["hits"]] == [hit.url for hit in right.hits]
    assert response["total"] == right.total
    assert response["hits"][0]["positions"] == right.hits[0].positions


def test_repetitions_are_left_out_and_counted(client: httpx.Client) -> None:
    hits = client.get("/api/search", params={"q": "guided tour"}).json()["hits"]
    assert [(hit["url"], hit["n_duplicates"]) for hit in hits] == [(REPEATED, 1)]
    assert "1 more with the same text" in client.get("/", params={"q": "guided tour"}).text


def test_a_typo(client: httpx.Client) -> None:
    assert client.get("/api/search", params={"q": "habour"}).json()["suggestion"] == "harbour"
    assert 'href="/?q=harbour"' in client.get("/", params={"q": "habour"}).text


@pytest.mark.parametrize(
    ("values", "status", "line"),
    [
        ({}, 422, "q: Field required"),
        ({"q": "x" * 1001}, 422, "q is 'xxxx"),
        ({"q": "sea", "page": "0"}, 422, "page is '0': Input should be greater than or equal to 1"),
        ({"q": "sea", "page": "many"}, 422, "page is 'many': Input should be a valid integer"),
        ({"q": "sea", "page": "9" * 5000}, 422, "page is '999"),
        ({"q": "sea", "page": "10000"}, 400, "too far"),
        ({"q": "sea", "n": "-1"}, 422, "n is '-1'"),
        ({"q": "sea", "n": "1e3"}, 422, "n is '1e3'"),
        ({"q": "sea", "weight": "nan"}, 422, "weight is 'nan'"),
        ({"q": "sea", "weight": "2"}, 422, "weight is '2'"),
        ({"q": "sea", "rank": "text", "weight": "0.5"}, 400, "rank 'text' has none"),
        ({"q": "sea", "rank": "locl"}, 400, "no rank named 'locl'; did you mean 'local'?"),
    ],
)
def test_bad_values_are_refused_in_one_line(
    client: httpx.Client, values: dict[str, str], status: int, line: str
) -> None:
    response = client.get("/api/search", params=values)
    assert response.status_code == status
    assert set(response.json()) == {"error"}
    assert line in response.json()["error"]
    assert "\n" not in response.json()["error"]
    if "q" in values and not {"n", "weight"} & set(values):  # those the page does not take
        page = client.get("/", params=values)
        assert page.status_code == status
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert 'role="alert"' in page.text


@pytest.mark.parametrize(
    "q",
    ["%00", "%ff%fe", "%ED%A0%80", '"', "((((", "site:", "+-+-", "a:b:c", "%F0%9F%92%A9", "-x", "*", "lang:", "%22%22"],
)
def test_any_words_can_be_asked_for(client: httpx.Client, q: str) -> None:
    assert client.get(f"/api/search?q={q}").status_code == 200
    assert client.get(f"/?q={q}").status_code == 200


def test_an_index_is_made_at_the_push_of_a_button(small_crawl: Path, tmp_path: Path) -> None:
    folder = tmp_path / "unranked"
    shutil.copytree(small_crawl, folder, ignore=shutil.ignore_patterns("ranks*", "outside", "index"))
    with served(folder) as address, client_of(address) as client:
        none = client.get("/", params={"q": "sea"})
        assert none.status_code == 200
        assert "There is no search index yet." in none.text
        assert '<form action="/index" method="post"><button class="main">Make the index' in none.text
        assert client.get("/api/search", params={"q": "sea"}).status_code == 409
        assert client.get("/api/complete", params={"q": "sea"}).status_code == 409
        assert "no search index yet" in client.get("/page", params={"url": CHARTS}).text
        assert client.post("/index", headers={"Origin": "http://other.example"}).status_code == 403
        begun = client.post("/index")
        assert (begun.status_code, begun.headers["location"]) == (303, "/")
        wait_until(lambda: "Refresh" not in client.get("/").headers)
        assert "Search 52 pages" in client.get("/").text
        _without_a_global_rank(client)


def _without_a_global_rank(client: httpx.Client) -> None:
    """It is said on the first page how to get one, and not with every search."""
    assert "orienteer estimate" in client.get("/").text
    page = client.get("/", params={"q": "sea"}).text
    assert "orienteer estimate" not in page
    assert "rank=global" not in page
    assert "rank=local" in page
    assert "Most linked: pages with many links from this crawl come first." in page
    assert "Outside:" not in page
    response = client.get("/api/search", params={"q": "sea", "rank": "global"})
    assert response.status_code == 400
    assert "orienteer estimate" in response.json()["error"]
    details = client.get("/api/page", params={"url": CHARTS}).json()
    assert [rank["seen_from"] for rank in details["ranks"]] == ["inside"]


def test_an_index_that_is_not_current_has_a_button(small_crawl: Path, tmp_path: Path) -> None:
    folder = tmp_path / "grown"
    shutil.copytree(small_crawl, folder)
    with CrawlFolder.open(folder) as crawl:
        id, position = crawl.database.urls.count(), crawl.database.history.next_position()
        crawl.database.urls.add(id, ["http://www.harbour.test/new"])
        crawl.database.pages.add(PageRow(id, position, 3, "http 404", 404))
        crawl.acknowledge()
    with served(folder) as address, client_of(address) as client:
        for place in ("/", "/?q=sea"):
            page = client.get(place)
            assert "Update the index" in page.text
            assert 'action="/index"' in page.text
            assert "Refresh" not in page.headers


def test_an_index_that_cannot_be_read_is_rebuilt(small_crawl: Path, tmp_path: Path) -> None:
    folder = tmp_path / "torn"
    shutil.copytree(small_crawl, folder)
    (folder / "index" / "pages.db").write_bytes(b"no database")
    with served(folder) as address, client_of(address) as client:
        page = client.get("/").text
        assert "damaged" in page
        assert 'action="/index?rebuild=true"' in page
        assert client.post("/index?rebuild=true").status_code == 303
        wait_until(lambda: "Refresh" not in client.get("/").headers)
        assert "Search 52 pages" in client.get("/").text


def test_facets_are_links_that_narrow_and_are_removed(client: httpx.Client) -> None:
    page = client.get("/", params={"q": "sea charts", "rank": "local"}).text.replace("<wbr>", "")
    hosts = dict(re.findall(r'href="(/\?[^"]*host%3A[^"]*)">([^<]+)</a>', page))
    there = next(address for address, label in hosts.items() if label == "museum.harbour.test")
    assert "rank=local" in there
    narrowed = client.get(there.replace("&amp;", "&")).text
    assert "8 pages found" in narrowed
    assert 'class="filter" href="/?rank=local&amp;q=sea+charts"' in narrowed
    with_api = client.get("/api/search", params={"q": "sea charts", "facets": "true"}).json()["facets"]
    counts = {value["value"]: value["n_pages"] for value in with_api[0]["values"]}
    assert (with_api[0]["name"], counts["museum.harbour.test"]) == ("host", 8)
    assert client.get("/api/search", params={"q": "sea charts"}).json()["facets"] == []


def test_the_first_page_invites(client: httpx.Client) -> None:
    page = client.get("/").text
    assert "Search 52 pages" in page
    assert "Pages with the most links" in page
    assert "Ferry timetable" in page
    assert 'href="/?q=host%3Amuseum.harbour.test"' in page
    assert re.search(r"Fetched on \d{4}-\d\d-\d\d\.\s+At least 9\d\.\d+ %", page)
    assert "orienteer estimate" not in page  # there is one


def test_completion(client: httpx.Client) -> None:
    response = client.get("/api/complete", params={"q": "old sea"})
    assert response.json()["suggestions"] == [{"text": "Old sea charts", "kind": "title"}]
    assert client.get("/api/complete", params={"q": "harb", "n": 1}).json()["suggestions"] == [
        {"text": "harbour", "kind": "word"}
    ]
    assert client.get("/api/complete", params={"q": "x" * 1001}).status_code == 422
    assert client.get("/api/complete", params={"q": "", "n": 2}).json() == {"q": "", "suggestions": []}
    foreign = {"Origin": "http://other.example", "Sec-Fetch-Dest": "empty"}
    assert client.get("/api/complete", params={"q": "a"}, headers=foreign).status_code == 403


def test_browsers_can_add_the_search(client: httpx.Client) -> None:
    linked = re.search(r'<link rel="search" type="([^"]+)" href="([^"]+)"', client.get("/crawl").text)
    assert linked is not None
    response = client.get(linked[2])
    assert response.headers["content-type"].startswith(linked[1])
    urls = {
        each.get("type"): str(each.get("template"))
        for each in ElementTree.fromstring(response.content).iter("{http://a9.com/-/spec/opensearch/1.1/}Url")
    }
    origin = str(client.base_url).rstrip("/")
    assert urls["text/html"] == origin + "/?q={searchTerms}"
    assert "20 pages found" in client.get(urls["text/html"].replace("{searchTerms}", "sea%20charts")).text
    suggested = client.get(urls["application/x-suggestions+json"].replace("{searchTerms}", "old%20sea"))
    assert suggested.json() == ["old sea", ["Old sea charts"]]
    assert suggested.headers["content-type"].startswith("application/x-suggestions+json")


def test_names_in_the_description_are_escaped(small_crawl: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a<b>&\"'"
    shutil.copytree(small_crawl, folder)
    with served(folder) as address, client_of(address) as client:
        text = client.get("/opensearch.xml").content
        assert folder.name in (ElementTree.fromstring(text).findtext("{*}Description") or "")


def test_openapi_describes_the_answers(client: httpx.Client) -> None:
    api = client.get("/api/openapi.json").json()
    assert {"/api/search", "/api/page"} <= set(api["paths"])
    assert all(path.startswith("/api/") for path in api["paths"])
    responses = api["paths"]["/api/search"]["get"]["responses"]
    assert responses["200"]["content"]["application/json"]["schema"]["$ref"].endswith("/SearchResults")
    assert responses["422"]["content"]["application/json"]["schema"]["$ref"].endswith("/ApiError")
    assert "snippet" in api["components"]["schemas"]["Hit"]["properties"]
