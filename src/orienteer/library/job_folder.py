"""The folder of job records: start their runners, find them again, and forward requests to stop.

A record alone does not prove that a job is alive. The runner and the command of a job hold its lock, from before the
record is written until both have ended. So a job without an end in its record is running if the lock is held; otherwise
it was killed, perhaps together with the machine.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from orienteer.errors import LibraryError, NotInLibraryError, ProcessError
from orienteer.files.plain import expect_plain, open_plain
from orienteer.library.job import ENDED
from orienteer.library.job_record import ID, JobFiles, JobRecord
from orienteer.library.job_runner import INTERRUPTED, STOPPING
from orienteer.store.failures import map_disk_errors
from orienteer.store.lock import has_open, holder, signaller

MAX_ENDED_JOBS = 200  # older records are removed
_START_LOCK = "jobs.lock"
_STOPPED_CODES = (3, *INTERRUPTED, -signal.SIGINT)
_ORIENTEER = (sys.executable or "python3", "-P", "-m", "orienteer")


class JobFolder:
    """The jobs in a folder, which is created when the first one starts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ended: dict[str, tuple[tuple[int, int], JobRecord]] = {}  # with the identity of the record's file

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock out every other process that starts a job, or renames or deletes a crawl."""
        with map_disk_errors(self.path):
            expect_plain(self.path, alone=False)
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = open_plain(self.path / _START_LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            except BaseException:
                os.close(descriptor)
                raise
        try:
            yield
        finally:
            os.close(descriptor)

    def start(
        self, kind: str, crawl: str, options: Mapping[str, Any], command: tuple[str, ...], result: str = "",
        id: str | None = None,
    ) -> JobRecord:  # fmt: skip
        """Start a command, which outlives this process. The caller holds `locked`."""
        record = JobRecord(id or new_id(), kind, crawl, dict(options), command, time.time(), result)
        files = JobFiles(self.path, record.id)
        with map_disk_errors(self.path):
            descriptor = os.open(files.lock, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)  # waits for readers, which take it for a moment
                files.write(record)
                self._run(record, files, descriptor)
            except BaseException:
                files.remove()
                raise
            finally:
                os.close(descriptor)
        return record

    def _run(self, record: JobRecord, files: JobFiles, lock: int) -> None:
        program = (*_ORIENTEER, *record.command[1:]) if record.command[0] == "orienteer" else record.command
        runner = [*_ORIENTEER[:-1], "orienteer.library.job_runner", str(self.path.resolve()), record.id, str(lock)]
        # Blocked signals are inherited, so an early request to stop does not kill the runner before it handles signals.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        try:
            null = subprocess.DEVNULL
            process = subprocess.Popen(
                [*runner, *program], cwd=self.path, stdin=null, stdout=null, stderr=null, pass_fds=[lock],
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise ProcessError(f"no process can be started: {error}") from None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        with suppress(OSError):  # the runner writes its id itself a moment later
            os.pwrite(lock, f"{process.pid}\n".encode(), 0)
        # Reap the runner as soon as it ends, so that no zombie process remains.
        threading.Thread(target=process.wait, name=f"job {record.id}", daemon=True).start()

    def ids(self) -> list[str]:
        """Return the ids of all jobs, newest first."""
        try:
            names = os.listdir(self.path)
        except OSError:
            return []
        found = (name.removesuffix(".json") for name in names if name.endswith(".json"))
        return sorted((id for id in found if ID.fullmatch(id)), reverse=True)

    def record(self, id: str) -> tuple[JobRecord, str]:
        """Return the record of a job and its state; NotInLibraryError if there is none."""
        if ID.fullmatch(id):
            files = JobFiles(self.path, id)
            file = _file(files.record)
            known = self._ended.get(id)
            if known is not None and known[0] == file:
                return known[1], _state(known[1], False)
            is_locked = _is_locked(files.lock)  # before the record is read: a job that ends in between counts as ended
            record = files.read()
            if record is not None:
                if record.ended is not None and file is not None and file == _file(files.record):
                    self._ended[id] = (file, record)
                return record, _state(record, is_locked)
        self._ended.pop(id, None)
        raise NotInLibraryError(f"there is no job {id[:40]!r}")

    def records(self) -> list[tuple[JobRecord, str]]:
        """Return all records with their states, newest first."""
        found = []
        for id in self.ids():
            with suppress(NotInLibraryError):  # it was removed meanwhile
                found.append(self.record(id))
        return sorted(found, key=lambda entry: entry[0].began, reverse=True)

    def damaged(self) -> list[Path]:
        """Return the files of records that cannot be parsed."""
        files = [JobFiles(self.path, id) for id in self.ids()]
        return [each.record for each in files if each.read() is None and each.record.exists()]

    def stop(self, id: str) -> None:
        """Send SIGINT to the runner of a job, or to its command if the runner is gone."""
        record, state = self.record(id)
        if state in ENDED:
            raise LibraryError(f"job {id} has already ended")
        lock = JobFiles(self.path, id).lock
        with suppress(OSError):
            for process in (holder(lock), record.process):
                if process and _signalled(process, lock):
                    return
        raise LibraryError(f"job {id} has ended meanwhile, or its process cannot be found; nothing was done")

    def remove(self, id: str) -> None:
        """Delete the files of a job that has ended."""
        JobFiles(self.path, id).remove()

    def rename_crawl(self, crawl: str, new: str) -> None:
        """Change the crawl's name in the records of its jobs, all of which have ended."""
        for record, _ in self.records():
            if record.crawl == crawl:
                JobFiles(self.path, record.id).write(replace(record, crawl=new))

    def remove_old(self, keep: int = MAX_ENDED_JOBS) -> list[str]:
        """Remove the oldest jobs that have ended, and the files of those that failed to start; return their ids.

        The caller holds `locked`.
        """
        ended = [record.id for record, state in self.records() if state in ENDED]
        known = set(self.ids())
        strays = {name.partition(".")[0] for name in os.listdir(self.path)} - known
        gone = [*ended[keep:], *(id for id in strays if ID.fullmatch(id))]
        for id in gone:
            with suppress(OSError):
                if not _is_locked(JobFiles(self.path, id).lock):
                    self.remove(id)
        return gone


def new_id() -> str:
    """Return a unique id. Ids sort by time."""
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime()) + "-" + secrets.token_hex(3)


def _file(path: Path) -> tuple[int, int] | None:
    """Return a value that changes when a file is replaced; None if there is no file."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _is_locked(lock: Path) -> bool:
    try:
        return holder(lock) is not None
    except OSError:
        return False


def _signalled(process: int, lock: Path) -> bool:
    """Send SIGINT to the process if it holds the lock; return whether it was sent."""
    try:
        with signaller(process) as send:
            if not has_open(process, lock):
                return False
            send(signal.SIGINT)
            return True
    except (ProcessLookupError, PermissionError, FileNotFoundError):
        return False


def _state(record: JobRecord, is_locked: bool) -> str:
    code = record.exit_code
    if record.ended is None or code is None:
        if not is_locked:
            return "killed"
        return "stopping" if record.stop_requested is not None else "running" if record.process else "starting"
    if code == 0:
        return "done"
    if code < 0 and code != -signal.SIGINT:
        return "killed"
    return "stopped" if record.stop_requested is not None or code in _STOPPED_CODES else "failed"
