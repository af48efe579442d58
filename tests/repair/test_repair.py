"""Repair: intact data is kept, lost pages are fetched again, and the certificate stays valid."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

import orienteer as ori
from orienteer.errors import CrawlFolderError
from orienteer.inspect.verify import verify
from orienteer.live.session import plan_of_folder, refresh
from orienteer.repair.repair import RepairReport, repair
from orienteer.search.indexing import update_index
from orienteer.store.database import Database
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import FolderView
from orienteer.store.schema import RANGES
from tests.conftest import golden_folder, random_web
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.live.live_crawls import StoredCrawl, crawled, hub

WARC = "archive/orienteer-00000.warc.gz"


@pytest.fixture(scope="module")
def site() -> GraphSite:
    return GraphSite(random_web(np.random.default_rng(7), 120, 4.0, with_hosts=True))


@pytest.fixture(scope="module")
def whole(site: GraphSite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that fetched half of the pages."""
    folder = tmp_path_factory.mktemp("repair") / "crawl"
    with FakeWeb(site) as web:
        crawled(web, hub(site), folder, budget=40)
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "crawl")
    return tmp_path / "crawl"


def certificate_of(folder: Path) -> tuple[float, float]:
    from orienteer.ledger.event_replay import EventReplay

    with FolderView.open(folder) as view:
        stored = EventReplay(view, plan_of_folder(folder)).crawl.certificate()
    return stored.lower, stored.upper


def true_coverage(site: GraphSite, folder: Path) -> float:
    """Return the PageRank mass, from the seed, of pages with rows in the folder."""
    stored = StoredCrawl(folder)
    seed = int(np.argmax(site.graph.out_degrees()))
    ranks = ori.pagerank(site.graph, trust=[seed])
    by_url = {site.url_of(page): float(ranks[page]) for page in range(site.graph.n_pages)}
    return sum(by_url.get(url, 0.0) for url, row in stored.rows.items() if row is not None)


def finished(site: GraphSite, folder: Path) -> dict[str, tuple[str, ...]]:
    """Complete the crawl, and return the links of each page, by URL."""
    with FakeWeb(site) as web:
        crawled(web, hub(site), folder)
    stored = StoredCrawl(folder)
    with CrawlFolder.open(folder) as opened:
        for row in stored.rows.values():
            if row is not None and row.archived is not None:
                opened.archive.read(row.archived)
    return {url: tuple(stored.urls[link] for link in row.links) for url, row in stored.rows.items() if row is not None}


@pytest.fixture(scope="module")
def all_of_it(site: GraphSite, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, ...]]:
    return finished(site, tmp_path_factory.mktemp("all") / "crawl")


def check(site: GraphSite, folder: Path, all_of_it: dict[str, tuple[str, ...]]) -> RepairReport:
    """Check that the repaired folder is valid, a second repair changes nothing, and the crawl ends the same."""
    report = repair(folder)
    lower, upper = certificate_of(folder)
    assert lower <= true_coverage(site, folder) + 1e-9
    assert upper >= lower
    again = repair(folder)
    assert not again.was_damaged
    assert again.n_pages == report.n_pages
    assert finished(site, folder) == all_of_it
    return report


def test_an_intact_folder_is_not_changed(folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "crawl.lock"}
    report = repair(folder)
    assert not report.was_damaged
    assert report.backup is None
    assert report.n_pages == 40
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "crawl.lock"}
    after = {path: content for path, content in after.items() if not path.name.endswith(("-wal", "-shm"))}
    assert after == before


def test_a_missing_archive_is_fetched_again(
    site: GraphSite, folder: Path, all_of_it: dict[str, tuple[str, ...]]
) -> None:
    (folder / WARC).unlink()
    for opens in (CrawlFolder.open, update_index):
        with pytest.raises(
            CrawlFolderError, match=r"the file is missing; acknowledged pages are in it; `orienteer repair"
        ):
            opens(folder)
    shutil.rmtree(folder / "index")
    report = check(site, folder, all_of_it)
    assert len(report.lost) == 40
    assert json.loads((folder / "repair.json").read_text())["n_lost"] == 40


def test_an_archive_that_was_cut_short(site: GraphSite, folder: Path, all_of_it: dict[str, tuple[str, ...]]) -> None:
    size = (folder / WARC).stat().st_size
    os.truncate(folder / WARC, size - 1000)
    report = check(site, folder, all_of_it)
    assert 1 <= len(report.lost) < 10
    assert report.n_pages == 40 - len(report.lost)
    assert report.backup is not None
    assert (report.backup / "orienteer-00000.warc.gz.end").stat().st_size > 0


