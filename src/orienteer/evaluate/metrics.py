"""Metrics of an order of fetches, and the cost of a piece of work in this process: CPU time and memory.

A *curve* samples a value after some numbers of fetches, for plots.
"""

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
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

_STATUS = Path("/proc/self/status")
_RESET_PEAK = Path("/proc/self/clear_refs")


class Curve(NamedTuple):
    """`values[k]` holds after `positions[k]` fetches."""

    positions: NDArray[np.int64]
    values: NDArray[np.float64]

    @classmethod
    def sampled(cls, after_each: NDArray[np.float64], positions: NDArray[np.int64]) -> Curve:
        """Sample the values after each fetch at `positions`."""
        return cls(positions, after_each[positions - 1])


def cumulative_rank(rank: NDArray[np.float64], order: ArrayLike) -> NDArray[np.float64]:
    """Return the total rank of the pages fetched so far, after each fetch.

    >>> cumulative_rank(np.array([0.5, 0.25, 0.25]), [1, 0]).tolist()
    [0.25, 0.75]
    """
    return np.cumsum(rank[np.asarray(order)])


def first_reaching(after_each: NDArray[np.float64], level: float) -> int | None:
    """Return the number of fetches until the value was at least `level`; None if it never was.

    >>> first_reaching(np.array([0.25, 0.75]), 0.5), first_reaching(np.array([0.25, 0.75]), 0.9)
    (2, None)
    """
    reached = after_each >= level
    at = int(reached.argmax()) if len(reached) else 0
    return at + 1 if len(reached) and reached[at] else None


def sample_positions(n_fetched: int, n_positions: int) -> NDArray[np.int64]:
    """Return about `n_positions` increasing numbers of fetches from 1 to `n_fetched`.

    Half of them grow by a factor, so that a logarithmic axis is filled, and half by a step, so that the end is.

    >>> sample_positions(1000, 10).tolist()
    [1, 6, 32, 178, 251, 500, 750, 1000]
    """
    if n_fetched == 0:
        return np.empty(0, np.int64)
    by_factor = np.geomspace(1, n_fetched, max(n_positions // 2, 2))
    by_step = np.linspace(1, n_fetched, max(n_positions // 2, 2))
    return np.unique(np.concatenate((by_factor, by_step)).round().astype(np.int64))


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
