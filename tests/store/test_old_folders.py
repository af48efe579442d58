"""A crawl folder of the version before (crawl.db in format 2): nothing of it is lost, and everything works on it.

golden/folders/crawl-0.1.0.tar.xz is the crawl of a generated web of 80 pages, of which 40 were fetched and indexed.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from orienteer.errors import CrawlFolderError
from orienteer.exports.export import export
from orienteer.graph.synthetic import synthetic_web
from orienteer.ledger.revisiting import DAY_S
from orienteer.live.session import refresh
from orienteer.pages.states import PageState
from orienteer.search.indexing import update_index
from orienteer.search.search_index import SearchIndex
from orienteer.store.database import Database
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import FolderView
from orienteer.store.schema import VERSION
from tests.cli.run import orienteer
from tests.conftest import golden_folder
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.live.live_crawls import StoredCrawl, crawled

SEED = "http://h5.test/p61"
N_FETCHED = 40


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return golden_folder("crawl-0.1.0", tmp_path)


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with FakeWeb(GraphSite(synthetic_web(80))) as web:
        yield web


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / "crawl.db").read_bytes()).hexdigest()


def test_it_is_read_without_an_upgrade(old: Path) -> None:
    before = digest(old)
    with FolderView.open(old) as folder:
        assert folder.database.connection.upgraded_from is None
        assert folder.database.connection.missing_tables == {
            "added",
            "unknown",
            "session",
            "survey",
            "walks",
            "canonical",
            "part",
            "rendered",
        }
        assert folder.database.details.added(0) is None
    assert json.loads(orienteer("status", old, "--json").stdout)["figures"]["n_fetched"] == N_FETCHED
    assert orienteer("explain", old, SEED).stdout.startswith(SEED)
    assert len(StoredCrawl(old).fetched_urls()) == N_FETCHED
    assert digest(old) == before


def test_it_is_resumed_to_the_end_and_upgraded_on_the_way(old: Path, web: FakeWeb, tmp_path: Path) -> None:
    done = StoredCrawl(old)
    report = crawled(web, SEED, old)
    assert report.figures.n_frontier == 0
    fresh = crawled(web, SEED, tmp_path / "fresh")
    assert StoredCrawl(old).fetched_urls() == StoredCrawl(tmp_path / "fresh").fetched_urls()
    assert (report.figures.n_fetched, report.figures.n_failed) == (fresh.figures.n_fetched, fresh.figures.n_failed)
    assert StoredCrawl(old).order[:N_FETCHED] == done.order, "what was done before stays, in its order"
    with Database.open(old / "crawl.db", read_only=True) as database:
        assert database.connection.missing_tables == frozenset()
        events = [event.detail for event in database.meta.events() if event.kind == "upgraded"]
    line = f"upgraded crawl.db from format 2 to {VERSION}"
    assert events == [{"detail": line}]
    assert line in (old / "log.jsonl").read_text()


def test_the_command_says_once_that_it_was_upgraded(old: Path, web: FakeWeb) -> None:
    for n_said in (1, 0):
        done = orienteer("crawl", old, "--quiet", "--connect-to", web.address, "--budget", 41 + n_said, code=0)
        assert done.stderr.count(f"upgraded crawl.db from format 2 to {VERSION}") == n_said


def test_it_is_refreshed(old: Path, web: FakeWeb) -> None:
    settings = {"fetch": {"connect_to": web.address}, "politeness": {"delay_s": 0.0, "connections": 8}}
    before = StoredCrawl(old).fetched_urls()
    report = refresh(old, budget=1000, settings=settings, now=time.time() + 400 * DAY_S)
    assert report.figures.epoch == 1
    assert StoredCrawl(old).fetched_urls() > before
    with Database.open(old / "crawl.db", read_only=True) as database:
        assert len(database.epochs.all()) == 1


def test_its_index_is_rebuilt(old: Path) -> None:
    before = digest(old)
    for use in (update_index, SearchIndex.open):
        with pytest.raises(CrawlFolderError, match="written by another version of Orienteer; rebuild it with"):
            use(old)
    report = update_index(old, rebuild=True)
    assert report.n_read == report.n_added == report.n_pages
    again = update_index(old)
    assert (again.n_added, again.n_replaced, again.n_removed) == (0, 0, 0)
    assert SearchIndex.open(old).search("site:h5.test").total > 0
    assert digest(old) == before


def test_it_is_exported(old: Path, tmp_path: Path) -> None:
    before = digest(old)
    export(old, "jsonl", tmp_path / "pages.jsonl")
    pages = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    assert pages
    assert not any("tags" in page or "fields" in page for page in pages)
    assert digest(old) == before


def test_old_failures_become_blocked_pages(old: Path) -> None:
    outcomes = ["http 404", "http 410", "http 418", "redirect leaves the scope", "too many redirects", "unwanted type"]
    with closing(sqlite3.connect(old / "crawl.db", isolation_level=None)) as connection:
        pages = [page for (page,) in connection.execute("SELECT id FROM page ORDER BY id LIMIT 6")]
        for page, outcome in zip(pages, outcomes, strict=True):
            connection.execute("UPDATE page SET state = 3, outcome = ? WHERE id = ?", (outcome, page))
    connection.close()
    with CrawlFolder.open(old) as folder:
        rows = [folder.database.pages.row(page) for page in pages]
    states = [PageState(row.state).name for row in rows if row is not None]
    assert states == ["FAILED", "FAILED", "BLOCKED", "BLOCKED", "BLOCKED", "SKIPPED"]


def test_an_upgrade_is_all_or_nothing(old: Path) -> None:
    """A table with a conflicting name: the database stays unchanged."""
    with closing(sqlite3.connect(old / "crawl.db", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE added (x)")
    connection.close()
    with pytest.raises(CrawlFolderError, match="already exists"):
        CrawlFolder.open(old)
    with closing(sqlite3.connect(old / "crawl.db", isolation_level=None)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    connection.close()
