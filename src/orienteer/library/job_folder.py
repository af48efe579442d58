"""The folder that jobs are kept in: starts their runners, finds them again, passes on who wants them to stop.

A record alone is not believed. As long as the runner or the command of a job lives, one of them holds its lock: from
before the record is written until both are gone. So a job without an end in its record is under way where the lock is
held, and was killed where it is not, be it with the whole machine.
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
from orienteer.library.job import OVER
from orienteer.library.job_record import ID, JobFiles, JobRecord
from orienteer.library.job_runner import STOPPING
from orienteer.processes.lock_holder import has_open, holder, signaller
from orienteer.store.failures import explained

MAX_KEPT = 200  # jobs that are over
_GUARD = "jobs.lock"
_STOPPED_CODES = (3, 130, -signal.SIGINT)
_ORIENTEER = (sys.executable or "python3", "-P", "-m", "orienteer")


class JobFolder:
    """The jobs in a folder, which is made when the first one is started."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ended: dict[str, tuple[tuple[int, int], JobRecord]] = {}  # with the file that says so

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Nobody else starts a job meanwhile, or takes a crawl from under one."""
        with explained(self.path):
            expect_plain(self.path, alone=False)
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = open_plain(self.path / _GUARD, os.O_RDWR | os.O_CREAT, 0o600)
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
        """Start a command; `guarded` is up to the caller. It goes on when this process is gone."""
        record = JobRecord(id or new_id(), kind, crawl, dict(options), command, time.time(), result)
        files = JobFiles(self.path, record.id)
        with explained(self.path):
            descriptor = os.open(files.lock, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)  # whoever looks at it has it for a moment
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
        # A runner is never killed by who wants it to stop, not even at its very beginning: it inherits what is blocked.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        try:
            nowhere = subprocess.DEVNULL
            process = subprocess.Popen(
                [*runner, *program], cwd=self.path, stdin=nowhere, stdout=nowhere, stderr=nowhere, pass_fds=[lock],
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise ProcessError(f"no process can be started: {error}") from None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        with suppress(OSError):  # it says so itself, a moment later
            os.pwrite(lock, f"{process.pid}\n".encode(), 0)
        # Its end is noted at once, whether or not somebody asks for it: nothing is left of it in the system.
        threading.Thread(target=process.wait, name=f"job {record.id}", daemon=True).start()

    def ids(self) -> list[str]:
        """All that there are, the newest first."""
        try:
            names = os.listdir(self.path)
        except OSError:
            return []
        found = (name.removesuffix(".json") for name in names if name.endswith(".json"))
        return sorted((id for id in found if ID.fullmatch(id)), reverse=True)

    def record(self, id: str) -> tuple[JobRecord, str]:
        """A job and its state; NotInLibraryError where there is none."""
        if ID.fullmatch(id):
            files = JobFiles(self.path, id)
            file = _file(files.record)
            known = self._ended.get(id)
            if known is not None and known[0] == file:
                return known[1], _state(known[1], False)
            is_held = _is_held(files.lock)  # before the record is read: a job that ends in between has ended
            record = files.read()
            if record is not None:
                if record.ended is not None and file is not None and file == _file(files.record):
                    self._ended[id] = (file, record)
                return record, _state(record, is_held)
        self._ended.pop(id, None)
        raise NotInLibraryError(f"there is no job {id[:40]!r}")

    def records(self) -> list[tuple[JobRecord, str]]:
        """All of them, the newest first."""
        found = []
        for id in self.ids():
            with suppress(NotInLibraryError):  # removed meanwhile
                found.append(self.record(id))
        return sorted(found, key=lambda entry: entry[0].began, reverse=True)

    def damaged(self) -> list[Path]:
        """Records that cannot be understood: nothing is known of these jobs."""
        files = [JobFiles(self.path, id) for id in self.ids()]
        return [each.record for each in files if each.read() is None and each.record.exists()]

    def stop(self, id: str) -> None:
        """Ask a job to stop, as Ctrl-C does: its runner, or its command if that alone is left."""
        record, state = self.record(id)
        if state in OVER:
            raise LibraryError(f"job {id} is over")
        lock = JobFiles(self.path, id).lock
        with suppress(OSError):
            for process in (holder(lock), record.process):
                if process and _signalled(process, lock):
                    return
        raise LibraryError(f"job {id} has ended meanwhile, or its process cannot be found; nothing was done")

    def remove(self, id: str) -> None:
        """Forget a job that is over."""
        JobFiles(self.path, id).remove()

    def renamed(self, crawl: str, new: str) -> None:
        """The jobs of a crawl belong to its new name; all are over."""
        for record, _ in self.records():
            if record.crawl == crawl:
                JobFiles(self.path, record.id).write(replace(record, crawl=new))

    def forget_old(self, keep: int = MAX_KEPT) -> list[str]:
        """Remove the oldest that are over, and what is left of those that never began; `guarded` is up to the caller.

        The ids of jobs that were removed.
        """
        over = [record.id for record, state in self.records() if state in OVER]
        known = set(self.ids())
        strays = {name.partition(".")[0] for name in os.listdir(self.path)} - known
        gone = [*over[keep:], *(id for id in strays if ID.fullmatch(id))]
        for id in gone:
            with suppress(OSError):
                if not _is_held(JobFiles(self.path, id).lock):
                    self.remove(id)
        return gone


def new_id() -> str:
    """Ids are sorted by time."""
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime()) + "-" + secrets.token_hex(3)


def _file(path: Path) -> tuple[int, int] | None:
    """What differs when a file was replaced."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _is_held(lock: Path) -> bool:
    try:
        return holder(lock) is not None
    except OSError:
        return False


def _signalled(process: int, lock: Path) -> bool:
    """Whether the process was asked to stop; it is, if it holds the lock."""
    try:
        with signaller(process) as send:
            if not has_open(process, lock):
                return False
            send(signal.SIGINT)
            return True
    except (ProcessLookupError, PermissionError, FileNotFoundError):
        return False


def _state(record: JobRecord, is_held: bool) -> str:
    code = record.exit_code
    if record.ended is None or code is None:
        if not is_held:
            return "killed"
        return "stopping" if record.stop_asked is not None else "running" if record.process else "starting"
    if code == 0:
        return "done"
    if code < 0 and code != -signal.SIGINT:
        return "killed"
    return "stopped" if record.stop_asked is not None or code in _STOPPED_CODES else "failed"
