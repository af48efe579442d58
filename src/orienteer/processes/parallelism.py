"""The number of processes to start, and their CPU time."""

from __future__ import annotations

import os
import resource
import time

MAX_PROCESSES = 8  # by default: a single process combines the results of the others
MIN_ITEMS = 1000  # with fewer, starting processes (a second of CPU time or more each) costs more than it saves


def usable_cores() -> int:
    """Return the number of cores that this process may use, which a container or a batch system may restrict."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_process_count(n_items: int) -> int:
    """Return the default number of processes for so many items; 1 means in this process."""
    return min(MAX_PROCESSES, usable_cores()) if n_items >= MIN_ITEMS else 1


def cpu_time_s() -> float:
    """Return the CPU time of this process and of its children that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime
