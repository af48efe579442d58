"""Several processes build the same index as a single one, even if some of them are killed."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orienteer.cli.interruption import Interrupted
from orienteer.errors import CrawlFolderError, SkippedPageWarning
from orienteer.search import indexing
from orienteer.search.indexing import update_index
from orienteer.search.search_index import search
from tests.processes.jobs import children, is_alive
from tests.ready_process import ReadyPopen
from tests.search.deadly import deadly
from tests.search.small_webs import HandmadeCrawl, page
from tests.search.test_indexing import answers, links, many

pytestmark = pytest.mark.usefixtures("ready_child_processes")

GERMAN = "Die Öffnungszeiten des Museums stehen auf der Seite der Stadt und ändern sich an Feiertagen."
FRENCH = "Les horaires du musée sont indiqués sur la page de la ville et changent les jours fériés."


def filled(path: Path, n_pages: int) -> HandmadeCrawl:
    """Build a crawl with and without languages, noindex pages, redirects, and pages that are not HTML."""
    crawl = HandmadeCrawl(path)
    pages = many(n_pages)
    urls = list(pages)
    crawl.add(pages, links(urls))
    strange = {f"http://h2.org/d{k}": page(f"Museum{k}", GERMAN if k % 2 else FRENCH) for k in range(40)}
    crawl.add(strange, {"http://h2.org/d7": {urls[3]: "fruit, see apple"}}, language="")
    crawl.add({"http://h1.org/hidden": page("Hidden", "apple")}, links(["http://h1.org/hidden", *urls]), noindex=True)
    crawl.add({"http://h1.org/melon": "not gzip"}, content_type="application/zip")
    crawl.add({"http://h1.org/plain": "fruit \udc80 tree"}, content_type="text/plain", language="")
    crawl.redirect("http://h0.org/old", urls[0])
    return crawl


def unpacked(value: Any) -> Any:
    """Decompress a value: the compressed bytes of equal texts may differ."""
    return zlib.decompress(value) if isinstance(value, bytes) and value[:2] == b"x^" else value


def contents(folder: Path) -> dict[str, Any]:
    """Return the contents of an index: the rows of its database, its columns, and results of searches."""
    with sqlite3.connect(folder / "index" / "pages.db") as database:
        rows = {
            table: [tuple(map(unpacked, row)) for row in database.execute(f"SELECT * FROM {table}")]
            for table in ("page", "anchor")
        }
    database.close()
    with np.load(folder / "index" / "columns.npz") as columns:
        arrays = {name: (columns[name].shape, columns[name].tobytes()) for name in columns.files}
    return {**rows, **arrays, **answers(folder)}


@pytest.mark.slow
def test_the_index_does_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    crawl = filled(tmp_path / "crawl", 150)
    expected: dict[str, Any] = {}
    for n_processes in (1, 2, 3):
        report = update_index(crawl.path, rebuild=True, processes=n_processes)
        assert (report.n_read, report.n_skipped) == (193, 0)
        expected = expected or contents(crawl.path)
        assert contents(crawl.path) == expected
    assert {row[5] for row in expected["page"]} >= {"en", "de", "fr"}


def test_changes_are_read_by_several_processes(tmp_path: Path) -> None:
    crawl = filled(tmp_path / "crawl", 100)
    update_index(crawl.path, processes=2)
    crawl.add({url: html for url, html in many(100, "changed").items() if url.endswith("5")})
    crawl.remove("http://h1.org/4")
    report = update_index(crawl.path, processes=2, max_deleted_share=0)
    assert (report.n_read, report.n_removed) == (10, 1)
    grown = contents(crawl.path)
    update_index(crawl.path, rebuild=True, processes=1)
    assert contents(crawl.path) == grown


@pytest.mark.slow
def test_killed_children_change_nothing(tmp_path: Path, fresh_rng: random.Random) -> None:
    """At each report of progress a reading process is killed with probability 0.7, and at the first for certain."""
    crawl = filled(tmp_path / "crawl", 300)
    killed: list[int] = []

    def kill(stage: str, done: int, total: int) -> None:
        is_time = stage == "reading pages" and (not killed or fresh_rng.random() < 0.7)
        if is_time and (found := children(os.getpid())):
            killed.append(fresh_rng.choice(found))
            os.kill(killed[-1], signal.SIGKILL)

    report = update_index(crawl.path, processes=2, progress=kill)
    assert killed
    assert (report.n_read, report.n_skipped) == (343, 0)
    expected = contents(crawl.path)
    update_index(crawl.path, rebuild=True, processes=1)
    assert contents(crawl.path) == expected


def test_a_page_that_kills_is_skipped_counted_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl, url = filled(tmp_path / "crawl", 60), "http://h1.org/deadly"
    update_index(crawl.path, processes=1)
    without = contents(crawl.path)
    crawl.add({url: page("Deadly", "nightshade")})
    update_index(crawl.path, processes=1)
    assert search(crawl.path, "nightshade").total == 1
    crawl.add({url: page("Deadly", "nightshade, changed")})
    with monkeypatch.context() as patch:
        patch.setattr(indexing, "index_reading", partial(deadly, "orienteer.search.page_reading:index_reading"))
        warning = rf"^{url}: skipped, since the processes that read it crashed \(killed by SIGKILL\)$"
        with pytest.warns(SkippedPageWarning, match=warning):
            report = update_index(crawl.path, processes=2, max_deleted_share=0)
    assert (report.n_read, report.n_skipped, report.n_removed) == (0, 1, 1)
    assert search(crawl.path, "nightshade").total == 0
    found = contents(crawl.path)
    assert {table: found[table] for table in ("page", "anchor")} == {
        table: without[table] for table in ("page", "anchor")
    }
    assert update_index(crawl.path, processes=2).n_added == 1  # the next time it is tried again
    assert search(crawl.path, "nightshade").total == 1


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder without an index, to be copied, and the contents of an index built by one process."""
    folder = filled(tmp_path_factory.mktemp("once") / "crawl", 100).path
    shutil.copytree(folder, indexed := folder.with_name("indexed"))
    update_index(indexed, processes=1)
    return folder, contents(indexed)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_after_a_signal_no_process_is_left_and_indexing_can_continue(
    tmp_path: Path, once: tuple[Path, dict[str, Any]], how: signal.Signals
) -> None:
    crawl = shutil.copytree(once[0], tmp_path / "crawl")
    command = [sys.executable, "-m", "orienteer", "index", crawl, "--processes", "2"]
    with ReadyPopen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while len(started := children(process.pid)) < 2:
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(how)
        process.wait()
        assert process.stderr is not None
        errors = process.stderr.read()
    assert "Traceback" not in errors
    assert process.returncode != 0
    while any(map(is_alive, started)):
        time.sleep(0.02)
    update_index(crawl, processes=1, max_deleted_share=0)
    assert contents(crawl) == once[1]


def test_an_exception_ends_all_processes(tmp_path: Path, once: tuple[Path, dict[str, Any]]) -> None:
    crawl = shutil.copytree(once[0], tmp_path / "crawl")

    def interrupt(stage: str, done: int, total: int) -> None:
        if children(os.getpid()):
            raise Interrupted

    with pytest.raises(Interrupted):
        update_index(crawl, processes=2, progress=interrupt)
    assert not children(os.getpid())
    assert update_index(crawl, processes=1).n_pages > 100


def test_a_damaged_archive_is_one_line(tmp_path: Path) -> None:
    crawl = filled(tmp_path / "crawl", 50)
    (archive,) = (crawl.path / "archive").iterdir()
    content = bytearray(archive.read_bytes())
    content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
    archive.write_bytes(content)
    lines = set()
    for n_processes in (1, 2):
        with pytest.raises(CrawlFolderError, match=r"no page in .*orienteer repair") as caught:
            update_index(crawl.path, rebuild=True, processes=n_processes)
        lines.add(str(caught.value))
    assert len(lines) == 1
