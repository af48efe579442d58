"""The database: committed rows are read back in order."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orienteer.errors import CrawlFolderError
from orienteer.store import detail_tables, history, url_tables
from orienteer.store.archive import Position
from orienteer.store.database import Database
from orienteer.store.history import DonePages, KnownPages
from orienteer.store.page_row import PageRow
from orienteer.store.page_tables import DonePageCounts
from orienteer.store.rendering_tables import AssetRow, RenderedRow
from orienteer.store.schema import VERSION
from orienteer.store.url_tables import CrawlEvent

one_database_for_all = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.create(tmp_path / "crawl.db") as database:
        yield database


@pytest.fixture
def numbered(database: Database) -> Database:
    """A database with URLs, against which the history is checked."""
    database.urls.add(0, [f"http://a.test/{k}" for k in range(100)])
    return database


def page_row(page: int, position: int, links=(), **more) -> PageRow:
    return PageRow(page, position, more.pop("state", 2), links=np.array(links, np.uint32), **more)


def same(a: PageRow, b: PageRow) -> bool:
    links = np.array_equal(a.links, b.links) and np.array_equal(a.outside, b.outside)
    return a[:-2] == b[:-2] and links and a.links.dtype == b.links.dtype == np.uint32


# Transactions


def test_other_connections_see_only_commits(database: Database) -> None:
    with Database.open(database.path, read_only=True) as reader:
        database.urls.add(0, ["http://a.org/"])
        assert database.urls.count() == 1
        assert reader.urls.count() == 0
        database.commit()
        assert reader.urls.count() == 1


def test_rollback_goes_back_to_the_last_commit(database: Database) -> None:
    database.urls.add(0, ["http://a.org/"])
    database.commit()
    database.urls.add(1, ["http://b.org/"])
    database.rollback()
    assert database.urls.count() == 1
    database.rollback()
    database.commit()
    assert database.urls.count() == 1


def test_closing_discards_uncommitted_changes(tmp_path: Path) -> None:
    with Database.create(tmp_path / "crawl.db") as database:
        database.meta.set("a", 1)
        database.commit()
        database.meta.set("a", 2)
    with Database.open(tmp_path / "crawl.db") as database:
        assert database.meta.get("a") == 1


def test_commits_are_durable(database: Database) -> None:
    modes = dict(pair for pragma in ("journal_mode", "synchronous") for pair in [(pragma, pragma_of(database, pragma))])
    assert modes == {"journal_mode": "wal", "synchronous": 2}


def pragma_of(database: Database, name: str) -> object:
    return database.connection.first(f"PRAGMA {name}")


def test_a_failed_write_fails_the_commit(database: Database) -> None:
    database.connection.first("PRAGMA max_page_count = 30")
    database.urls.add(0, ["http://a.org/"])
    database.commit()
    database.urls.add(1, ["http://b.org/"])
    with pytest.raises(CrawlFolderError, match="the disk is full"):
        database.urls.add(2, ["x" * 10_000] * 100)
    with pytest.raises(CrawlFolderError, match="the disk is full"):
        database.meta.set("a", 1)
    with pytest.raises(CrawlFolderError, match="the disk is full"):
        database.commit()
    database.rollback()
    database.urls.add(1, ["http://c.org/"])
    database.commit()
    assert database.urls.of_all([0, 1]) == ["http://a.org/", "http://c.org/"]


def test_a_page_is_done_once(database: Database) -> None:
    database.pages.add(page_row(7, 0))
    for again in (page_row(7, 1), page_row(8, 0)):
        with pytest.raises(CrawlFolderError, match=r"damaged \(UNIQUE constraint failed"):
            database.pages.add(again)
            database.commit()  # rows are buffered
        with pytest.raises(CrawlFolderError, match=r"damaged \(UNIQUE constraint failed"):
            database.commit()
        database.rollback()
        assert database.pages.row(7) is None
        database.pages.add(page_row(7, 0))


def test_a_buffered_row_is_found_as_it_will_be_stored(database: Database) -> None:
    first, digest = page_row(7, 0, [3, 1], title="a\ud800b", noindex=True, digest=b"d" * 20), b"d" * 20
    database.pages.add(first, Position(1, 20, 300))
    database.pages.add(page_row(8, 1, digest=digest, duplicate_of=7))
    database.pages.add(page_row(9, 2, digest=digest))
    found, copies = database.pages.row(7), [database.pages.with_digest(digest, page) for page in (5, 7)]
    assert found is not None
    assert (found.archived, found.title) == (Position(1, 20, 300), "a?b")
    database.commit()
    stored = database.pages.row(7)
    assert stored is not None
    assert same(found, stored)
    assert copies == [database.pages.with_digest(digest, page) for page in (5, 7)] == [7, 9]
    database.pages.add(page_row(10, 3, title="old"))
    database.pages.change(page_row(10, 3, title="new"))
    changed = database.pages.row(10)
    assert changed is not None
    assert changed.title == "new"


# URLs


@pytest.mark.parametrize("n_urls", [0, 1, 6, 7, 8, 50])
def test_blocks_hold_all_urls_in_order(database: Database, monkeypatch: pytest.MonkeyPatch, n_urls: int) -> None:
    monkeypatch.setattr(url_tables, "_URLS_PER_BLOCK", 7)
    urls = [f"http://{'x' * (k * 7919 % 13)}.org/{k}" for k in range(n_urls)]
    for start in range(0, n_urls, 3):
        database.urls.add(start, urls[start : start + 3])
    blocks = list(database.urls.blocks())
    assert [url.decode() for block in blocks for url in block.split(b"\n")] == urls
    assert all(block.count(b"\n") == 6 for block in blocks[:-1])
    assert [url.decode() for block in database.urls.blocks(5) for url in block.split(b"\n")] == urls[5:]


def test_group_concat_keeps_the_order_of_the_subquery(database: Database) -> None:
    """SQLite may ignore the order of a subquery in general, but guarantees it for group_concat."""
    database.urls.add(0, [f"http://a.org/{k * 7919 % 1000}" for k in range(1000)])
    (joined,) = (
        row[0] for row in database.connection.rows("SELECT group_concat(url) FROM (SELECT url FROM url ORDER BY url)")
    )
    assert joined.split(",") == sorted(joined.split(","))


def test_a_url_is_found_by_id_and_the_id_by_url(database: Database) -> None:
    database.urls.add(0, ["http://a.org/", "http://b.org/", "http://B.org/%"])
    assert database.urls.of(1) == "http://b.org/"
    assert database.urls.of_all(np.array([2, 0])) == ["http://B.org/%", "http://a.org/"]
    assert database.urls.find("http://B.org/%") == 2
    assert database.urls.find("http://b.org/x") is None


def test_missing_urls_are_damage(database: Database) -> None:
    database.urls.add(0, ["http://a.org/"])
    database.urls.add(2, ["http://c.org/"])
    with pytest.raises(CrawlFolderError, match="some of the URLs 0 to 2 are missing"):
        list(database.urls.blocks())
    with pytest.raises(CrawlFolderError, match="no URL with id 1"):
        database.urls.of(1)


# Pages

IDS = st.integers(0, 2**32 - 1)
LINKS = st.lists(IDS, max_size=30).map(lambda ids: np.array(ids, np.uint32))
COUNTS = st.integers(0, 2**62)
MAYBE = st.none() | IDS
ROWS = st.builds(
    PageRow,
    id=IDS,
    position=st.just(0),
    state=st.integers(2, 5),
    outcome=st.text(),
    status=st.integers(0, 999),
    time=st.floats(-6e10, 2e11),
    archive_file=st.none() | st.integers(0, 2**31 - 1),
    archive_offset=st.none() | COUNTS,
    archive_bytes=st.none() | COUNTS,
    digest=st.none() | st.binary(min_size=20, max_size=20),
    size_bytes=COUNTS,
    content_type=st.text(),
    language=st.text(),
    title=st.text(),
    noindex=st.booleans(),
    depth=st.integers(0, 1000),
    redirect_to=MAYBE,
    duplicate_of=MAYBE,
    near_duplicate_of=MAYBE,
    relevance=st.none() | st.floats(0, 1),
    links=LINKS,
    outside=LINKS,
)


@one_database_for_all
@given(row=ROWS)
def test_a_page_comes_back_as_it_was(database: Database, row: PageRow) -> None:
    database.rollback()
    database.pages.add(row)
    found = database.pages.row(row.id)
    assert found is not None
    assert same(found, row)
    assert found.noindex in (False, True)
    assert database.pages.row((row.id + 1) % 2**32) is None


def test_lone_surrogates_are_replaced(database: Database) -> None:
    database.pages.add(page_row(0, 0, title="a \ud83d b", content_type="text/\udcff", outcome="ok"))
    found = database.pages.row(0)
    assert found is not None
    assert (found.title, found.content_type) == ("a ? b", "text/?")


def test_where_a_page_is_in_the_archive() -> None:
    assert page_row(0, 0).archived is None
    row = page_row(0, 0, archive_file=1, archive_offset=2, archive_bytes=3)
    assert row.archived == Position(1, 2, 3)


def test_arrays_of_links_are_writable(numbered: Database) -> None:
    numbered.pages.add(page_row(0, 0, [1, 2]))
    found = numbered.pages.row(0)
    assert found is not None
    found.links[0] = 5
    (done,) = numbered.history.pages_after()
    assert isinstance(done, DonePages)
    done.links[0] = 5


def test_pages_linking_to_a_page(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "PAGES_PER_BATCH", 2)
    database.pages.add(page_row(4, 0, [1, 2, 1]))
    database.pages.add(page_row(0, 1))
    database.pages.add(page_row(2, 2, [], outside=np.array([9, 1], np.uint32)))
    database.pages.add(page_row(1, 3, [3]))
    database.pages.add(page_row(3, 4, [0, 1]))
    assert database.pages.linking_to(1) == [4, 2, 3]
    assert database.pages.linking_to(9) == [2]
    assert database.pages.linking_to(7) == []


def test_counts(database: Database) -> None:
    assert database.pages.counts() == DonePageCounts(0, 0, {}, {}, 0, 0)
    database.urls.add(0, ["a", "b", "c", "d", "e"])
    database.pages.add(page_row(0, 0, outcome="ok", size_bytes=10, archive_bytes=3))
    database.pages.add(page_row(1, 1, outcome="redirect", size_bytes=2, archive_bytes=2))
    database.pages.add(page_row(2, 2, outcome="ok", size_bytes=5, archive_bytes=4))
    database.pages.add(page_row(3, 3, outcome="timed out", state=3))
    expected = DonePageCounts(5, 4, {2: 3, 3: 1}, {"ok": 2, "redirect": 1, "timed out": 1}, 17, 9)
    assert database.pages.counts() == expected


# Events


@pytest.mark.parametrize("per_batch", [1, 2, 3, 100])
@pytest.mark.parametrize("after", [-1, 0, 2, 3, 7, 8, 100])
def test_events_are_read_in_order(
    numbered: Database, monkeypatch: pytest.MonkeyPatch, per_batch: int, after: int
) -> None:
    monkeypatch.setattr(history, "PAGES_PER_BATCH", per_batch)
    known = {0: [5, 6], 3: [], 4: [7], 8: [1]}
    for position in range(9):
        if position in known:
            numbered.history.add_known(position, known[position])
        else:
            numbered.pages.add(page_row(20 - position, position, range(position)))
    events = []
    for batch in numbered.history.pages_after(after):
        if isinstance(batch, KnownPages):
            events.append((batch.position, batch.pages.tolist()))
        else:
            assert 1 <= len(batch.pages) <= per_batch
            for k, position in enumerate(batch.positions.tolist()):
                assert batch.pages[k] == 20 - position
                events.append((position, batch.links[batch.link_offsets[k] : batch.link_offsets[k + 1]].tolist()))
    assert events == [
        (position, known.get(position, list(range(position)))) for position in range(max(after + 1, 0), 9)
    ]
    assert numbered.history.next_position() == 9


def test_done_pages_as_arrays(numbered: Database) -> None:
    numbered.pages.add(page_row(3, 0, [1, 2], outside=np.array([8], np.uint32)))
    numbered.pages.add(page_row(1, 1, [], state=3, redirect_to=0))
    numbered.pages.add(page_row(2, 2, [99]))
    (done,) = numbered.history.pages_after()
    assert isinstance(done, DonePages)
    assert done.positions.tolist() == [0, 1, 2]
    assert done.pages.tolist() == [3, 1, 2]
    assert done.states.tolist() == [2, 3, 2]
    assert done.redirects.tolist() == [-1, 0, -1]
    assert done.link_offsets.tolist() == [0, 2, 2, 3]
    assert done.links.tolist() == [1, 2, 99]


@pytest.mark.parametrize("row", [page_row(100, 0), page_row(1, 0, [100]), page_row(1, 0, [1], redirect_to=100)])
def test_a_history_with_unknown_urls_is_damage(numbered: Database, row: PageRow) -> None:
    """Kernels use these ids as indexes without a check."""
    numbered.pages.add(row)
    with pytest.raises(CrawlFolderError, match="damaged"):
        list(numbered.history.pages_after())


def test_an_implausible_number_of_urls_is_damage(numbered: Database) -> None:
    numbered.urls.add(2**40, ["http://a.test/far"])
    with pytest.raises(CrawlFolderError, match="damaged"):
        numbered.urls.count()


def test_the_next_position_is_behind_pages_and_known_pages(database: Database) -> None:
    assert database.history.next_position() == 0
    database.history.add_known(0, [1])
    assert database.history.next_position() == 1
    database.pages.add(page_row(0, 1))
    assert database.history.next_position() == 2


# Duplicates


def test_the_first_page_with_a_digest(database: Database) -> None:
    database.pages.add(page_row(9, 0, digest=b"a" * 20))
    database.pages.add(page_row(1, 1, digest=b"a" * 20))
    database.pages.add(page_row(2, 2))
    assert database.pages.with_digest(b"a" * 20, other_than=2) == 9
    assert database.pages.with_digest(b"a" * 20, other_than=9) == 1
    assert database.pages.with_digest(b"b" * 20, other_than=2) is None


def test_signatures(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detail_tables, "PAGES_PER_BATCH", 2)
    for page, signature in ((5, b"five"), (3, b"three"), (9, b"nine")):
        database.signatures.add(page, signature)
    assert database.signatures.of(3) == b"three"
    assert database.signatures.of(4) is None
    assert database.signatures.count() == 3
    found = [(pages.tolist(), signatures) for pages, signatures in database.signatures.all()]
    assert found == [([3, 5], [b"three", b"five"]), ([9], [b"nine"])]
    database.signatures.add(4, b"four")
    for page in (3, 4):  # one that is written, and one that is buffered
        database.signatures.remove(page)
        assert database.signatures.of(page) is None
    assert database.signatures.count() == 2
    database.commit()
    database.signatures.add(3, b"three again")
    database.signatures.remove(9)
    database.rollback()
    assert [database.signatures.of(page) for page in (3, 5, 9)] == [None, b"five", b"nine"]


def test_many_signatures_are_written(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detail_tables, "_SIGNATURES_AT_ONCE", 3)
    for page in (8, 2, 6, 4):
        database.signatures.add(page, b"%d" % page)
    assert list(database.signatures._buffered) == [4]
    assert [database.signatures.of(page) for page in (2, 4, 6, 8)] == [b"2", b"4", b"6", b"8"]


# Buffered URLs


def test_buffered_urls_are_visible(database: Database) -> None:
    urls = [f"http://a.test/{k}" for k in range(1_000)]
    rng = random.Random(7)
    end = 0
    while end < len(urls):
        n_new = rng.choice([1, 2, 40, 99, 100, 101, 250])
        database.urls.add(end, urls[end : end + n_new])
        end = min(end + n_new, len(urls))
        for page in (0, end - 1, rng.randrange(end), rng.randrange(end)):
            assert database.urls.of(page) == urls[page]
        with pytest.raises(CrawlFolderError, match="no URL with id"):
            database.urls.of(end)
        if rng.random() < 0.3:
            assert database.urls.count() == end
        if rng.random() < 0.3:
            assert database.urls.between(max(end - 120, 0), end) == urls[max(end - 120, 0) : end]
        if rng.random() < 0.2:
            database.commit()
    assert database.urls.of_all(range(len(urls))) == urls
    assert b"\n".join(database.urls.blocks()).decode().split("\n") == urls


def test_buffered_urls_are_committed_and_rolled_back(database: Database) -> None:
    with Database.open(database.path, read_only=True) as reader:
        database.urls.add(0, ["http://a.test/0"])
        database.commit()
        assert reader.urls.count() == 1
        database.urls.add(1, ["http://a.test/1"])
        database.rollback()
        with pytest.raises(CrawlFolderError, match="no URL with id 1"):
            database.urls.of(1)
        database.urls.add(1, ["http://a.test/other"])
        assert database.urls.of(1) == "http://a.test/other"
        database.commit()
        assert reader.urls.between(0, 2) == ["http://a.test/0", "http://a.test/other"]


# Events and values


def test_the_latest_events_oldest_first(database: Database) -> None:
    for k in range(5):
        database.meta.add_event(float(k), "host abandoned", host=k or None, why=f"x\ud800{k}", n=k)
    assert [event.time for event in database.meta.events(3)] == [2.0, 3.0, 4.0]
    assert database.meta.events()[0] == CrawlEvent(0.0, "host abandoned", None, {"why": "x\ud8000", "n": 0})


@one_database_for_all
@given(value=st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda v: st.lists(v, max_size=3)))
def test_a_value_comes_back_as_it_was(database: Database, value: object) -> None:
    database.meta.set("key", value)
    assert database.meta.get("key", "default") == value
    assert database.meta.get("other", "default") == "default"


# Opening


def test_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    with Database.create(path) as database:
        database.connection.first(f"PRAGMA user_version = {VERSION + 1}")
    said = f"written in format {VERSION + 1}; this version of Orienteer reads format {VERSION}"
    with pytest.raises(CrawlFolderError, match=said):
        Database.open(path)


def test_a_foreign_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE url (id, url)")
    connection.close()
    for read_only in (False, True):
        with pytest.raises(CrawlFolderError, match="crawl.db: not the database of a crawl"):
            Database.open(path, read_only)


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + bytes(5000), bytes(100_000)])
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "crawl.db"
    path.write_bytes(content)
    for read_only in (False, True):
        with pytest.raises(CrawlFolderError, match=r"^[^\n]*crawl.db: (not the database|the file is damaged)[^\n]*$"):
            Database.open(path, read_only)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(CrawlFolderError, match="no such database"):
        Database.open(tmp_path / "crawl.db")
    assert list(tmp_path.iterdir()) == []


def test_special_characters_in_folder_names(tmp_path: Path) -> None:
    folder = tmp_path / "100 % #1? ü & more"
    folder.mkdir()
    with Database.create(folder / "crawl.db") as database:
        database.meta.set("a", 1)
        database.commit()
    with Database.open(folder / "crawl.db", read_only=True) as database:
        assert database.meta.get("a") == 1


def test_a_read_only_database_rejects_writes(database: Database) -> None:
    reader = Database.open(database.path, read_only=True)
    with pytest.raises(CrawlFolderError, match="may not be written"):
        reader.meta.set("a", 1)
    reader.close()


def test_a_second_writer_is_refused(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orienteer.store.connection._BUSY_TIMEOUT_S", 0.01)
    with Database.open(database.path) as other:
        database.meta.set("a", 1)
        with pytest.raises(CrawlFolderError, match="another program is writing to it"):
            other.meta.set("a", 2)
        database.commit()
        other.rollback()
        other.meta.set("a", 2)
        other.commit()
    assert database.meta.get("a") == 2


# Assets and renderings


def test_an_asset_is_added_and_finished(database: Database) -> None:
    first, second = (database.assets.add(url, 0) for url in ("http://a.example/x.css", "http://a.example/y.png"))
    assert [row.url for row in database.assets.requested()] == ["http://a.example/x.css", "http://a.example/y.png"]
    done = AssetRow(
        first, "http://a.example/x.css", 0, "ok", 200, 5.0, "text/css", b"20 bytes of a digest", Position(0, 10, 20)
    )
    database.assets.finish(done)
    assert [row.id for row in database.assets.requested()] == [second]
    assert database.assets.latest("http://a.example/x.css") == done
    assert database.assets.latest("http://a.example/none") is None
    again = database.assets.add("http://a.example/x.css", 3)
    assert database.assets.latest("http://a.example/x.css") == AssetRow(again, "http://a.example/x.css", 3)
    assert [row.id for row in database.assets.all()] == [first, second, again]


def test_renderings_are_read_back(database: Database) -> None:
    row = RenderedRow(
        7, "suspect", 5.0, "http://a.example/#/b", Position(0, 1, 2), None, 3, 40, 0, 12, 5, 0.25, "out of time"
    )
    database.rendered.set(RenderedRow(7, "sample", 1.0, "http://a.example/"))
    database.rendered.set(row)
    assert database.rendered.row(7) == row
    assert list(database.rendered.all()) == [row]
    database.rendered.delete(7)
    assert database.rendered.row(7) is None
