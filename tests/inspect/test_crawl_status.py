"""Crawl folders made by hand, and their status."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orienteer.errors import CrawlFolderError
from orienteer.inspect.crawl_status import HostPages, crawl_status
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.settings import CrawlSettings, ScopeSettings
from orienteer.pages.states import PageState
from orienteer.store.folder import CrawlFolder
from orienteer.store.lock import holder_of
from orienteer.store.page_row import PageRow
from orienteer.store.record import ArchivedResponse
from tests.conftest import golden_folder

PLAN = CrawlPlan(CrawlSettings(seeds=("http://a.test/",), until=0.9), ScopeSettings("web"))
URLS = [
    "http://a.test/",
    "http://b.test/",
    "http://a.test/x",
    "http://a.test/y",
    "http://c.test:81/",
    "http://a.test/z",
]
CERTIFICATE = {"lower": 0.5, "upper": 0.9, "blocked": 0.1, "frontier": 0.3, "unsettled": 0.1}


def filled(path: Path) -> CrawlFolder:
    """A crawl that knows six URLs, four of them done."""
    folder = CrawlFolder.create(path, PLAN.to_toml())
    database = folder.database
    database.urls.add(0, URLS)
    position = folder.archive.append(
        ArchivedResponse("http://a.test/", 1000.0, b"HTTP/1.1 200 OK\r\n\r\n", b"<p>", "127.0.0.1", "http/1.1")
    )
    links = np.array([1, 2, 3], np.uint32)
    database.pages.add(
        PageRow(0, 0, PageState.FETCHED, "ok", 200, 1000.0, *position, b"d", 3, "text/html", title="A", links=links)
    )
    database.pages.add(PageRow(2, 1, PageState.FETCHED, "ok", 200, 1001.0, duplicate_of=0))
    database.pages.add(PageRow(3, 2, PageState.FAILED, "http 404", 404, 1002.0))
    database.pages.add(PageRow(1, 3, PageState.BLOCKED, "robots.txt", 0, 1003.0))
    folder.acknowledge()
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[CrawlFolder]:
    with filled(tmp_path / "crawl") as folder:
        yield folder


def figures(**changed: Any) -> dict[str, Any]:
    """As of the moment that `filled` ends with."""
    counts = {"n_fetched": 2, "n_failed": 1, "n_blocked": 1, "n_frontier": 2}
    return {"epoch": 0, "position": 4, "certificate": CERTIFICATE} | counts | changed


def n_frontier(path: Path) -> int:
    found = crawl_status(path).figures
    assert found is not None
    return found.n_frontier


def test_pages_are_counted_by_state_outcome_and_host(folder: CrawlFolder) -> None:
    found = crawl_status(folder.path)
    assert found.n_urls == 6
    assert found.outcomes(PageState.FETCHED) == {"ok": 2}
    assert found.outcomes(PageState.FAILED) == {"http 404": 1}
    assert found.outcomes(PageState.BLOCKED) == {"robots.txt": 1}
    assert (found.n_duplicates, found.n_near_duplicates) == (1, 0)
    assert found.hosts == (HostPages("a.test", 2, 0, 0, 1, 0, 4), HostPages("b.test", 0, 0, 0, 0, 1, 1))
    assert (found.n_hosts, found.n_hosts_known) == (2, 3)
    assert (found.first_time, found.last_time) == (1000.0, 1003.0)
    assert found.plan == PLAN


def test_only_the_largest_hosts_are_named(folder: CrawlFolder) -> None:
    found = crawl_status(folder.path, max_hosts=1)
    assert [host.host for host in found.hosts] == ["a.test"]
    assert found.n_hosts == 2


def test_sizes_are_those_of_the_files(folder: CrawlFolder) -> None:
    found = crawl_status(folder.path)
    assert found.archive_bytes == sum(file.stat().st_size for file in (folder.path / "archive").iterdir())
    assert found.database_bytes >= (folder.path / "crawl.db").stat().st_size


def test_the_size_of_a_folder_is_that_of_du(folder: CrawlFolder) -> None:
    (folder.path / "index").mkdir()
    (folder.path / "index" / "postings").write_bytes(bytes(100_000))
    (folder.path / "again").hardlink_to(folder.path / "index" / "postings")
    (folder.path / "sparse").touch()
    os.truncate(folder.path / "sparse", 1 << 30)
    du = subprocess.run(["du", "-sk", folder.path], capture_output=True, text=True, check=True).stdout
    assert crawl_status(folder.path).folder_bytes == 1024 * int(du.split()[0])


def test_a_crawl_is_running_while_its_folder_is_open(tmp_path: Path) -> None:
    path = tmp_path / "crawl"
    with filled(path):
        assert crawl_status(path).holder == os.getpid()
        (path / "crawl.lock").write_text("")
        assert crawl_status(path).holder == 0
    assert crawl_status(path).holder is None
    (path / "crawl.lock").unlink()
    assert holder_of(path) is None


def test_unacknowledged_events_are_not_counted(folder: CrawlFolder) -> None:
    folder.database.urls.add(6, ["http://d.test/"])
    folder.database.pages.add(PageRow(5, 4, PageState.FAILED, "http 410", 410, 1004.0))
    found = crawl_status(folder.path)
    assert found.n_urls == 6
    assert found.n_pages(PageState.FAILED) == 1


def test_the_last_figures_come_with_their_certificate(folder: CrawlFolder) -> None:
    assert crawl_status(folder.path).certificate is None
    folder.database.meta.set("figures", figures())
    folder.acknowledge()
    found = crawl_status(folder.path)
    assert found.certificate is not None
    assert (found.certificate.lower, found.certificate.blocked) == (0.5, 0.1)
    assert found.figures_are_current
    folder.database.meta.set("figures", figures(position=3))
    folder.acknowledge()
    assert not crawl_status(folder.path).figures_are_current


def test_the_newest_figures_count(folder: CrawlFolder) -> None:
    folder.database.meta.set("figures", figures(n_frontier=7))
    folder.acknowledge()
    folder.write_report({"stopped_because": "coverage", "figures": figures(position=3, n_frontier=9)})
    assert n_frontier(folder.path) == 7
    folder.write_report({"stopped_because": "coverage", "figures": figures(n_frontier=5)})
    assert n_frontier(folder.path) == 5


def test_without_figures_the_report_has_them(folder: CrawlFolder) -> None:
    folder.write_report({"stopped_because": "coverage", "goal_reached": True, "figures": figures()})
    found = crawl_status(folder.path)
    assert found.certificate is not None
    assert found.report is not None
    assert found.report_is_current
    folder.database.pages.add(PageRow(5, 4, PageState.FAILED, "http 410", 410, 1004.0))
    folder.acknowledge()
    assert not crawl_status(folder.path).report_is_current


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"figures": 7}', '{"figures": {"certificate": {}}}', "\udcff"]
)
def test_a_report_that_cannot_be_read_is_none(folder: CrawlFolder, text: str) -> None:
    (folder.path / "report.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    found = crawl_status(folder.path)
    assert found.certificate is None
    assert not found.report_is_current


def test_what_version_0_2_wrote_has_the_present_keys(tmp_path: Path) -> None:
    found = crawl_status(golden_folder("crawl-0.2.0-rendered", tmp_path))
    assert found.figures is not None
    assert found.report is not None
    written = json.loads((found.folder / "report.json").read_text())
    assert {"n_workers_died", "n_hosts_resting", "left_s"} <= set(written["figures"])
    report, written_figures = found.report, written["figures"]
    assert (report.figures.n_hosts_backing_off, report.figures.eta_s) == (
        written_figures["n_hosts_resting"], written_figures["left_s"],
    )  # fmt: skip
    assert [worker.n_responses for worker in report.figures.workers] == [
        worker["n_answers"] for worker in written_figures["workers"]
    ]
    assert report.figures.workers
    assert report.rendered.n_requests == written["rendered"]["n_parts"] > 0
    assert report.assets.n_assets == written["parts"]["n_parts"]
    assert report.goal_reached == written["goal_reached"]


def test_the_facts_are_json(folder: CrawlFolder) -> None:
    folder.database.meta.set("figures", figures())
    folder.acknowledge()
    output = json.loads(json.dumps(crawl_status(folder.path).as_dict()))
    assert output["is_running"]
    assert output["settings"]["crawl"]["until"] == 0.9
    assert output["pages"] == {"fetched": 2, "redirects": 0, "skipped": 0, "failed": 1, "blocked": 1}
    assert output["outcomes"]["failed"] == {"http 404": 1}
    kinds = {"n_fetched": 2, "n_redirects": 0, "n_skipped": 0, "n_failed": 1, "n_blocked": 0, "n_known": 4}
    assert output["hosts"][0] == {"host": "a.test"} | kinds
    assert output["figures"]["certificate"]["lower"] == 0.5


def test_a_crawl_that_has_not_begun_has_an_empty_status(tmp_path: Path) -> None:
    with CrawlFolder.create(tmp_path / "new", PLAN.to_toml()):
        found = crawl_status(tmp_path / "new")
    assert (found.n_urls, found.groups, found.hosts, found.first_time) == (0, (), (), None)


def test_other_folders_are_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "nothing", tmp_path / "file"):
        with pytest.raises(CrawlFolderError, match="crawl folder") as caught:
            crawl_status(path)
        assert "\n" not in str(caught.value)


def test_nothing_is_written(tmp_path: Path) -> None:
    filled(tmp_path).close()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    crawl_status(tmp_path)
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert {path.name for path in after} - {path.name for path in before} <= {"crawl.db-wal", "crawl.db-shm"}
    assert all(after[path] == time for path, time in before.items())
