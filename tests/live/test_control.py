"""Stopping and resuming a crawl from another process: no other process is signalled, and errors are one line."""

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
from orienteer.inspect.crawl_status import crawl_status
from orienteer.library.crawl_jobs import CrawlJobs
from orienteer.library.job import Job
from orienteer.live.control import ask_to_stop, resume_refusal
from orienteer.store.folder import CrawlFolder
from orienteer.store.lock import FolderLock, holder_of
from tests.cli.live_process import wait_until
from tests.fake_web.server import FakeWeb
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


def last_run(jobs: CrawlJobs) -> Job:
    last = jobs.last_run()
    assert last is not None
    return last


def problem_of_last(jobs: CrawlJobs) -> str | None:
    return jobs.problem_of(last_run(jobs))


def test_a_crawl_is_stopped_as_by_ctrl_c_and_resumed(web: FakeWeb, tmp_path: Path) -> None:
    crawl = SlowCrawl(web, tmp_path / "crawl")
    with crawl.running() as process:
        assert ask_to_stop(crawl.folder) == process.pid
        code, output = process.ended()
    assert (code, output) == (130, "")
    before = crawl_status(crawl.folder)
    assert before.report is not None
    assert before.report.stopped_because == "interrupted"
    assert refused(crawl.folder) == f"{crawl.folder}: no crawl is running there"
    assert resume_refusal(before) is None
    jobs = CrawlJobs.of_folder(crawl.folder)
    started = jobs.resume()
    wait_until(lambda: holder_of(crawl.folder) == started.process)
    assert problem_of_last(jobs) is None
    assert os.getsid(started.process) not in (os.getsid(0), 0), "it survives this process"
    wait_until(lambda: crawl_status(crawl.folder).position > before.position)
    assert ask_to_stop(crawl.folder) == started.process
    wait_until(lambda: not last_run(jobs).is_alive)
    assert problem_of_last(jobs) is None
    logs = list((crawl.folder / "jobs").glob("*.txt"))
    assert len(logs) == 1
    assert "Traceback" not in logs[0].read_text()


def test_a_process_that_does_not_hold_the_lock_is_not_signalled(tmp_path: Path) -> None:
    """The lock file of a locked folder has the id of another process."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        lock = FolderLock(tmp_path)
        try:
            (tmp_path / "crawl.lock").write_text(f"{other.pid}\n")
            assert "does not run this crawl; no signal was sent" in refused(tmp_path)
        finally:
            lock.release()
        assert other.poll() is None
        other.communicate(b"\n")
    assert other.returncode == 0


def test_refusals_to_stop(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    try:
        assert "the crawl runs in this process" in refused(tmp_path)
        (tmp_path / "crawl.lock").write_text("")
        assert "it is not known which process" in refused(tmp_path)
        with subprocess.Popen([sys.executable, "-c", ""]) as gone:
            gone.wait()
        (tmp_path / "crawl.lock").write_text(f"{gone.pid}\n")
        assert "the crawl has already ended" in refused(tmp_path)
    finally:
        lock.release()
    assert "no crawl is running" in refused(tmp_path)


def test_a_lock_held_by_a_reader_is_not_a_crawl(tmp_path: Path) -> None:
    path = tmp_path / "crawl.lock"
    path.write_text("1\n")
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        assert "no crawl is running" in refused(tmp_path)


def test_a_crawl_that_cannot_start_reports_one_line(web: FakeWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    crawled(web, web.site.seeds, folder, budget=3)
    with CrawlFolder.open(folder):
        with pytest.raises(LibraryError) as caught:
            CrawlJobs.of_folder(folder).resume(budget=10)
        assert str(caught.value) == f"crawl: a crawl is running already (process {os.getpid()})"
    (folder / "checkpoints").mkdir(exist_ok=True)
    (folder / "crawl.db").write_bytes(b"no database")
    with pytest.raises(CrawlFolderError, match="crawl.db: the file is damaged"):
        CrawlJobs.of_folder(folder).resume(budget=10)


def test_a_killed_crawl_is_reported_as_killed(web: FakeWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    crawled(web, web.site.seeds, folder, budget=3)
    jobs = CrawlJobs.of_folder(folder)
    os.kill(jobs.resume(budget=1000).process or 0, signal.SIGKILL)
    wait_until(lambda: not last_run(jobs).is_alive)
    assert problem_of_last(jobs) == "killed by SIGKILL; what was fetched is not lost"


@pytest.mark.parametrize(("until", "budget"), [(1.5, None), (-0.5, None), (None, 0)])
def test_an_invalid_goal_starts_nothing(web: FakeWeb, tmp_path: Path, until: float | None, budget: int | None) -> None:
    folder = tmp_path / "crawl"
    crawled(web, web.site.seeds, folder, budget=3)
    with pytest.raises(InputError):
        CrawlJobs.of_folder(folder).resume(until, budget)
    assert not (folder / "jobs").exists()


def test_a_reached_goal_must_be_raised(web: FakeWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    crawled(web, web.site.seeds, folder, budget=10)
    status = crawl_status(folder)
    assert resume_refusal(status) == "the limit of 10 pages is reached; allow more to resume"
    assert resume_refusal(status, budget=10) is not None
    assert resume_refusal(status, budget=11) is None
    assert resume_refusal(status, until=1.0) is None, "everything, whatever the budget was"
    assert resume_refusal(status, until=1.0, budget=10) is not None
    crawled(web, web.site.seeds, folder, until=0.3)
    status = crawl_status(folder)
    assert "30 % is proved already" in (resume_refusal(status) or "")
    assert resume_refusal(status, until=0.4) is None
    assert resume_refusal(status, until=1.0) is None
    with CrawlFolder.open(folder):
        assert resume_refusal(crawl_status(folder)) == "the crawl is running"


def test_a_complete_crawl_is_not_resumed(tmp_path: Path) -> None:
    with slow_web(20, (0.0, 0.001)) as web:
        crawled(web, web.site.seeds, tmp_path / "crawl")
    assert "nothing is left to fetch" in (resume_refusal(crawl_status(tmp_path / "crawl"), budget=10_000) or "")
