"""A full disk, a limit on file sizes, a read-only disk: the error is one line, and no acknowledged page is lost."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from orienteer.errors import CrawlFolderError
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import FolderView
from tests.disk_limits import files_of_at_most, small_disk_at
from tests.store.small_crawls import add_page, add_pages, check_pages


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte in memory; skips with the reason if it cannot be mounted."""
    with small_disk_at(tmp_path, "1m") as disk:
        yield disk


def remount(disk: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", disk], check=True)


def fill(path: Path, rng: np.random.Generator, body_bytes: int) -> tuple[int, str]:
    """Add pages until a write fails; return how many were acknowledged, and the error message."""
    acknowledged = 0
    try:
        with CrawlFolder.open_or_create(path, "settings") as folder:
            acknowledged = folder.database.history.next_position()
            for page in range(acknowledged, 10_000):
                add_page(folder, page, rng.bytes(body_bytes))
                if page % 5 == 4:
                    folder.acknowledge()
                    acknowledged = page + 1
    except CrawlFolderError as error:
        return acknowledged, str(error)
    raise AssertionError("it never came to an end")


@pytest.mark.parametrize("body_bytes", [0, 3000])
def test_a_full_disk(small_disk: Path, rng: np.random.Generator, body_bytes: int) -> None:
    """The database or the archive fills the disk; another attempt fails; then there is room again."""
    path = small_disk / "crawl"
    n_pages, said = fill(path, rng, body_bytes)
    assert n_pages > 50
    assert said.startswith("the disk is full: ")
    assert said.endswith("nothing acknowledged is lost, run the same command again when there is room")
    for _ in range(3):
        again, said = fill(path, rng, body_bytes)
        assert said.startswith("the disk is full: ")
        n_pages = max(n_pages, again)
    remount(small_disk, "size=4m")
    with CrawlFolder.open(path) as folder:
        check_pages(folder, n_pages)
    again, _ = fill(path, rng, body_bytes)
    assert again > n_pages
    remount(small_disk, "size=8m")
    with CrawlFolder.open(path) as folder:
        check_pages(folder, again)


def test_a_disk_without_room_for_a_crawl(small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(bytes((1 << 20) - 3 * 4096))
    for _ in range(2):
        with pytest.raises(CrawlFolderError, match=r"^the disk is full: [^\n]*$"):
            CrawlFolder.open_or_create(small_disk / "crawl", "settings")
    (small_disk / "filler").unlink()
    CrawlFolder.open_or_create(small_disk / "crawl", "settings").close()


@pytest.mark.parametrize("n_bytes", [150_000, 400_000])
@pytest.mark.parametrize("body_bytes", [0, 3000])
def test_files_that_may_not_grow(tmp_path: Path, rng: np.random.Generator, body_bytes: int, n_bytes: int) -> None:
    with files_of_at_most(n_bytes):
        n_pages, said = fill(tmp_path, rng, body_bytes)
        again, _ = fill(tmp_path, rng, body_bytes)
    assert n_pages > 20
    assert again >= n_pages
    assert "nothing acknowledged is lost" in said
    assert "\n" not in said
    with CrawlFolder.open(tmp_path) as folder:
        check_pages(folder, again)


@pytest.mark.parametrize("is_open", [False, True])
def test_a_read_only_disk(small_disk: Path, tmp_path_factory: pytest.TempPathFactory, is_open: bool) -> None:
    """Closed properly, or as a killed process leaves it, with a log next to the database."""
    original = tmp_path_factory.mktemp("original") / "crawl"
    with CrawlFolder.create(original, "settings") as folder:
        add_pages(folder, 0, 5)
        if is_open:
            shutil.copytree(original, small_disk / "crawl")
    if not is_open:
        shutil.copytree(original, small_disk / "crawl")
    assert (small_disk / "crawl" / "crawl.db-wal").exists() == is_open
    remount(small_disk, "ro")
    refusal = r"may not be written \(Read-only file system\)[^\n]*$"
    with pytest.raises(CrawlFolderError, match=rf"^[^\n]*crawl.lock: {refusal}"):
        CrawlFolder.open(small_disk / "crawl")
    with pytest.raises(CrawlFolderError, match=rf"^[^\n]*new: {refusal}"):
        CrawlFolder.create(small_disk / "new", "settings")
    with FolderView.open(small_disk / "crawl") as folder:
        check_pages(folder, 5)
        assert folder.settings_text == "settings"
