"""What a process and all that it started take: CPU time and memory. By the standard library alone: peers use it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


class Cost(NamedTuple):
    cpu_ms: float
    driver_ms: float
    wall_ms: float
    pss_mb: float
    n_right: int
    n_pages: int


def _tree() -> Iterator[int]:
    waiting = [os.getpid()]
    while waiting:
        process = waiting.pop()
        yield process
        with suppress(OSError):  # it may have just ended
            for thread in os.scandir(f"/proc/{process}/task"):
                with suppress(OSError):
                    waiting += map(int, Path(thread, "children").read_text().split())


def _spent_s() -> float:
    """CPU time of this process, of all below it, and of those that have ended."""
    ticks = 0
    for process in _tree():
        try:
            ticks += sum(map(int, Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]))
        except OSError:
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


def _pss_mb() -> float:
    total = 0
    for process in _tree():
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1000


class Meter:
    """Measures from its beginning to its end."""

    def __init__(self) -> None:
        self._cpu_s, self._own_s, self._wall_s = _spent_s(), time.process_time(), time.perf_counter()

    def cost(self, n_right: int, n_pages: int) -> Cost:
        wall_ms = 1000 * (time.perf_counter() - self._wall_s) / n_pages
        own_ms = 1000 * (time.process_time() - self._own_s) / n_pages
        return Cost(1000 * (_spent_s() - self._cpu_s) / n_pages, own_ms, wall_ms, _pss_mb(), n_right, n_pages)
