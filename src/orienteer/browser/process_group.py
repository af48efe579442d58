"""What the processes of a browser take, as the system tells it (`/proc`); nothing where it does not."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def members(session: int) -> list[int]:
    """The processes of a session: of one that a process began, and all that it has started."""
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            fields = _fields(int(name))
            if fields and int(fields[3]) == session and fields[0] != "Z":
                found.append(int(name))
    return found


def cpu_s(session: int) -> float:
    """CPU time of all of them, with what has ended and was reaped."""
    ticks = 0
    for process in members(session):
        fields = _fields(process)
        ticks += sum(map(int, fields[11:15])) if fields else 0
    return ticks / _TICKS


def memory_bytes(session: int) -> int:
    """What they have for themselves: resident, and shared with nobody."""
    total = 0
    for process in members(session):
        with contextlib.suppress(OSError, ValueError, IndexError):
            resident, shared = Path(f"/proc/{process}/statm").read_text().split()[1:3]
            total += (int(resident) - int(shared)) * _PAGE_BYTES
    return total


def kill(session: int) -> None:
    """All of them, at once."""
    with contextlib.suppress(OSError):
        os.killpg(session, signal.SIGKILL)
    for process in members(session):
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGKILL)


def _fields(process: int) -> list[str]:
    """Of `/proc/PID/stat`, from the state on."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
