"""Lines in any order, more than memory should hold, come out sorted by their bytes."""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Self

_MAX_BYTES = 64 << 20


class SortedLines:
    """Keeps so many bytes in memory, and the rest in nameless files in `folder`, which go with the process."""

    def __init__(self, folder: Path, max_bytes: int = _MAX_BYTES) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._lines: list[bytes] = []
        self._n_bytes = 0
        self._runs: list[IO[bytes]] = []

    def add(self, line: bytes) -> None:
        """A line with its end."""
        self._lines.append(line)
        self._n_bytes += len(line)
        if self._n_bytes > self._max_bytes:
            self._put_aside()

    def __iter__(self) -> Iterator[bytes]:
        self._lines.sort()
        for run in self._runs:
            run.seek(0)
        return heapq.merge(self._lines, *self._runs)

    def _put_aside(self) -> None:
        run = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 (closed in the end, with all others)
        self._runs.append(run)
        self._lines.sort()
        run.writelines(self._lines)
        run.flush()
        self._lines, self._n_bytes = [], 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for run in self._runs:
            run.close()