@pytest.mark.parametrize("number", range(4))
def test_records_in_the_middle_are_damaged(
    site: GraphSite, folder: Path, all_of_it: dict[str, tuple[str, ...]], number: int
) -> None:
    rng = random.Random(number)
    content = bytearray((folder / WARC).read_bytes())
    for _ in range(3):
        start = rng.randrange(len(content) - 200)
        content[start : start + 100] = rng.randbytes(100)
    (folder / WARC).write_bytes(content)
    report = check(site, folder, all_of_it)
    assert report.damage
    assert report.n_pages == 40 - len(report.lost)


def test_pages_of_the_archive_are_added_to_an_older_database(
    site: GraphSite, folder: Path, tmp_path: Path, all_of_it: dict[str, tuple[str, ...]]
) -> None:
    old = {path.name: path.read_bytes() for path in folder.glob("crawl.db*")}
    with FakeWeb(site) as web:
        for budget in (44, 80):  # at least two commits
            crawled(web, hub(site), folder, budget=budget)
    newer = StoredCrawl(folder)
    n_more = sum(row is not None for row in newer.rows.values()) - 40
    assert n_more > 5
    for path in folder.glob("crawl.db*"):
        path.unlink()
    for name, content in old.items():
        (folder / name).write_bytes(content)
    archived = (folder / WARC).read_bytes()
    with pytest.raises(CrawlFolderError, match=r"older than the archive.*orienteer repair"):
        CrawlFolder.open(folder)
    assert (folder / WARC).read_bytes() == archived, "not a byte is cut off"
    report = repair(folder)
    assert report.lost == {}
    assert report.n_added == n_more
    assert StoredCrawl(folder).rows.keys() == newer.rows.keys()
    check(site, folder, all_of_it)


def test_no_database_at_all(site: GraphSite, folder: Path, all_of_it: dict[str, tuple[str, ...]]) -> None:
    for path in folder.glob("crawl.db*"):
        path.unlink()
    report = check(site, folder, all_of_it)
    assert report.n_added > 20
    assert report.n_pages == report.n_added


@pytest.mark.parametrize("number", range(8))
def test_a_garbled_database(site: GraphSite, folder: Path, all_of_it: dict[str, tuple[str, ...]], number: int) -> None:
    rng = random.Random(number)
    with closing(sqlite3.connect(folder / "crawl.db", isolation_level=None)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    content = bytearray((folder / "crawl.db").read_bytes())
    for _ in range(rng.choice((1, 3, 8))):
        start = rng.randrange(0 if number % 4 == 0 else 4096, len(content))
        content[start : start + 600] = rng.randbytes(len(content[start : start + 600]))
    (folder / "crawl.db").write_bytes(content)
    check(site, folder, all_of_it)


INVALID = (1e300, -1e300, -(2**40), 2**62, None, "x", b"\x01")


def make_invalid(folder: Path, rng: random.Random) -> list[str]:
    """Change a row of each table: a column gets a value that no crawl writes. Return what was changed."""
    changed = []
    with closing(sqlite3.connect(folder / "crawl.db", isolation_level=None)) as database:
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            columns = database.execute(f"PRAGMA table_info({table})").fetchall()
            key = next((name for _, name, *_, in_key in columns if in_key), "")
            ranges = {name: RANGES[name] for _, name, *_ in columns if name in RANGES}
            if table == "event":
                ranges["kind"] = RANGES["event_kind"]
            if not key or not ranges or database.execute(f"SELECT 1 FROM {table}").fetchone() is None:
                continue
            column = rng.choice(list(ranges))
            is_text = str in ranges[column].types  # SQLite stores numbers as texts there
            value = rng.choice([b"\x01"] if is_text else [one for one in INVALID if not ranges[column].holds(one)])
            where = f"{key} = (SELECT {key} FROM {table} ORDER BY random() LIMIT 1)"
            with suppress(sqlite3.IntegrityError):  # SQLite itself refuses it
                database.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value,))
                changed.append(f"{table}.{column} = {value!r}")
    return changed


@pytest.mark.parametrize("number", range(4))
def test_rows_with_invalid_values_are_left_out(
    number: int, changed: Path, tmp_path: Path, fresh_rng: random.Random
) -> None:
    if number % 2:
        folder = tmp_path / "crawl"
        shutil.copytree(changed, folder)
    else:
        folder = golden_folder("crawl-0.2.0-rendered", tmp_path)
    done = make_invalid(folder, fresh_rng)
    assert repair(folder).was_damaged, done
    assert not repair(folder).was_damaged, done
    try:
        verify(folder)  # reads all that is left
    except CrawlFolderError as error:
        pytest.fail(f"{error}: {done}")


