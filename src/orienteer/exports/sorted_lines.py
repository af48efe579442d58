"""An external merge sort of lines by their bytes."""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Self

_MAX_BYTES = 64 << 20


class SortedLines:
    """Sorts lines with at most `max_bytes` in memory; the others are in unnamed temporary files in `folder`."""

    def __init__(self, folder: Path, max_bytes: int = _MAX_BYTES) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._lines: list[bytes] = []
        self._n_bytes = 0
        self._runs: list[IO[bytes]] = []

    def add(self, line: bytes) -> None:
        """Add a line, which includes its line end."""
        self._lines.append(line)
        self._n_bytes += len(line)
        if self._n_bytes > self._max_bytes:
            self._spill()

    def __iter__(self) -> Iterator[bytes]:
        self._lines.sort()
        for run in self._runs:
            run.seek(0)
        return heapq.merge(self._lines, *self._runs)

    def _spill(self) -> None:
        run = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 (closed in __exit__)
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
