"""The cost of a piece of work in this process: CPU time and memory."""

from __future__ import annotations

import ctypes
import gc
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_STATUS = Path("/proc/self/status")
_RESET_PEAK = Path("/proc/self/clear_refs")


@dataclass
class Cost:
    """`cpu_s` counts all threads of the process.

    `memory_bytes` is the rise of its peak resident memory above that at the begin of the work. On Linux it is exact. On
    other systems the peak of a process cannot be reset, so work that stays below an earlier peak counts as 0.
    """

    cpu_s: float = 0.0
    memory_bytes: int = 0


@contextmanager
def measured() -> Iterator[Cost]:
    """Yield a Cost that is filled in when the block ends."""
    cost = Cost()
    before = _resident_after_reset()
    started = time.process_time()
    try:
        yield cost
    finally:
        cost.cpu_s = time.process_time() - started
        cost.memory_bytes = max(_peak() - before, 0)


def _resident_after_reset() -> int:
    """Reset the peak and return the current resident memory; without a reset, return the peak so far."""
    _release_memory()
    try:
        _RESET_PEAK.write_text("5")
        return _status("VmRSS")
    except (OSError, KeyError):
        return _peak()


def _release_memory() -> None:
    """Return freed memory to the system; otherwise glibc would reuse it, and the next work would seem to need none."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _peak() -> int:
    try:
        return _status("VmHWM")
    except (OSError, KeyError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def _status(name: str) -> int:
    """Read a memory figure of this process from the kernel, in bytes."""
    fields = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    return int(fields[name].split()[0]) * 1024
