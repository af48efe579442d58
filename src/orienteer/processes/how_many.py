"""How many processes are worth starting, and what all of them have cost."""

from __future__ import annotations

import os
import resource
import time

MOST = 8  # unless somebody asks for more: one process puts together what the others make
FEW = 1000  # things to do; below that starting processes, a second of CPU time or more each, costs more than it saves


def usable_cores() -> int:
    """The cores that this process may use: a container or a batch system may have given it some of them only."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def sensible_number(n_things: int) -> int:
    """How many processes for so many things to do, if nobody says it; 1: none but this one."""
    return min(MOST, usable_cores()) if n_things >= FEW else 1


def cpu_time_s() -> float:
    """CPU time of this process, and of all that it has started and that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime
