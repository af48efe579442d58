"""The contract of every format: a file is complete or missing, and errors are one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orienteer as ori
from orienteer.errors import ExportError
from orienteer.exports import all_exporters
from orienteer.exports.export import export
from orienteer.exports.exporter import EXPORTERS, MARKER
from orienteer.store.archive import Archive
from orienteer.store.folder import CrawlFolder
from orienteer.store.page_row import PageRow
from orienteer.store.url_tables import UrlTables
from tests.disk_limits import small_disk_at
from tests.exports.crawls import hostile_crawl, plain_crawl
from tests.ready_process import TEST_TIMEOUT_S, ReadyPopen
from tests.search.small_webs import SETTINGS, HandmadeCrawl

pytestmark = pytest.mark.long

FORMATS = sorted(all_exporters())
NEEDS_NO_ARCHIVE = ("atom", "graphml", "edges", "sitemap")


def out_of(format: str, folder: Path) -> Path:
    return folder / f"export{all_exporters()[format].suffixes[0]}"


def everything_in(folder: Path) -> dict[str, bytes]:
    """Return all files, hidden ones too, by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plain_crawl(tmp_path_factory.mktemp("plain") / "crawl").path


@pytest.mark.parametrize("format", FORMATS)
def test_the_default_name_is_that_of_the_folder(
    format: str, crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report = export(crawl, format)
    assert report.files[0] == Path("crawl" + all_exporters()[format].suffixes[0])
    assert report.n_pages == 12
    assert report.size_bytes == sum(map(len, everything_in(tmp_path).values()))
    assert {path.name for path in report.files} == {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize("format", FORMATS)
def test_hostile_pages(format: str, tmp_path: Path) -> None:
    crawl = hostile_crawl(tmp_path / "crawl")
    report = export(crawl.path, format, out_of(format, tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"crawl", *(path.name for path in report.files)}


@pytest.mark.parametrize("format", FORMATS)
def test_an_existing_export_is_replaced_only_with_force(format: str, crawl: Path, tmp_path: Path) -> None:
    out = out_of(format, tmp_path)
    export(crawl, format, out)
    before = everything_in(tmp_path)
    with pytest.raises(ExportError, match=r"^[^\n]* exists already; --force replaces it$"):
        export(crawl, format, out)
    assert everything_in(tmp_path) == before
    export(crawl, format, out, force=True)
    assert everything_in(tmp_path).keys() == before.keys()


def interrupt(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Make every read of pages, records or titles raise this error, after some of them."""

    def spoilt(function: Any) -> Any:
        n_calls = 0

        def call(*arguments: Any) -> Any:
            nonlocal n_calls
            n_calls += 1
            if n_calls > 5:
                raise error
            return function(*arguments)

        return call

    monkeypatch.setattr(Archive, "read_record", spoilt(Archive.read_record))
    monkeypatch.setattr(UrlTables, "of", spoilt(UrlTables.of))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device"), MemoryError()])
@pytest.mark.parametrize("format", FORMATS)
def test_a_failed_export_keeps_the_previous_one(
    format: str, error: BaseException, crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = out_of(format, tmp_path)
    with monkeypatch.context() as spoilt:
        interrupt(spoilt, error)
        with pytest.raises((KeyboardInterrupt, MemoryError, ExportError)):
            export(crawl, format, out)
    assert everything_in(tmp_path) == {}
    assert list(tmp_path.iterdir()) == []
    export(crawl, format, out)
    before = everything_in(tmp_path)
    interrupt(monkeypatch, error)
    with pytest.raises((KeyboardInterrupt, MemoryError, ExportError)):
        export(crawl, format, out, force=True)
    assert everything_in(tmp_path) == before


@pytest.mark.parametrize("format", FORMATS)
def test_a_crawl_without_fetched_pages(format: str, tmp_path: Path) -> None:
    CrawlFolder.create(tmp_path / "crawl", SETTINGS).close()
    with pytest.raises(ori.InputError, match=r"^[^\n]*the crawl has not fetched any page yet; there is nothing to ex"):
        export(tmp_path / "crawl", format, out_of(format, tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["crawl"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_crawl_with_failures_only(format: str, tmp_path: Path) -> None:
    crawl = plain_crawl(tmp_path / "crawl", 2)
    for url in list(crawl.ids):
        crawl.remove(url)
    with pytest.raises(ori.InputError, match="the crawl has not fetched any page yet"):
        export(crawl.path, format, out_of(format, tmp_path))


@pytest.mark.parametrize("format", FORMATS)
def test_a_crawl_without_an_archive(format: str, tmp_path: Path) -> None:
    with CrawlFolder.create(tmp_path / "crawl", SETTINGS) as folder:
        folder.database.urls.add(0, ["http://a.org/0", "http://a.org/1"])
        for page in range(2):
            links = np.array([1 - page], np.uint32)
            folder.database.pages.add(PageRow(page, page, 2, "ok", 200, 1.7e9, title="A", links=links))
        folder.acknowledge()
    try:
        n_pages = export(tmp_path / "crawl", format, out_of(format, tmp_path)).n_pages
    except ori.InputError as error:
        assert "the crawl has no archive" in str(error)
        n_pages = 0
    allowed = {2} if format in NEEDS_NO_ARCHIVE else {0} if format in EXPORTERS.own() else {0, 2}
    assert n_pages in allowed


@pytest.mark.parametrize("format", FORMATS)
def test_export_of_a_running_crawl(format: str, tmp_path: Path) -> None:
    """Another process has the lock of the folder, and unacknowledged writes."""
    crawl = plain_crawl(tmp_path / "crawl", 5)
    with CrawlFolder.open(crawl.path) as folder:
        folder.database.urls.add(5, ["http://a.org/new"])
        folder.database.pages.add(PageRow(5, 5, 2, "ok", 200, 1.7e9))
        assert export(crawl.path, format, out_of(format, tmp_path)).n_pages == 5
        folder.acknowledge()
    with CrawlFolder.open(crawl.path) as folder:
        assert folder.database.history.next_position() == 6


def test_invalid_targets(crawl: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "dir.jsonl").mkdir()
    refusals = {
        ("jsonl", tmp_path / "no" / "x.jsonl"): r"the folder .*no does not exist$",
        ("jsonl", tmp_path / "x.txt"): r"the name of a jsonl export must end in \.jsonl, \.jsonl\.gz, \.jsonl\.zst$",
        ("wacz", tmp_path / "x.zip"): r"the name of a wacz export must end in \.wacz$",
        ("jsonl", tmp_path / "dir.jsonl"): "exists and is no regular file; choose another name$",
        ("jsonl", crawl / "x.jsonl"): "inside the crawl folder, or contains it; choose a path outside of",
        ("markdown", crawl): "inside the crawl folder, or contains it",
        ("markdown", crawl.parent): "inside the crawl folder, or contains it",
        ("markdown", tmp_path / "folder"): rf"a folder that is no export \(no {MARKER} in it\); it is not replaced$",
        ("markdown", tmp_path / "file"): "a file, not a folder; choose another name$",
    }
    for (format, out), message in refusals.items():
        with pytest.raises(ExportError, match=message) as refused:
            export(crawl, format, out, force=True)
        assert "\n" not in str(refused.value)
    assert (tmp_path / "folder" / "mine.txt").read_text() == "mine"
    assert (tmp_path / "file").read_text() == "mine"


def test_an_existing_side_file(crawl: Path, tmp_path: Path) -> None:
    (tmp_path / "x.links.parquet").write_text("mine")
    with pytest.raises(ExportError, match=r"x\.links\.parquet exists already"):
        export(crawl, "parquet", tmp_path / "x.parquet")


def test_unknown_names(crawl: Path, tmp_path: Path) -> None:
    with pytest.raises(ori.InputError, match=r"no export format named 'parqet'; did you mean 'parquet'\? \(choices: a"):
        export(crawl, "parqet", tmp_path / "x.parquet")
    with pytest.raises(ori.InputError, match="no setting of jsonl named 'base'"):
        export(crawl, "jsonl", tmp_path / "x.jsonl", base="http://a.org/")
    with pytest.raises(ori.OrienteerError, match="no such crawl folder"):
        export(tmp_path / "nothing", "jsonl", tmp_path / "x.jsonl")
    with pytest.raises(ori.InputError, match=r"^'http://\[' is no name of a host$"):
        export(crawl, "jsonl", tmp_path / "x.jsonl", hosts="http://[")


def test_an_empty_folder_is_replaced(crawl: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert export(crawl, "markdown", tmp_path / "out").n_pages == 12
    assert (tmp_path / "out" / MARKER).is_file()


# -- disks ------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A tiny disk in memory, on which no export fits; skips with the reason if it cannot be mounted."""
    with small_disk_at(tmp_path / "disk", "40k") as disk:
        yield disk


@pytest.fixture(scope="module")
def large_crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that is larger than that disk in every format."""
    crawl = HandmadeCrawl(tmp_path_factory.mktemp("large") / "crawl")
    name = "x" * 500
    urls = [f"http://a.org/{name}/{k}" for k in range(100)]
    links = {url: dict.fromkeys(urls[k : k + 3], "") for k, url in enumerate(urls)}
    crawl.add({url: f"<title>{k}</title><p>{os.urandom(500).hex()}" for k, url in enumerate(urls)}, links)
    return crawl.path


@pytest.mark.parametrize("format", sorted(set(FORMATS) - {"parquet"}))
def test_a_full_disk(format: str, small_disk: Path, large_crawl: Path) -> None:
    out = out_of(format, small_disk)
    message = r"^the disk is full: [^\n]* cannot be written; no partial files are left$"
    with pytest.raises(ExportError, match=message):
        export(large_crawl, format, out)
    assert list(small_disk.iterdir()) == []
    subprocess.run(["mount", "-o", "remount,size=20m", small_disk], check=True)
    assert export(large_crawl, format, out).n_pages == 100


def test_a_full_disk_and_parquet(small_disk: Path, large_crawl: Path) -> None:
    """The previous export stays."""
    (small_disk / "x.parquet").write_bytes(b"old")
    (small_disk / "filler").write_bytes(bytes(30_000))
    with pytest.raises(ExportError, match=r"^the disk is full: [^\n]*x.parquet cannot be written"):
        export(large_crawl, "parquet", small_disk / "x.parquet", force=True)
    assert everything_in(small_disk).keys() == {"x.parquet", "filler"}
    assert (small_disk / "x.parquet").read_bytes() == b"old"


def test_a_read_only_disk(small_disk: Path, crawl: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(ExportError, match="Read-only file system; nothing of it was written"):
        export(crawl, "jsonl", small_disk / "x.jsonl")


def test_a_process_that_is_killed(tmp_path: Path, large_crawl: Path) -> None:
    """The previous export is unchanged, or the new one is complete."""
    export(large_crawl, "jsonl", tmp_path / "whole.jsonl")
    out = tmp_path / "x.jsonl"
    for wait_s in (0.0, 0.02, 0.05):
        out.write_text("old")
        command = [sys.executable, "-m", "orienteer", "export", large_crawl, "-f", "jsonl", "-o", out, "--force"]
        with ReadyPopen(command, stdout=subprocess.DEVNULL) as process:
            until = time.monotonic() + TEST_TIMEOUT_S
            while process.poll() is None and not list(tmp_path.glob(".new-*")) and time.monotonic() < until:
                time.sleep(0.001)
            time.sleep(wait_s)
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
        assert out.read_bytes() in (b"old", (tmp_path / "whole.jsonl").read_bytes())
    export(large_crawl, "jsonl", out, force=True)
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
