"""Captures against a slow reader of the archive: grown, killed, damaged, untrusted, in object storage."""

from __future__ import annotations

import gzip
import hashlib
import random
import shutil
import sqlite3
import subprocess
import sys
from collections import defaultdict
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from orienteer.errors import CrawlFolderError
from orienteer.inspect import captures as module
from orienteer.inspect.captures import Captures, StaleCapturesError
from orienteer.store.capture_table import DOM, RESPONSE, REVISIT, VIEW
from orienteer.store.folder_view import FolderView
from orienteer.store.object_store import parse_location
from orienteer.store.stored_files import StoredFile, StoredFiles
from tests.inspect.captured import DAY, CapturedCrawl, T, png
from tests.store.object_stores import needs_store
from tests.unprivileged import run_without_privileges

A = "http://a.org/"
PICTURE = png(4, 4, (1, 2, 3))

Times = dict[str, list[tuple[str, str, str]]]


def grown(path: Path, rng: random.Random, epoch: int, n_pages: int = 12) -> None:
    """An epoch of a crawl: some pages are as they were, some have changed; pictures, DOMs and screenshots between."""
    with CapturedCrawl(path, max_file_bytes=6_000) as crawl:
        for page in range(n_pages):
            url, time = f"{A}{page}", T + epoch * DAY + page
            if epoch and page % 3 == 0:
                crawl.unchanged(url, time, T + page)
                continue
            crawl.put(url, time, f"<p>page {page} in epoch {epoch} {rng.random()}" + "word " * 50)
            if page % 4 == 1:
                crawl.dom(url, time + 0.25, f"<p>rendered {page} {epoch}")
                crawl.view(url, time + 0.25, PICTURE)
            if page % 5 == 0:
                crawl.put(f"{A}{page}.png", time + 0.125, PICTURE, "image/png")


def times_by_url(captures: Captures) -> Times:
    """All that is known, URL by URL."""
    with captures._table._lock:
        rows = captures._table._connection.execute("SELECT url, kind, time, digest FROM capture").fetchall()
    names = {RESPONSE: "response", REVISIT: "revisit", DOM: "dom", VIEW: "view"}
    found: Times = defaultdict(list)
    for url, kind, time, digest in rows:
        found[url].append((names[kind], f"{time:.3f}", digest))
    return {url: sorted(times) for url, times in found.items()}


