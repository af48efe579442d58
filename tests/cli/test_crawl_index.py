"""`orienteer crawl --index`: what is crawled can be searched, meanwhile and at the end."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orienteer.cli.index import BackgroundIndexing
from orienteer.search.search_index import SearchIndex
from tests.cli.live_process import ended, options, started
from tests.cli.run import Done
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.search.small_webs import HandmadeCrawl, page

PAGES = {
    "http://a.test/": "<title>Home</title><a href=/heron>the heron</a>",
    "http://a.test/heron": "<title>Heron</title>A bird that keeps still.",
}


@pytest.fixture
def web() -> Iterator[FakeWeb]:
    with FakeWeb(MadeSite(PAGES)) as web:
        yield web


def crawl(web: FakeWeb, folder: Path, *more: object) -> Done:
    with started("crawl", "http://a.test/", *options(web, "-o", folder.name), *more, cwd=folder.parent) as process:
        done = ended(process)
    assert done.returncode == 0, done.stderr
    return done


def test_what_was_crawled_can_be_searched(web: FakeWeb, tmp_path: Path) -> None:
    done = crawl(web, tmp_path / "c", "--index")
    assert "2 pages can be searched, indexed in " in done.stdout
    assert 'orienteer search c "words"' in done.stdout
    with SearchIndex.open(tmp_path / "c") as index:
        assert [hit.title for hit in index.search("bird").hits] == ["Heron"]
        assert index.is_current()


def test_for_machines(web: FakeWeb, tmp_path: Path) -> None:
    report = json.loads(crawl(web, tmp_path / "c", "--index", "--json").stdout)
    assert report["index"]["n_pages"] == 2


def test_without_being_asked_nothing_is_indexed(web: FakeWeb, tmp_path: Path) -> None:
    assert "searched" not in crawl(web, tmp_path / "c").stdout
    assert not (tmp_path / "c" / "index").exists()


def test_meanwhile_the_index_follows(tmp_path: Path) -> None:
    crawl = HandmadeCrawl(tmp_path / "crawl")
    crawl.add({"http://a.org/": page("Tree", "An apple tree.")})
    indexing = BackgroundIndexing(crawl.path, least_pause_s=0.0)
    try:
        while not (crawl.path / "index" / "columns.npz").exists():
            indexing.tick()
            time.sleep(0.02)
    finally:
        indexing.stop()
    with SearchIndex.open(crawl.path) as index:
        assert index.search("apple").total == 1
