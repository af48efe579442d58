"""Several processes build the same index as a single one. Killed processes are tested with the pool."""

from __future__ import annotations

import os
import sqlite3
import zlib
from contextlib import closing
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
from tests.processes.jobs import children
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
    with closing(sqlite3.connect(folder / "index" / "pages.db", isolation_level=None)) as database:
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


def test_an_exception_ends_all_processes(tmp_path: Path) -> None:
    crawl = filled(tmp_path / "crawl", 100).path

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
