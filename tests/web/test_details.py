"""The details of a page, as JSON and as HTML."""

from __future__ import annotations

import httpx
import pytest

from tests.web.small_crawl import CHARTS, DEAD, FERRY, FORBIDDEN, LIBRARY, MOVED, REPEATED, REPETITION, WORLD


def get_json(client: httpx.Client, url: str, status: int = 200) -> dict:
    response = client.get("/api/page", params={"url": url})
    assert response.status_code == status
    assert client.get("/page", params={"url": url}).status_code == status
    return response.json()


def test_a_page_that_was_fetched(client: httpx.Client) -> None:
    page = get_json(client, CHARTS)
    assert page["facts"]["state"] == "fetched"
    assert page["description"]["title"] == "Old sea charts"
    ranks = {rank["seen_from"]: rank for rank in page["ranks"]}
    assert ranks["outside"]["position"] < ranks["inside"]["position"] <= ranks["inside"]["n_pages"]
    assert "Old charts" in page["link_texts"]
    assert LIBRARY + "/" in [source["url"] for source in page["facts"]["sources"]]
    assert page["related"]


def test_what_is_linked_to_from_inside_is_worth_more_there(client: httpx.Client) -> None:
    inside, outside = get_json(client, FERRY)["ranks"]
    assert inside["rank"] > outside["rank"]


@pytest.mark.parametrize(
    ("url", "state", "words"),
    [
        (DEAD, "failed", "the server answered 404"),
        (FORBIDDEN, "blocked", "robots.txt of its host forbids it"),
        (MOVED, "fetched", "a redirect"),
        (WORLD, "known", "outside the scope"),
    ],
)
def test_a_page_that_is_no_result_says_why(client: httpx.Client, url: str, state: str, words: str) -> None:
    page = get_json(client, url)
    assert page["facts"]["state"] == state
    assert words in page["description"]["state"]
    assert page["ranks"] == []


def test_other_pages_that_are_named_are_links_to_their_details(client: httpx.Client) -> None:
    text = client.get("/page", params={"url": REPETITION}).text
    assert "same content as" in text
    assert f'href="/page?url={REPEATED.replace(":", "%3A").replace("/", "%2F")}"' in text


def test_an_unknown_page_is_404_and_says_so(client: httpx.Client) -> None:
    page = get_json(client, "http://www.harbour.test/nothing", 404)
    assert "not known to this crawl" in page["description"]["state"]


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "http://", "\x00", "//"]
)
def test_what_is_no_address_of_a_page_is_refused(client: httpx.Client, url: str) -> None:
    response = client.get("/api/page", params={"url": url})
    assert response.status_code == 400
    assert "is not a valid URL" in response.json()["error"]
    page = client.get("/page", params={"url": url})
    assert page.status_code == 400
    assert 'href="javascript' not in page.text


def test_an_overlong_or_missing_address_is_refused(client: httpx.Client) -> None:
    assert client.get("/page", params={"url": "http://a.org/" + "x" * 2100}).status_code == 422
    assert client.get("/api/page").json() == {"error": "url: Field required"}


@pytest.mark.parametrize("url", [CHARTS, FERRY, MOVED])
def test_what_was_fetched_can_be_seen_as_archived(client: httpx.Client, url: str) -> None:
    (date,) = client.get("/api/archived", params={"url": url}).json()["dates"]
    assert (date["url"], date["changed"]) == (url, None)
    assert "/archived?url=" in client.get("/page", params={"url": url}).text
    assert client.get("/archived", params={"url": url}).status_code == 200
