"""What the processes of a browser take, as the system tells it (`/proc`); nothing where it does not."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_LOOK_EVERY_S = 0.002
_MAX_LOOKS = 2_500  # a process that cannot be killed at once waits for a disk


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
    """All of them, until none is left. Those whose parents died before them may have become our children: they are
    reaped. The first is left to whoever started it."""
    found = set(members(session))
    with contextlib.suppress(OSError):
        os.killpg(session, signal.SIGKILL)
    for _ in range(_MAX_LOOKS):
        left = members(session)
        if not left:
            break
        found.update(left)
        for process in left:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(_LOOK_EVERY_S)
    for process in found - {session}:
        with contextlib.suppress(OSError):
            os.waitpid(process, os.WNOHANG)


def _fields(process: int) -> list[str]:
    """Of `/proc/PID/stat`, from the state on."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
