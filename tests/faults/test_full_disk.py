"""A disk that is full, files that may not grow, a folder that may not be written: the crawl ends with one line, nothing
acknowledged is lost, and the same command goes on when there is room."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from orienteer.errors import CrawlFolderError
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.figures import ProgressWatch
from orienteer.live.session import open_crawl, write_report
from orienteer.store.folder import CrawlFolder
from tests.disk_limits import NO_BYTECODE, limit_files_of, small_disk_at
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import host_and_target
from tests.faults.crawl_process import CrawlCommand, acknowledged, check_archive, outcomes
from tests.faults.kills import until
from tests.faults.webs import RoughWeb
from tests.live.live_crawls import crawled
from tests.store.small_crawls import add_pages, check_pages

pytestmark = pytest.mark.slow

FULL = "orienteer: the disk is full: "
COME_AGAIN = "nothing acknowledged is lost, run the same command again when there is room\n"


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with FakeWeb(RoughWeb()) as web:
        yield web


@pytest.fixture(scope="module")
def whole(web: FakeWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a crawl that had room enough."""
    folder = tmp_path_factory.mktemp("whole") / "crawl"
    crawled(web, web.site.seeds, folder, settings={"crawl": {"robots": True}})
    return folder


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a megabyte in memory, or a skip that says what is missing."""
    with small_disk_at(tmp_path / "disk", "1m") as disk:
        yield disk


def remount(disk: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", disk], check=True)


def crawl_of(web: FakeWeb, folder: Path) -> CrawlCommand:
    return CrawlCommand(web.address, web.site.seeds, folder)


class Safe:
    """What is acknowledged now, and must be for ever."""

    def __init__(self, command: CrawlCommand, web: FakeWeb) -> None:
        self._command, self._web = command, web
        self._rows = acknowledged(command.folder)
        self._n_requests = len(web.requests)

    def __len__(self) -> int:
        return len(self._rows)

    def check(self) -> None:
        now = acknowledged(self._command.folder)
        assert {url: now.get(url) for url in self._rows} == self._rows
        requested = {(host, target) for _, host, target in self._web.requests[self._n_requests :]}
        assert requested.isdisjoint(map(host_and_target, self._rows))


def check_whole(command: CrawlCommand, whole: Path) -> None:
    assert outcomes(command.folder) == outcomes(whole)
    check_archive(command.folder)


def test_a_disk_that_fills_up(small_disk: Path, web: FakeWeb, whole: Path) -> None:
    command = crawl_of(web, small_disk / "crawl")
    for n_before in (0, 20):  # once more while it is full
        said = command.refused()
        assert said.startswith(FULL)
        assert said.endswith(COME_AGAIN)
        safe = Safe(command, web)
        assert len(safe) > n_before
    remount(small_disk, "size=100m")
    command.run()
    safe.check()
    check_whole(command, whole)


@pytest.mark.parametrize("free_pages", [0, 1, *range(2, 48, 5)])
def test_a_disk_with_room_for_a_part_of_a_new_folder(small_disk: Path, free_pages: int) -> None:
    """Leftovers do no harm once there is space again."""
    leave_free(small_disk, free_pages)
    try:
        CrawlFolder.open_or_create(small_disk / "crawl", "settings").close()
    except CrawlFolderError as error:
        assert str(error).startswith("the disk is full: ")
        assert "\n" not in str(error)
    remount(small_disk, "size=100m")
    with CrawlFolder.open_or_create(small_disk / "crawl", "settings") as folder:
        add_pages(folder, 0, 3)
        check_pages(folder, 3)
    assert [path.name for path in (small_disk / "crawl").iterdir() if path.name.startswith(".new-")] == []


def test_a_disk_that_is_full_at_the_very_end(small_disk: Path, web: FakeWeb, whole: Path) -> None:
    """All pages are fetched, but there is no room for the checkpoint, or for the report after it."""
    folder = small_disk / "crawl"
    remount(small_disk, "size=100m")
    command = crawl_of(web, folder)
    command.run()
    safe = Safe(command, web)

    def refusal(free_pages: int) -> str:
        """What is said at the end with so many free pages; nothing if they are enough."""
        (folder / "checkpoints" / "latest.npz").unlink(missing_ok=True)
        (folder / "report.json").unlink(missing_ok=True)
        leave_free(small_disk, free_pages)
        try:
            go_on(folder)
        except CrawlFolderError as error:
            return str(error)
        finally:
            (small_disk / "filler").unlink()
        return ""

    refusals = {4: refusal(4)}  # pages: too few for the checkpoint
    too_few, enough = 4, 1000
    while enough - too_few > 1:  # find the free pages that are just enough
        free_pages = (too_few + enough) // 2
        refusals[free_pages] = refusal(free_pages)
        too_few, enough = (free_pages, enough) if refusals[free_pages] else (too_few, free_pages)
    safe.check()
    refused = list(filter(None, refusals.values()))
    assert all(said.startswith("the disk is full: ") and "\n" not in said for said in refused)
    assert "report.json cannot grow" in refusals[too_few]
    assert "latest.npz cannot grow" in refusals[4]
    leave_free(small_disk, 4)
    assert "latest.npz cannot grow" in command.refused()
    (small_disk / "filler").unlink()
    command.run()
    safe.check()
    check_whole(command, whole)


@pytest.mark.parametrize("max_file_bytes", [60_000, 400_000])
def test_files_that_may_not_grow(max_file_bytes: int, tmp_path: Path, web: FakeWeb, whole: Path) -> None:
    """Sooner or later in the crawl. Unlike a full disk, this can be had without privileges."""
    command = crawl_of(web, tmp_path / "crawl")
    with command.started(environment=NO_BYTECODE) as process:
        limit_files_of(process.pid, max_file_bytes)
        code, said = process.ended()
    assert code == 2
    assert said.count("\n") == 1
    assert "nothing acknowledged is lost, run the same command again once that is fixed" in said
    safe = Safe(command, web)  # sooner, perhaps nothing yet
    assert len(safe) > 0 or max_file_bytes < 100_000
    command.run()
    safe.check()
    check_whole(command, whole)


def test_a_disk_that_is_read_only(small_disk: Path, web: FakeWeb, whole: Path) -> None:
    """Since the crawl was killed; with a writer at work no disk becomes read-only."""
    remount(small_disk, "size=100m")
    command = crawl_of(web, small_disk / "crawl")
    with command.started() as process:
        n_requests = len(web.requests)
        assert until(process, lambda: len(web.requests) > n_requests + 100)
    safe = Safe(command, web)
    assert len(safe) > 0
    remount(small_disk, "ro")
    assert "may not be written (Read-only file system)" in command.refused()
    safe.check()
    remount(small_disk, "rw")
    command.run()
    safe.check()
    check_whole(command, whole)


def test_a_folder_that_becomes_read_only(tmp_path: Path, web: FakeWeb, whole: Path) -> None:
    """What is open may still be written, but at its end the crawl has no place for its checkpoint."""
    is_root = os.geteuid() == 0
    if is_root and shutil.which("setpriv") is None:
        pytest.skip("root may write anywhere, and setpriv is not here to take that away")
    unprivileged = ["setpriv", "--bounding-set", "-dac_override"] if is_root else []
    command = crawl_of(web, tmp_path / "crawl")
    folders = [command.folder, command.folder / "archive"]
    with command.started(unprivileged) as process:
        assert until(process, lambda: any(folders[1].glob("*.warc.gz")))
        for folder in folders:
            folder.chmod(0o555)
        code, said = process.ended()
    assert code == 2
    assert said.count("\n") == 1
    assert "checkpoints" in said
    assert "may not be written (Permission denied); write access to the crawl folder is needed" in said
    safe = Safe(command, web)
    assert len(safe) > 0
    for folder in folders:
        folder.chmod(0o755)
    command.run()
    safe.check()
    check_whole(command, whole)


def leave_free(disk: Path, n_pages: int) -> None:
    """Fill the disk but for so many pages of 4 KiB."""
    n_bytes = shutil.disk_usage(disk).free - n_pages * 4096
    (disk / "filler").write_bytes(bytes(max(n_bytes, 0)))


def go_on(folder: Path) -> None:
    """The crawl in this folder once more, in this process."""
    plan = CrawlPlan.parse((folder / "crawl.toml").read_text(), "crawl.toml")
    with open_crawl(folder, plan) as live:
        write_report(live.ledger, ProgressWatch(live.intake, live), live.run())