def test_pages_with_lost_urls_are_read_again(
    site: GraphSite, folder: Path, all_of_it: dict[str, tuple[str, ...]]
) -> None:
    """A page must not have fewer links than in the archive: it is read again."""
    with closing(sqlite3.connect(folder / "crawl.db", isolation_level=None)) as database:
        database.execute("DELETE FROM url WHERE id % 7 = 3")
    database.close()
    report = check(site, folder, all_of_it)
    assert report.n_urls_lost > 5
    assert report.n_added > 0


def test_pages_have_new_numbers_in_the_history_of_visits_too(folder: Path) -> None:
    with FolderView.open(folder) as view:
        done = [row.id for row in view.database.pages.fetched()]
        lost, kept, page, other = done[-5], done[-4], done[-3], done[-2]
        urls = {old: view.database.urls.of(old) for old in (kept, page, other)}
    with closing(sqlite3.connect(folder / "crawl.db", isolation_level=None)) as database:
        for old, repeated in ((page, kept), (other, lost)):
            columns = "page, first_time, checked, n_checks, n_changes, n_missing, repeated"
            database.execute(f"INSERT INTO revisit ({columns}) VALUES (?, 1.0, 1.0, 1, 1, 0, ?)", (old, repeated))
        database.execute("DELETE FROM url WHERE id IN (?, ?)", (min(done[1:]), lost))
    database.close()
    assert repair(folder).n_urls_lost >= 1
    with FolderView.open(folder) as view:
        new = view.database.urls.find_all(list(urls.values()))
        repeated_of = {old: view.database.visits.revisits(new[urls[old]]) for old in (page, other)}
        assert repeated_of[page] is not None
        assert repeated_of[page].repeated == new[urls[kept]] != kept
        assert repeated_of[other] is not None
        assert repeated_of[other].repeated is None


def test_damaged_derived_files_are_moved(folder: Path) -> None:
    update_index(folder)
    (folder / "report.json").write_bytes(b"{\xff")
    (folder / "index" / "columns.npz").write_bytes(b"PK nothing")
    report = repair(folder)
    assert set(report.moved) == {"report.json", "index"}
    assert report.n_pages == 40
    assert update_index(folder).n_pages > 0


def test_a_refreshed_crawl(site: GraphSite, folder: Path) -> None:
    with FakeWeb(site) as web:
        refresh(folder, settings={"fetch": {"connect_to": web.address}, "refresh": {"start": "seeds"}})
    n_before = sum(row is not None for row in StoredCrawl(folder).rows.values())
    content = bytearray((folder / WARC).read_bytes())
    content[3000:3500] = bytes(500)
    (folder / WARC).write_bytes(content)
    report = repair(folder)
    assert report.was_damaged
    assert report.n_pages == n_before - len(report.lost)
    lower, upper = certificate_of(folder)
    assert 0 <= lower <= upper <= 1
    assert not repair(folder).was_damaged
    with FakeWeb(site) as web:
        refresh(folder, settings={"fetch": {"connect_to": web.address}, "refresh": {"start": "seeds"}})
    assert all(row is not None for url, row in StoredCrawl(folder).rows.items() if url in report.lost)


def test_a_folder_without_settings_is_refused(folder: Path) -> None:
    (folder / "crawl.toml").unlink()
    with pytest.raises(CrawlFolderError, match="restore it first"):
        repair(folder)


class _Killed(BaseException):
    pass


def test_a_killed_repair_is_continued(
    site: GraphSite, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is killed after each system call that changes the folder."""
    damaged = tmp_path / "damaged"
    shutil.copytree(whole, damaged)
    os.truncate(damaged / WARC, (damaged / WARC).stat().st_size - 1000)
    shutil.copytree(damaged, tmp_path / "straight")
    straight = repair(tmp_path / "straight")
    stop_after, is_over = 0, False
    while not is_over:
        folder = tmp_path / f"k{stop_after}"
        shutil.copytree(damaged, folder)
        with monkeypatch.context() as patch:
            left = [stop_after]
            for name in ("replace", "fsync", "unlink", "rename", "ftruncate"):
                patch.setattr(os, name, _stopping(getattr(os, name), left))
            try:
                repair(folder)
                is_over = True
            except _Killed:
                pass
        again = repair(folder)
        assert again.n_pages == straight.n_pages
        assert StoredCrawl(folder).rows.keys() == StoredCrawl(tmp_path / "straight").rows.keys()
        with Database.open(folder / "crawl.db", read_only=True) as database:
            assert database.pages.counts().n_pages == straight.n_pages
        CrawlFolder.open(folder).close()
        shutil.rmtree(folder)
        stop_after += 1
    assert stop_after > 8


def _stopping(call: object, left: list[int]) -> object:
    def stopping(*arguments: object, **named: object) -> object:
        if left[0] == 0:
            raise _Killed
        left[0] -= 1
        return call(*arguments, **named)  # type: ignore[operator]

    return stopping