def reference(path: Path) -> Times:
    """The same by another reader, record by record, up to the acknowledged end."""
    with FolderView.open(path) as crawl:
        end = crawl.archive.end
    found: Times = defaultdict(list)
    for file in sorted((path / "archive").glob("*.warc.gz"))[: end.file + 1]:
        copy = file.read_bytes()
        is_last = int(file.name[10:15]) == end.file
        place = path.parent / "copy.warc.gz"
        place.write_bytes(copy[: end.size_bytes] if is_last else copy)
        with place.open("rb") as stream:
            for record in ArchiveIterator(stream):
                headers = record.rec_headers
                uri, kind = headers.get_header("WARC-Target-URI") or "", record.rec_type
                for name in ("dom", "view"):
                    if uri.startswith(f"urn:{name}:"):
                        uri, kind = uri.removeprefix(f"urn:{name}:"), name
                if uri.startswith("http"):
                    date = headers.get_header("WARC-Date")
                    time = datetime.fromisoformat(date).timestamp()
                    found[uri].append((kind, f"{time:.3f}", headers.get_header("WARC-Payload-Digest") or ""))
    return {url: sorted(times) for url, times in found.items()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    grown(tmp_path / "crawl", random.Random(5), 0)
    return tmp_path / "crawl"


def known(path: Path) -> Times:
    captures = Captures(path)
    captures.update()
    found = times_by_url(captures)
    captures.close()
    return found


def test_it_is_what_another_reader_finds_and_grows_with_the_archive(folder: Path) -> None:
    first = known(folder)
    assert first == reference(folder)
    assert sum(map(len, first.values())) > 15
    assert len(list((folder / "archive").glob("*.warc.gz"))) > 1
    rng = random.Random(6)
    for epoch in (1, 2):
        grown(folder, rng, epoch)
        assert known(folder) == reference(folder)
    assert known(folder) == reference(folder), "nothing is taken twice"


def test_only_what_is_new_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    captures = Captures(folder)
    captures.update()
    grown(folder, random.Random(7), 1)
    read: list[int] = []
    row = module._row
    monkeypatch.setattr(module, "_row", lambda content, place: read.append(place.offset) or row(content, place))
    captures.update()
    n_new = len(read)
    captures.update()
    assert len(read) == n_new
    assert times_by_url(captures) == reference(folder)
    assert 0 < n_new < 30
    captures.close()


def test_what_is_not_acknowledged_has_not_happened(folder: Path) -> None:
    before = known(folder)
    crawl = CapturedCrawl(folder)
    crawl.put(A + "late", T, "late")
    crawl.folder.archive.sync()
    assert known(folder) == before
    crawl.acknowledge()
    assert A + "late" in known(folder)
    crawl.folder.close()


def test_killed_in_the_middle_it_goes_on(folder: Path) -> None:
    command = [sys.executable, "-m", "tests.inspect.slow_scan", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as scan:
        assert scan.stdin is not None
        assert scan.stdout is not None
        for _ in range(3):
            assert scan.stdout.readline() == "step\n"
            scan.stdin.write("\n")
            scan.stdin.flush()
        assert scan.stdout.readline() == "step\n"
        scan.kill()
    captures = Captures(folder)
    assert 3 <= len(captures) < sum(map(len, reference(folder).values()))
    captures.close()
    assert known(folder) == reference(folder)


def test_two_at_once_take_nothing_twice(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orienteer.inspect.captures._ROWS_PER_STEP", 2)
    one, other = Captures(folder), Captures(folder)
    n_steps = 0

    def update_in_between(*_: object) -> None:
        nonlocal n_steps
        n_steps += 1
        if n_steps == 2:
            other.update()

    one.update(update_in_between)
    assert n_steps >= 2
    assert times_by_url(one) == times_by_url(other) == reference(folder)
    one.close()
    other.close()


@pytest.mark.parametrize("where", ["middle", "end"])
def test_what_is_damaged_is_passed_over(folder: Path, where: str) -> None:
    whole = reference(folder)
    path = folder / "archive" / "orienteer-00000.warc.gz"
    content = bytearray(path.read_bytes())
    place = len(content) // 2 if where == "middle" else len(content) - 40
    content[place : place + 20] = bytes(20)
    path.write_bytes(content)
    found = known(folder)
    n_lost = sum(map(len, whole.values())) - sum(map(len, found.values()))
    assert 1 <= n_lost <= 2
    assert all(set(times) <= set(whole[url]) for url, times in found.items())


def test_an_archive_that_is_another_one_is_read_again(folder: Path, tmp_path: Path) -> None:
    known(folder)
    grown(tmp_path / "other", random.Random(99), 0)
    shutil.rmtree(folder / "archive")
    shutil.copytree(tmp_path / "other" / "archive", folder / "archive")
    shutil.copyfile(tmp_path / "other" / "crawl.db", folder / "crawl.db")
    assert known(folder) == reference(folder)


def test_an_untrusted_table_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = known(folder)
    with closing(sqlite3.connect(folder / "captures" / "captures.db", isolation_level=None)) as table:
        table.execute("DELETE FROM capture WHERE rowid % 2")
    table.close()
    assert known(folder) != before, "one of our own is"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another user"))
    assert known(folder) == before


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0" + bytes(2000), b"nonsense" * 400])
def test_a_garbled_table_is_rebuilt(folder: Path, content: bytes) -> None:
    before = known(folder)
    (folder / "captures" / "captures.db").write_bytes(content)
    assert known(folder) == before


def test_a_link_in_its_place_is_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "captures").mkdir()
    (folder / "captures" / "captures.db").symlink_to(tmp_path / "target")
    with pytest.raises(CrawlFolderError, match="symbolic link"):
        Captures(folder)
    assert not (tmp_path / "target").exists()


def test_a_record_is_believed_only_where_it_is_what_it_should_be(folder: Path) -> None:
    captures = Captures(folder)
    captures.update()
    row, other = (captures.nearest(f"{A}{page}", T) for page in (1, 2))
    assert row is not None
    assert other is not None
    for wrong in (
        row._replace(url=A + "2"),
        row._replace(time=row.time + 1),
        row._replace(offset=other.offset, size_bytes=other.size_bytes),
        row._replace(offset=row.offset + 1),
        row._replace(size_bytes=2**40),
        row._replace(file=7),
    ):
        with pytest.raises(StaleCapturesError):
            captures.content(wrong)
    content = captures.content(row)
    assert content is not None
    assert content.content.startswith(b"<p>page 1 in epoch 0")
    captures.close()


def test_where_nothing_may_be_written_it_is_in_memory(folder: Path) -> None:
    wanted = reference(folder)
    known(folder)
    shutil.rmtree(folder / "captures")
    for path in [*folder.rglob("*"), folder]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    assert run_without_privileges(lambda: "right" if known(folder) == wanted else "wrong") == "right"
    folder.chmod(0o755)
    assert not (folder / "captures").exists()


@needs_store
def test_files_in_object_storage_are_read_there(folder: Path, tmp_path: Path) -> None:
    wanted = reference(folder)
    (tmp_path / "there").mkdir()
    place = parse_location((tmp_path / "there").as_uri())
    stored = StoredFiles(folder / "archive")
    for number in (0, 1):
        path = folder / "archive" / f"orienteer-{number:05}.warc.gz"
        content = path.read_bytes()
        stored.add(number, StoredFile(place, len(content), hashlib.sha256(content).hexdigest()))
        shutil.move(path, tmp_path / "there" / path.name)
    captures = Captures(folder)
    captures.update(with_stored=False)
    assert set(times_by_url(captures)) < set(wanted)
    captures.update()
    assert times_by_url(captures) == wanted
    row = captures.nearest(A + "0", T)
    assert row is not None
    assert row.file == 0
    content = captures.content(row)
    assert content is not None
    assert b"page 0" in content.content
    captures.close()


@pytest.fixture
def looked_up(tmp_path: Path) -> Captures:
    with CapturedCrawl(tmp_path / "crawl") as crawl:
        crawl.put("https://b.org/a", T, "one")
        crawl.put("https://b.org/a", T + DAY, "two")
        crawl.unchanged("https://b.org/a", T + 2 * DAY, T + DAY)
        crawl.put("https://b.org/a", T + 3 * DAY, "two")
        crawl.put("http://b.org/old", T, "", status="301 Moved", more="Location: http://b.org/old/\r\n")
        crawl.put("https://b.org/q?a=1", T, "query")
        crawl.dom("https://b.org/a", T + 3 * DAY + 1, "<p>rendered")
        crawl.put("https://b.org/zip", T, b"no gzip", "text/plain", more="Content-Encoding: gzip\r\n")
    captures = Captures(tmp_path / "crawl")
    captures.update()
    return captures


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://b.org/a", "https://b.org/a"),
        ("https://b.org/a#top", "https://b.org/a"),
        ("http://b.org/a", "https://b.org/a"),
        ("http://b.org/a/", "https://b.org/a"),
        ("https://b.org/q/?a=1&utm_source=x", "https://b.org/q?a=1"),
        ("https://b.org/q?a=2", None),
        ("http://b.org/old", "http://b.org/old"),
        ("http://b.org/old/", None),  # or it would go in circles
        ("https://c.org/a", None),
        ("", None),
        ("urn:dom:https://b.org/a", None),
    ],
)
def test_urls_that_match_another(looked_up: Captures, url: str, found: str | None) -> None:
    row = looked_up.nearest(url, T)
    assert (row.url if row else None) == found
    looked_up.close()


