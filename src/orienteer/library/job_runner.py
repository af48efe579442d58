"""The process beside a job: starts the command, passes on who wants it to stop, and notes how it ended.

    python -P -m orienteer.library.job_runner FOLDER ID DESCRIPTOR COMMAND...

It is started in a session of its own, with a lock that it holds for its life (`DESCRIPTOR`); the command has it, too.
If the runner is killed, the command is asked to stop by the system, as Ctrl-C would (on Linux; elsewhere it goes on).
Until it has ended the lock is held, so nobody takes the job for dead while anything of it lives.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from orienteer.library.job_record import JobFiles, JobRecord, first_lines, last_lines

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CANNOT_START = 127
_PR_SET_PDEATHSIG = 1  # of Linux
# What tells most of what a command says in the end; for the others it is the first line.
_TELLING = {"estimate": "fetched outside", "crawl": "goal", "refresh": "goal"}
_MAX_CHARS = 500


def run(folder: Path, id: str, lock: int, command: list[str]) -> None:
    """Run the command to its end."""
    files = JobFiles(folder, id)
    with suppress(OSError):
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    # They are waited for, and never interrupt anything here. What came before is not lost: they have been held back
    # from the beginning (see `job_folder`).
    signal.pthread_sigmask(signal.SIG_BLOCK, {*STOPPING, signal.SIGCHLD})
    signal.signal(signal.SIGCHLD, lambda *_: None)
    record = files.read()
    if record is None:
        sys.exit(f"{files.record}: no job")
    try:
        process = _started(files, lock, command)
    except OSError as error:
        line = f"{command[0]}: {error.strerror}"
        files.write(replace(record, ended=time.time(), exit_code=_CANNOT_START, line=line))
        return
    record = replace(record, process=process.pid)
    files.write(record)
    while process.poll() is None:
        if signal.sigwait({*STOPPING, signal.SIGCHLD}) != signal.SIGCHLD and process.poll() is None:
            process.send_signal(signal.SIGINT)
            if record.stop_asked is None:
                record = replace(record, stop_asked=time.time())
                files.write(record)
    code = process.returncode
    files.write(replace(record, ended=time.time(), exit_code=code, line=_in_the_end(record, files, code)))


def _started(files: JobFiles, lock: int, command: list[str]) -> subprocess.Popen[bytes]:
    """The command; it is asked to stop when this process is gone."""
    runner = os.getpid()
    library = ctypes.CDLL(None)  # before the fork

    def prepare() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if hasattr(library, "prctl"):
            library.prctl(_PR_SET_PDEATHSIG, signal.SIGINT)
            if os.getppid() != runner:  # killed just now
                os._exit(_CANNOT_START)

    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with (
        os.fdopen(os.open(files.said, flags, 0o600), "wb") as said,
        os.fdopen(os.open(files.told, flags, 0o600), "wb") as told,
    ):
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=told, stderr=said, pass_fds=[lock], preexec_fn=prepare
        )


def _in_the_end(record: JobRecord, files: JobFiles, code: int) -> str:
    """What it said in the end, in one line: what came of it, or why it failed."""
    if code in (0, 3):
        told = first_lines(files.told)
        best = [line for line in told if line.startswith(_TELLING.get(record.kind, ""))] or told
        line = best[0] if best else ""
    elif code < 0:
        line = f"killed by {signal.Signals(-code).name}"
    else:
        line = (last_lines(files.said) or [f"it ended with exit code {code}"])[-1].removeprefix("orienteer: ")
    return " ".join(line.split())[:_MAX_CHARS]


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4:])
