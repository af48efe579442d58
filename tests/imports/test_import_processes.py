"""An import with several processes gives the same result as with one."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import orienteer as ori
from orienteer.errors import SkippedPageWarning
from orienteer.fetch.settings import FetchSettings
from orienteer.imports import import_crawl as importing
from orienteer.imports.importer import ReadResult, ReadTask, archive_reader
from orienteer.workers.fetch_result import ReadSettings
from tests.imports.made_collections import digest, record, response, wat, write
from tests.live.live_crawls import StoredCrawl
from tests.processes.jobs import children

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("ready_child_processes")]

A, B = "http://a.test", "http://b.test"
_BY_CHANCE = ("archive_offset", "archive_bytes")  # records have ids of their own, and are packed with them


@contextmanager
def deadly_archive_reader(
    folder: Path, settings: FetchSettings, reading: ReadSettings
) -> Iterator[Callable[[ReadTask], ReadResult]]:
    """The usual reader, but a page with "deadly" in its URL kills the process that reads it."""
    with archive_reader(folder, settings, reading) as read:

        def read_or_die(wanted: ReadTask) -> ReadResult:
            if "deadly" in wanted.request.url:
                os.kill(os.getpid(), signal.SIGKILL)
            return read(wanted)

        yield read_or_die


def mixed(n_pages: int, rng: random.Random) -> list[bytes]:
    """Return records of linked pages, duplicates, redirects, errors, unlinked pages, other hosts, revisits, images."""
    records = []
    for k in range(n_pages):
        hosts = [A if rng.random() < 0.8 else B for _ in range(4)]
        links = "".join(f"<a href={host}/{rng.randrange(2 * n_pages)}>to</a> " for host in hosts)
        words = " ".join(f"word{rng.randrange(300)}" for _ in range(60)) if k % 9 else "the same on many pages"
        url, html = f"{A if k % 5 else B}/{k}", f"<title>Page {k}</title><p>{words} {links}"
        match k % 12:
            case 3:
                where = f"Location: {A}/{rng.randrange(n_pages)}"
                records.append(response(url, "", where, status="301 Moved Permanently"))
            case 5:
                records.append(response(url, "", status="404 Not Found"))
            case 7:
                records.append(response(url, b"\x89PNG", "Content-Type: image/png"))
            case _:
                records.append(response(url, html))
        if k % 40 == 1:
            body = html.encode()
            stated = {"WARC_Payload_Digest": digest(body), "date": "2024-06-01T00:00:00Z"}
            records.append(record("revisit", f"{A}/again{k}", b"HTTP/1.1 200 OK\r\n\r\n", **stated))
    return records


def held(folder: Path) -> dict[str, Any]:
    """Return the rows of the database, without values that differ between imports."""
    found = {}
    with closing(sqlite3.connect(folder / "crawl.db", isolation_level=None)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            cursor = database.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            compared = [k for k, name in enumerate(names) if name not in _BY_CHANCE]
            found[table] = [tuple(row[k] for k in compared) for row in cursor]
    database.close()
    found.pop("event")  # when it was
    found["meta"] = [row for row in found["meta"] if row[0] not in ("figures", "archive_end")]
    return found


@pytest.mark.parametrize("scope", ["host", "web"])
def test_the_result_does_not_depend_on_processes(tmp_path: Path, fresh_rng: random.Random, scope: str) -> None:
    source = write(tmp_path / "x.warc.gz", mixed(200, fresh_rng))
    expected, orders, proved = [], [], []
    for n in (1, 2, 3):
        folder = tmp_path / f"crawl{n}"
        report = ori.import_crawl(source, folder, seeds=f"{A}/1", scope=scope, processes=n)
        assert report.n_unlinked > 0
        assert (report.n_outside > 0) == (scope == "host")
        expected.append((held(folder), report.n_fetched, report.n_failed, report.n_frontier))
        assert report.certificate is not None
        proved.append((report.certificate.lower, report.certificate.upper))
        orders.append(StoredCrawl(folder).order)
    assert expected == [expected[0]] * 3
    assert orders == [orders[0]] * 3
    # Figures are computed now and then, and the order of additions depends on how often.
    assert all(bounds == pytest.approx(proved[0], abs=1e-8) for bounds in proved)
    assert not children(os.getpid())


def test_with_a_hook_and_wat_files(tmp_path: Path, fresh_rng: random.Random) -> None:
    """The main process runs hooks, and reads pages that are not in the archive."""
    hook = tmp_path / "links.py"
    hook.write_text(
        "import orienteer as ori\n\n"
        "def on_page(page):\n"
        "    return ori.Added(links=[page.url + '/more'], tags=['long' if len(page.html) > 700 else 'short'])\n"
    )
    sources = [
        write(tmp_path / "x.warc.gz", mixed(120, fresh_rng)),
        write(tmp_path / "x.wat.gz", [wat(f"{A}/wat{k}", [f"{A}/{k}"]) for k in range(30)]),
    ]
    found = []
    for n in (1, 2):
        folder = tmp_path / f"crawl{n}"
        ori.import_crawl(sources, folder, seeds=f"{A}/1", hooks=[hook], processes=n)
        found.append(held(folder))
    assert found[0] == found[1]
    assert found[0]["added"]


def test_a_page_that_crashes_its_reader_is_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = "".join(f"<a href=/{k}>x</a>" for k in range(50)) + "<a href=/deadly>y</a>"
    records = [response(f"{A}/", home), *(response(f"{A}/{k}", f"<p>word{k}") for k in range(50))]
    source = write(tmp_path / "x.warc.gz", [*records, response(f"{A}/deadly", "<p>nightshade")])
    monkeypatch.setattr(importing, "archive_reader", deadly_archive_reader)
    with pytest.warns(SkippedPageWarning, match=r"^http://a\.test/deadly: skipped, .*killed by SIGKILL"):
        report = ori.import_crawl(source, tmp_path / "crawl", seeds=f"{A}/", processes=2)
    assert report.n_fetched == 51
    rows = StoredCrawl(tmp_path / "crawl").rows
    assert {url: row.outcome for url, row in rows.items() if row and row.outcome != "ok"} == {
        f"{A}/deadly": "unreadable"
    }