def test_the_dates_of_a_page(looked_up: Captures) -> None:
    times = looked_up.times_of("https://b.org/a")
    assert [(time.time - T) / DAY for time in times] == [0, 1, 2, 3]
    assert [time.changed for time in times] == [None, True, False, False]
    assert [time.dom is not None for time in times] == [False, False, False, True]
    said = [looked_up.content(time.capture) for time in times]
    assert [content.content if content else None for content in said] == [b"one", b"two", b"two", b"two"]
    for days, wanted in ((-5, 0), (0.4, 0), (0.6, 1), (2.1, 2), (99, 3)):
        row = looked_up.nearest("https://b.org/a", T + days * DAY)
        assert row == times[wanted].capture
    looked_up.close()


def test_a_content_that_blows_up_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CONTENT_BYTES", 9_999)
    bomb = gzip.compress(bytes(10_000))
    with CapturedCrawl(tmp_path / "crawl") as crawl:
        crawl.put(A, T, bomb, more="Content-Encoding: gzip\r\n")
    captures = Captures(tmp_path / "crawl")
    captures.update()
    row = captures.nearest(A, T)
    assert row is not None
    with pytest.raises(CrawlFolderError, match="when unpacked"):
        captures.content(row)
    captures.close()


def test_a_content_with_a_wrong_encoding_is_returned_as_it_is(looked_up: Captures) -> None:
    row = looked_up.nearest("https://b.org/zip", T)
    assert row is not None
    content = looked_up.content(row)
    assert content is not None
    assert content.content == b"no gzip"
    looked_up.close()
