"""The runner process of a job: it starts the command, forwards signals to it, and records how it ended.

    python -P -m orienteer.library.job_runner FOLDER ID DESCRIPTOR COMMAND...

It runs in its own session and holds a lock (`DESCRIPTOR`) for its lifetime; the command inherits the lock. If the
runner is killed, Linux sends SIGINT to the command (on other systems it continues). The lock is held until the command
has ended, too, so a job never looks dead while one of its processes is alive.
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
INTERRUPTED = tuple(128 + number for number in STOPPING)  # exit codes
_CANNOT_START = 127
_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
# The prefix of the output line that summarizes a command; for other kinds of job it is the first line.
_RESULT_PREFIXES = {"estimate": "fetched outside", "crawl": "result", "refresh": "result"}
_MAX_CHARS = 500


def run(folder: Path, id: str, lock: int, command: list[str]) -> None:
    """Run the command until it ends."""
    files = JobFiles(folder, id)
    with suppress(OSError):
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    # Signals are received by sigwait only, so they never interrupt this process. `job_folder` blocks them before it
    # starts this process, so earlier ones are pending and not lost.
    signal.pthread_sigmask(signal.SIG_BLOCK, {*STOPPING, signal.SIGCHLD})
    signal.signal(signal.SIGCHLD, lambda *_: None)
    record = files.read()
    if record is None:
        sys.exit(f"{files.record}: no job")
    try:
        process = _start_command(files, lock, command)
    except OSError as error:
        line = f"{command[0]}: {error.strerror}"
        files.write(replace(record, ended=time.time(), exit_code=_CANNOT_START, line=line))
        return
    record = replace(record, process=process.pid)
    files.write(record)
    while process.poll() is None:
        if signal.sigwait({*STOPPING, signal.SIGCHLD}) != signal.SIGCHLD and process.poll() is None:
            process.send_signal(signal.SIGINT)
            if record.stop_requested is None:
                record = replace(record, stop_requested=time.time())
                files.write(record)
    code = process.returncode
    files.write(replace(record, ended=time.time(), exit_code=code, line=_final_line(record, files, code)))


def _start_command(files: JobFiles, lock: int, command: list[str]) -> subprocess.Popen[bytes]:
    """Start the command; it receives SIGINT if this process dies."""
    runner = os.getpid()
    library = ctypes.CDLL(None)  # before the fork

    def prepare() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if hasattr(library, "prctl"):
            library.prctl(_PR_SET_PDEATHSIG, signal.SIGINT)
            if os.getppid() != runner:  # the runner was killed before prctl
                os._exit(_CANNOT_START)

    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with (
        os.fdopen(os.open(files.stderr, flags, 0o600), "wb") as stderr,
        os.fdopen(os.open(files.stdout, flags, 0o600), "wb") as stdout,
    ):
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, pass_fds=[lock], preexec_fn=prepare
        )


def _final_line(record: JobRecord, files: JobFiles, code: int) -> str:
    """Return the line that summarizes how the command ended: its result, or why it failed."""
    output = first_lines(files.stdout)
    if code < 0:
        line = f"killed by {signal.Signals(-code).name}"
    elif code in (0, 3) or (output and code in INTERRUPTED):
        best = [line for line in output if line.startswith(_RESULT_PREFIXES.get(record.kind, ""))] or output
        line = best[0].removeprefix("result") if best else ""
    else:
        line = (last_lines(files.stderr) or [f"it ended with exit code {code}"])[-1].removeprefix("orienteer: ")
    return " ".join(line.split())[:_MAX_CHARS]


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4:])
