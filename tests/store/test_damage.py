"""Truncated and overwritten files: data that can be read is correct, other errors are one line."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from orienteer.errors import CrawlFolderError
from orienteer.store.database import Database
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import FolderView
from tests.store.small_crawls import add_pages, check_pages, url

N_PAGES = 300


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "crawl"
    with CrawlFolder.create(path, "settings") as folder:
        add_pages(folder, 0, N_PAGES)
        folder.database.history.add_known(N_PAGES, [1, 2])
        folder.database.meta.add_event(1.0, "kind", why="because")
        folder.database.signatures.add(1, b"signature")
        folder.acknowledge()
    return path


def read_everything(path: Path, read_only: bool) -> None:
    """Read the whole database and archive in every way."""
    with (FolderView if read_only else CrawlFolder).open(path) as folder:
        database = folder.database
        for block in database.urls.blocks():
            assert isinstance(block, bytes)
        for part in database.history.pages_after():
            assert part.pages.dtype == "uint32"
        for page in range(N_PAGES):
            row = database.pages.row(page)
            if row is not None and row.archived is not None:
                folder.archive.read(row.archived)
        database.pages.linking_to(5)
        database.urls.find(url(N_PAGES))
        database.urls.of_all(range(N_PAGES))
        list(database.signatures.all())
        database.signatures.of(1)
        database.meta.events()
        database.pages.counts()


def one_line_at_most(path: Path, read_only: bool) -> str:
    try:
        read_everything(path, read_only)
    except CrawlFolderError as error:
        assert "\n" not in str(error)
        return str(error)
    return ""


@pytest.mark.parametrize("read_only", [False, True])
def test_a_database_that_was_cut_short(whole: Path, tmp_path: Path, read_only: bool) -> None:
    size = (whole / "crawl.db").stat().st_size
    for n_bytes in (1, 50, 100, 1000, 4096, 10_000, size // 2, size - 4096):
        path = tmp_path / str(n_bytes)
        shutil.copytree(whole, path)
        with (path / "crawl.db").open("r+b") as file:
            file.truncate(n_bytes)
        assert "crawl.db: " in one_line_at_most(path, read_only)


@pytest.mark.parametrize("round", range(8))
def test_a_database_that_was_overwritten(whole: Path, tmp_path: Path, round: int) -> None:
    rng = random.Random(round)
    for k in range(12):
        path = tmp_path / str(k)
        shutil.copytree(whole, path)
        content = bytearray((path / "crawl.db").read_bytes())
        for _ in range(rng.choice([1, 5, 100])):
            start = rng.randrange(len(content))
            n_bytes = rng.choice([1, 8, 500])
            content[start : start + n_bytes] = rng.randbytes(len(content[start : start + n_bytes]))
        (path / "crawl.db").write_bytes(content)
        one_line_at_most(path, rng.random() < 0.5)


def test_an_archive_that_was_cut_short_or_overwritten(whole: Path, tmp_path: Path) -> None:
    size = (whole / "archive" / "orienteer-00000.warc.gz").stat().st_size
    for n_bytes in (0, 10, size // 2, size - 1):
        path = tmp_path / str(n_bytes)
        shutil.copytree(whole, path)
        with (path / "archive" / "orienteer-00000.warc.gz").open("r+b") as file:
            file.truncate(n_bytes)
        assert f"{size - n_bytes:,} bytes of acknowledged pages are missing" in one_line_at_most(path, False)
        assert "orienteer-00000.warc.gz: the file is damaged" in one_line_at_most(path, True)
        with (path / "archive" / "orienteer-00000.warc.gz").open("ab") as file:
            file.write(b"\xff" * (size - n_bytes))
        assert "orienteer-00000.warc.gz: the file is damaged" in one_line_at_most(path, False)


def test_a_log_that_was_cut_short_ends_the_crawl_earlier(tmp_path: Path) -> None:
    """SQLite applies the complete commits of a log. The archive is truncated by at most one commit."""
    with CrawlFolder.create(tmp_path / "crawl", "settings") as folder:
        for start in range(0, 30, 3):
            add_pages(folder, start, start + 3)
        shutil.copytree(tmp_path / "crawl", tmp_path / "copy")
    log = tmp_path / "copy" / "crawl.db-wal"
    size = log.stat().st_size
    seen = set()
    for n_bytes in (*range(0, size, size // 20), size):
        path = tmp_path / str(n_bytes)
        shutil.copytree(tmp_path / "copy", path)
        with (path / "crawl.db-wal").open("r+b") as file:
            file.truncate(n_bytes)
        (path / "crawl.db-shm").unlink()
        with Database.open(path / "crawl.db", read_only=True) as database:
            n_pages = database.history.next_position()
        assert n_pages % 3 == 0
        seen.add(n_pages)
        before = (path / "archive" / "orienteer-00000.warc.gz").read_bytes()
        if n_pages < 27:
            with pytest.raises(CrawlFolderError, match="crawl.db is older than the archive; `orienteer repair DIR`"):
                CrawlFolder.open(path)
            assert (path / "archive" / "orienteer-00000.warc.gz").read_bytes() == before
            continue
        with CrawlFolder.open(path) as folder:
            check_pages(folder, n_pages)
    assert len(seen) > 5
    assert seen >= {27, 30}
