"""After a refresh and an update of the index new content is found and removed content is not."""

from __future__ import annotations

import time
from pathlib import Path

from orienteer.ledger.revisiting import DAY_S
from orienteer.live.session import refresh
from orienteer.search.indexing import update_index
from orienteer.search.search_index import SearchIndex
from tests.fake_web.changing import ChangingSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import crawled

HOME = "http://a.test/"
PAGES = {
    HOME: "<title>Home</title><a href=/one>one</a> <a href=/two>two</a> <a href=/three>three</a>",
    "http://a.test/one": "<title>One</title><p>A page about herons and reeds.",
    "http://a.test/two": "<title>Two</title><p>A page about kingfishers.",
    "http://a.test/three": "<title>Three</title><p>A page about otters.",
}


def found(folder: Path, words: str) -> set[str]:
    with SearchIndex.open(folder) as index:
        return {hit.url for hit in index.search(words).hits}


def test_the_index_follows_a_refresh(tmp_path: Path) -> None:
    site = ChangingSite(MadeSite(PAGES))
    folder, today = tmp_path / "crawl", time.time()
    with FakeWeb(site) as web:
        crawled(web, HOME, folder)
        update_index(folder)
        assert found(folder, "kingfishers") == {"http://a.test/two"}
        site.edit("http://a.test/two", "<title>Two</title><p>A page about dragonflies. <a href=/four>four</a>")
        site.add("http://a.test/four", "<title>Four</title><p>A page about newts.")
        site.delete("http://a.test/three")
        refresh(folder, now=today + DAY_S)
        report = update_index(folder)
        assert (report.n_added, report.n_replaced, report.n_removed) == (1, 1, 0)
        assert found(folder, "dragonflies") == {"http://a.test/two"}
        assert found(folder, "newts") == {"http://a.test/four"}
        assert found(folder, "kingfishers") == set()
        assert found(folder, "otters") == {"http://a.test/three"}, "a page that is missing for a day stays in the index"
        for day in (3, 5):
            refresh(folder, now=today + day * DAY_S)
        update_index(folder)
        assert found(folder, "otters") == set(), "and is removed if it stays away"
        assert found(folder, "herons") == {"http://a.test/one"}
