"""Limits that a process sets on itself before it works on untrusted data, and its priority for the OOM killer."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class TaskLimits:
    """What one task may take. `memory_bytes` of address space are in addition to that of the process at the start.

    The kernel enforces memory, CPU time and the size of files; the supervisor enforces `wall_s`, which allows for a
    busy machine.
    """

    memory_bytes: int
    cpu_s: int
    wall_s: float
    file_bytes: int

    def begin(self) -> None:
        """Set the limits on this process. Whatever is large should be imported before."""
        _set_limit(resource.RLIMIT_CORE, 0)
        _set_limit(resource.RLIMIT_FSIZE, self.file_bytes)
        sys.dont_write_bytecode = True  # Python 3.11 does not notice when a .pyc file could be written only in part
        _set_limit(resource.RLIMIT_AS, address_space_bytes() + self.memory_bytes)

    def begin_task(self) -> None:
        """Allow `cpu_s` of CPU time from now on; the kernel kills a process that takes more."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        _set_limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + self.cpu_s)


def address_space_bytes() -> int:
    """Return the address space of this process; 0 if it is unknown."""
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def prefer_oom_kill() -> None:
    """Make this process a preferred victim of the OOM killer: it can be replaced, its parent cannot."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("800")


def _set_limit(which: int, soft: int) -> None:
    with contextlib.suppress(OSError, ValueError):  # the system has no such limit, or a lower one
        hard = resource.getrlimit(which)[1]
        resource.setrlimit(which, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))
