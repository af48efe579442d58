"""The processes of a session, such as those of a browser: resource use from `/proc` (zero on systems without it), and
killing all of them."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_POLL_S = 0.002
_MAX_POLLS = 2_500  # a process in uninterruptible sleep (disk I/O) dies later


def members(session: int) -> list[int]:
    """Return the processes of a session, without zombies."""
    processes = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            fields = _fields(int(name))
            if fields and int(fields[3]) == session and fields[0] != "Z":
                processes.append(int(name))
    return processes


def cpu_s(session: int) -> float:
    """Return the CPU time of a session, including children that ended and were reaped."""
    ticks = 0
    for process in members(session):
        fields = _fields(process)
        ticks += sum(map(int, fields[11:15])) if fields else 0
    return ticks / _TICKS


def memory_bytes(session: int) -> int:
    """Return the unshared resident memory of a session."""
    total = 0
    for process in members(session):
        with contextlib.suppress(OSError, ValueError, IndexError):
            resident, shared = Path(f"/proc/{process}/statm").read_text().split()[1:3]
            total += (int(resident) - int(shared)) * _PAGE_BYTES
    return total


def kill(session: int) -> None:
    """Kill all processes of a session and wait until none is left. Orphans that became our children are reaped; the
    session leader is reaped by its Popen object."""
    processes = set(members(session))
    with contextlib.suppress(OSError):
        os.killpg(session, signal.SIGKILL)
    for _ in range(_MAX_POLLS):
        alive = members(session)
        if not alive:
            break
        processes.update(alive)
        for process in alive:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(_POLL_S)
    for process in processes - {session}:
        with contextlib.suppress(OSError):
            os.waitpid(process, os.WNOHANG)


def _fields(process: int) -> list[str]:
    """Return the fields of `/proc/PID/stat`, from the state on."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
