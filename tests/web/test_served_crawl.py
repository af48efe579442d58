"""The index that searches use: always the one that was written last, while it is written and read at once."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from orienteer.search.indexing import update_index
from orienteer.web.app import create_app
from orienteer.web.served_crawl import ServedCrawl
from tests.search.small_webs import HandmadeCrawl, page
from tests.web.live_server import client_of, served


@pytest.fixture
def crawl(tmp_path: Path) -> HandmadeCrawl:
    made = HandmadeCrawl(tmp_path / "crawl")
    made.add({"http://a.org/": page("First", "apples")})
    update_index(made.path)
    return made


def found(crawl: ServedCrawl, words: str) -> list[str]:
    with crawl.searching() as index:
        return [hit.url for hit in index.search(words).hits]


def test_a_new_index_is_seen_and_the_old_one_closed_after_its_last_search(crawl: HandmadeCrawl) -> None:
    served = ServedCrawl(crawl.path)
    with served.searching() as before, served.searching() as same:
        assert before is same
        crawl.add({"http://a.org/pears": page("Second", "pears")})
        assert found(served, "pears") == []
        update_index(crawl.path)
        assert found(served, "pears") == ["http://a.org/pears"]
        assert [hit.url for hit in before.search("apples").hits] == ["http://a.org/"]
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        before.related("http://a.org/")
    with served.searching() as after:
        served.close()
        assert after.search("apples").total == 1
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        after.related("http://a.org/")


def test_a_rebuilt_index_is_opened(crawl: HandmadeCrawl) -> None:
    served = ServedCrawl(crawl.path)
    assert found(served, "apples") == ["http://a.org/"]
    update_index(crawl.path, rebuild=True)
    assert found(served, "apples") == ["http://a.org/"]
    shutil.rmtree(crawl.path / "index")
    assert found(served, "apples") == ["http://a.org/"]  # the open index still works
    with served.searching() as index:
        assert index.search("apples", n_related=3).related == ()  # its links had not been read before
    served.close()


def test_fifty_searches_at_once_while_it_is_crawled_and_indexed(crawl: HandmadeCrawl) -> None:
    ended = threading.Event()

    def grow() -> None:
        for number in range(6):
            crawl.add({f"http://a.org/{number}": page(f"Number {number}", "apples and pears")})
            update_index(crawl.path, rebuild=number == 3)
        ended.set()

    with served(crawl.path) as address, ThreadPoolExecutor(51) as pool:
        limits = httpx.Limits(max_connections=50)
        with client_of(address, limits=limits) as client:

            def search(number: int) -> int:
                page = client.get(("/api/search", "/")[number % 2], params={"q": "apples", "rank": "local"})
                return page.status_code

            growing = pool.submit(grow)
            statuses: list[int] = []
            while not ended.is_set() and not growing.done():
                statuses += pool.map(search, range(50))
            growing.result()
            assert set(statuses) == {200}
            assert client.get("/api/search", params={"q": "apples"}).json()["total"] == 7


def test_what_goes_wrong_here_is_said_without_its_inside(crawl: HandmadeCrawl, tmp_path: Path) -> None:
    """A fault of ours is a 500 with all the headers, and no traceback."""
    app = create_app(crawl.path)

    @app.get("/api/fault")
    def fault() -> None:
        raise RuntimeError("a secret")

    with served(crawl.path, app=app) as address:
        response = httpx.get(f"{address}/api/fault", trust_env=False)
    assert response.status_code == 500
    assert "secret" not in response.text
    assert "content-security-policy" in response.headers
