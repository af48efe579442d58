"""Stopping a crawl and going on with it from beside: nobody else's process is touched, and what fails is one line."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orienteer.errors import CrawlFolderError, InputError, LibraryError
from orienteer.fake_web.server import FakeWeb
from orienteer.inspect.folder_status import folder_status
from orienteer.library.one_crawl import StartedCrawl
from orienteer.live.control import ask_to_stop, resume_refusal
from orienteer.store.folder import CrawlFolder
from orienteer.store.lock import FolderLock, holder_of
from tests.cli.live_process import wait_until
from tests.live.live_crawls import crawled
from tests.web.slow_crawl import SlowCrawl, slow_web


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with slow_web() as web:
        yield web


def refused(path: Path) -> str:
    with pytest.raises(CrawlFolderError) as caught:
        ask_to_stop(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_crawl_is_stopped_as_by_ctrl_c_and_gone_on_with(web: FakeWeb, tmp_path: Path) -> None:
    crawl = SlowCrawl(web, tmp_path / "crawl")
    with crawl.running() as process:
        assert ask_to_stop(crawl.folder) == process.pid
        code, said = process.ended()
    assert (code, said) == (3, "")
    before = folder_status(crawl.folder)
    assert (before.report or {})["stopped_because"] == "interrupted"
    assert refused(crawl.folder) == f"{crawl.folder}: no crawl is running there"
    assert resume_refusal(before) is None
    started = StartedCrawl(crawl.folder)
    wait_until(lambda: holder_of(crawl.folder) == started.process)
    assert started.trouble() is None
    assert os.getsid(started.process) not in (os.getsid(0), 0), "it lives on when we are gone"
    wait_until(lambda: folder_status(crawl.folder).position > before.position)
    assert ask_to_stop(crawl.folder) == started.process
    wait_until(lambda: started.has_ended)
    assert started.trouble() is None
    said = list((crawl.folder / "jobs").glob("*.txt"))
    assert len(said) == 1
    assert "Traceback" not in said[0].read_text()


def test_a_process_that_does_not_hold_the_lock_is_left_alone(tmp_path: Path) -> None:
    """The number in the lock file is that of somebody else, while the folder is locked."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        lock = FolderLock(tmp_path)
        try:
            (tmp_path / "crawl.lock").write_text(f"{other.pid}\n")
            assert "is not the one that crawls there; nothing was done" in refused(tmp_path)
        finally:
            lock.release()
        assert other.poll() is None
        other.communicate(b"\n")
    assert other.returncode == 0


def test_who_may_not_be_stopped(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    try:
        assert "the crawl runs in this process" in refused(tmp_path)
        (tmp_path / "crawl.lock").write_text("")
        assert "it is not known which process" in refused(tmp_path)
        with subprocess.Popen([sys.executable, "-c", ""]) as gone:
            gone.wait()
        (tmp_path / "crawl.lock").write_text(f"{gone.pid}\n")
        assert "the crawl has ended meanwhile" in refused(tmp_path)
    finally:
        lock.release()
    assert "no crawl is running" in refused(tmp_path)


def test_a_lock_that_is_only_read_is_no_crawl(tmp_path: Path) -> None:
    path = tmp_path / "crawl.lock"
    path.write_text("1\n")
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        assert "no crawl is running" in refused(tmp_path)


def test_a_crawl_that_cannot_begin_says_why_in_one_line(web: FakeWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    crawled(web, web.site.seeds, folder, budget=3)
    with CrawlFolder.open(folder):
        with pytest.raises(LibraryError) as caught:
            StartedCrawl(folder, budget=10)
        assert str(caught.value) == f"crawl: a crawl is running there already (process {os.getpid()})"
    (folder / "checkpoints").mkdir(exist_ok=True)
    (folder / "crawl.db").write_bytes(b"no database")
    with pytest.raises(CrawlFolderError, match="crawl.db: the file is damaged"):
        StartedCrawl(folder, budget=10)


def test_a_crawl_that_was_killed_says_so(web: FakeWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    crawled(web, web.site.seeds, folder, budget=3)
    started = StartedCrawl(folder, budget=1000)
    os.kill(started.process, signal.SIGKILL)
    wait_until(lambda: started.has_ended)
    assert started.trouble() == "killed by SIGKILL; what was fetched is not lost"


@pytest.mark.parametrize(("until", "budget"), [(1.5, None), (-0.5, None), (None, 0)])
def test_a_goal_that_cannot_be_starts_nothing(
    web: FakeWeb, tmp_path: Path, until: float | None, budget: int | None
) -> None:
    folder = tmp_path / "crawl"
    crawled(web, web.site.seeds, folder, budget=3)
    with pytest.raises(InputError):
        StartedCrawl(folder, until, budget)
    assert not (folder / "jobs").exists()


def test_a_goal_that_is_reached_must_be_raised(web: FakeWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    crawled(web, web.site.seeds, folder, budget=10)
    found = folder_status(folder)
    assert resume_refusal(found) == "the budget of 10 pages is spent; allow more to resume"
    assert resume_refusal(found, budget=10) is not None
    assert resume_refusal(found, budget=11) is None
    assert resume_refusal(found, until=1.0) is None, "everything, whatever the budget was"
    assert resume_refusal(found, until=1.0, budget=10) is not None
    crawled(web, web.site.seeds, folder, until=0.3)
    found = folder_status(folder)
    assert "30 % is proved already" in (resume_refusal(found) or "")
    assert resume_refusal(found, until=0.4) is None
    assert resume_refusal(found, until=1.0) is None
    with CrawlFolder.open(folder):
        assert resume_refusal(folder_status(folder)) == "the crawl is running"


def test_nothing_left_is_not_gone_on_with(tmp_path: Path) -> None:
    with slow_web(20, (0.0, 0.001)) as web:
        crawled(web, web.site.seeds, tmp_path / "crawl")
    assert "nothing is left to fetch" in (resume_refusal(folder_status(tmp_path / "crawl"), budget=10_000) or "")
