"""The Changes page, its JSON, and the feed."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.changing_crawl import EDITED, GONE, HOME, NEW, SITE
from tests.exports.test_atom import SPACE, entries, link, text
from tests.fake_web.changing import ChangingSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.refreshes import Refreshed
from tests.web.live_server import client_of, served


@pytest.fixture(scope="module")
def town(changed: Path) -> Iterator[httpx.Client]:
    with served(changed) as address, client_of(address) as client:
        yield client


def test_the_page_shows_the_last_refresh_in_which_something_changed(town: httpx.Client) -> None:
    page = town.get("/changes").text
    assert "Refresh 3" in page
    assert "a.test/gone" in page
    assert "a.test/new" not in page
    assert '<link rel="alternate" type="application/atom+xml"' in page
    first = town.get("/changes", params={"epoch": 1}).text
    assert "a.test/new" in first
    assert "/archived/changes?url=" in first
    assert "a.test/new" not in town.get("/changes", params={"epoch": 1, "kind": "changed"}).text
    assert "No changes." in town.get("/changes", params={"epoch": 2}).text
    rude = town.get("/changes", params={"epoch": 0}).text
    assert "]]&gt;&lt;b&gt; &amp; &#34;quoted&#34;" in rude
    assert "<b>" not in rude


def test_changes_are_listed(town: httpx.Client) -> None:
    page = town.get("/changes", params={"epoch": 1, "kind": "changed"}).text
    target = page.partition('href="/archived/changes?')[2].partition('"')[0].replace("&amp;", "&")
    assert "Another" in town.get(f"/archived/changes?{target}").text


def test_the_changes_as_data(town: httpx.Client) -> None:
    data = town.get("/api/changes").json()
    assert [(one["new"], one["changed"], one["missing"], one["gone"]) for one in data["epochs"]] == [
        (0, 0, 0, 1),
        (0, 0, 0, 0),
        (1, 1, 1, 0),
        (5, 0, 0, 0),
    ]
    assert data["missing"] == []
    assert data["changes"][0]["url"] == GONE
    assert [one["url"] for one in town.get("/api/changes?epoch=1&kind=new").json()["changes"]] == [NEW]
    assert len(town.get("/api/changes?n=2").json()["changes"]) == 2


def test_wrong_questions_are_answered_in_one_line(town: httpx.Client) -> None:
    response = town.get("/api/changes?kind=nwe")
    assert (response.status_code, response.json()["error"]) == (
        400,
        "no kind of change named 'nwe'; did you mean 'new'? (choices: changed, gone, missing, new)",
    )
    assert town.get("/api/changes?epoch=9").json()["error"] == "there is no epoch 9; the last one is 3"
    assert town.get("/changes?epoch=9").status_code == 200


def test_the_feed(town: httpx.Client, tmp_path: Path) -> None:
    response = town.get("/feed")
    assert response.headers["content-type"].startswith("application/atom+xml")
    (tmp_path / "feed.xml").write_bytes(response.content)
    found = entries(tmp_path / "feed.xml")
    assert link(found[0]) == GONE
    (edited,) = [entry for entry in found if link(entry) == EDITED and "Changed" in text(entry, "title")]
    assert "It says now: Another line" in text(edited, "summary")
    links = {one.get("rel"): one.get("href") for one in ET.fromstring(response.content).findall(SPACE + "link")}
    assert links == {"self": f"{town.base_url}/feed", "alternate": f"{town.base_url}/changes"}
    few = town.get("/feed?n=1").content
    assert few.count(b"<entry>") == 1
    again = town.get("/feed", headers={"If-None-Match": response.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_what_is_missing_is_seen_at_once(tmp_path: Path) -> None:
    site = ChangingSite(MadeSite(SITE))
    with FakeWeb(site) as web:
        crawl = Refreshed(site, web, tmp_path / "crawl", seeds=HOME)
        site.delete(GONE)
        crawl.refresh()
    with served(crawl.folder) as address, client_of(address) as client:
        page, data = client.get("/changes").text, client.get("/api/changes").json()
        feed = client.get("/feed").text
    (missing,) = data["missing"]
    assert (missing["url"], missing["title"], missing["outcome"]) == (GONE, "Soon gone", "http 404")
    section = page.partition("Missing now")[2].partition("</section>")[0]
    assert "a.test/gone" in section
    assert "http 404" in section
    assert [one["kind"] for one in data["changes"] if one["url"] == GONE and one["epoch"] == 1] == ["missing"]
    assert "Missing: Soon gone" in feed
