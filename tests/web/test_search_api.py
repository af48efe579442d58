"""Search over HTTP: the same as in the process; what cannot be answered is said in one line."""

from __future__ import annotations

import shutil
from pathlib import Path

import httpx
import pytest

from orienteer.search.indexing import update_index
from orienteer.search.search_index import SearchIndex
from tests.web.live_server import client_of, served
from tests.web.small_crawl import CHARTS, REPEATED


@pytest.mark.parametrize("rank", ["text", "local", "global", "blend"])
def test_the_api_answers_what_the_index_finds(client: httpx.Client, small_crawl: Path, rank: str) -> None:
    answer = client.get("/api/search", params={"q": "sea charts", "rank": rank, "page": 2, "n": 5}).json()
    with SearchIndex.open(small_crawl) as index:
        right = index.search("sea charts", rank=rank, page=2, n=5)
    assert [hit["url"] for hit in answer["hits"]] == [hit.url for hit in right.hits]
    assert answer["total"] == right.total
    assert answer["hits"][0]["positions"] == right.hits[0].positions


def test_repetitions_are_left_out_and_counted(client: httpx.Client) -> None:
    hits = client.get("/api/search", params={"q": "guided tour"}).json()["hits"]
    assert [(hit["url"], hit["n_duplicates"]) for hit in hits] == [(REPEATED, 1)]
    assert "1 more with the same text" in client.get("/", params={"q": "guided tour"}).text


def test_a_slip_of_the_pen(client: httpx.Client) -> None:
    assert client.get("/api/search", params={"q": "habour"}).json()["suggestion"] == "harbour"
    assert 'href="/?q=harbour&amp;rank=blend"' in client.get("/", params={"q": "habour"}).text


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
    answer = client.get("/api/search", params=values)
    assert answer.status_code == status
    assert set(answer.json()) == {"error"}
    assert line in answer.json()["error"]
    assert "\n" not in answer.json()["error"]
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


def test_a_folder_without_a_global_rank_says_how_to_get_one(small_crawl: Path, tmp_path: Path) -> None:
    folder = tmp_path / "unranked"
    shutil.copytree(small_crawl, folder, ignore=shutil.ignore_patterns("ranks*", "outside", "index"))
    with served(folder) as address, client_of(address) as client:
        none = client.get("/", params={"q": "sea"})
        assert none.status_code == 200
        assert "there is no search index yet; make it with `orienteer index" in none.text
        assert client.get("/api/search", params={"q": "sea"}).status_code == 409
        assert "no search index yet" in client.get("/page", params={"url": CHARTS}).text
        update_index(folder)
        page = client.get("/", params={"q": "sea"}).text
        assert "orienteer estimate" in page
        assert "rank=global" not in page
        assert "rank=local" in page
        refused = client.get("/api/search", params={"q": "sea", "rank": "global"})
        assert refused.status_code == 400
        assert "orienteer estimate" in refused.json()["error"]
        details = client.get("/api/page", params={"url": CHARTS}).json()
        assert [rank["seen_from"] for rank in details["ranks"]] == ["inside"]


def test_openapi_describes_the_answers(client: httpx.Client) -> None:
    api = client.get("/api/openapi.json").json()
    assert {"/api/search", "/api/page"} <= set(api["paths"])
    assert all(path.startswith("/api/") for path in api["paths"])
    answers = api["paths"]["/api/search"]["get"]["responses"]
    assert answers["200"]["content"]["application/json"]["schema"]["$ref"].endswith("/Results")
    assert answers["422"]["content"]["application/json"]["schema"]["$ref"].endswith("/Refusal")
    assert "snippet" in api["components"]["schemas"]["Hit"]["properties"]
