"""A crawl looked at from beside: its database as it was at one moment, while another process may go on writing."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.store.database import Database
from orienteer.store.failures import explained
from orienteer.store.folder import LOCK

_PAGES_PER_BATCH = 100_000


class Group(NamedTuple):
    """The pages with the same state and outcome; how many of them repeat another page, exactly or nearly."""

    state: int
    outcome: str
    n_pages: int
    n_duplicates: int
    n_near_duplicates: int


class Survey(Database):
    """A database opened to be read: what is committed after that is not seen."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, read_only=True)
        try:
            with explained(path):
                self._connection.execute("BEGIN")
            self.n_urls()  # SQLite fixes the moment with the first read
        except BaseException:
            self.close()
            raise

    def groups(self) -> list[Group]:
        sql = (
            "SELECT state, outcome, count(*), count(duplicate_of), count(near_duplicate_of) FROM page "
            "GROUP BY state, outcome ORDER BY state, count(*) DESC, outcome"
        )
        return [Group(*row) for row in self._rows(sql)]

    def states(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """The ids and states of all pages that are done, many at a time."""
        for rows in self._batches(_PAGES_PER_BATCH, "SELECT id, state FROM page"):
            pairs = np.array(rows, np.int64)
            yield pairs[:, 0], pairs[:, 1]

    def times(self) -> tuple[float, float] | None:
        """Unix time of the first and of the last page that was done; None while there is none."""
        sql = "SELECT coalesce(first_time, time) FROM page LEFT JOIN revisit ON page = id ORDER BY position LIMIT 1"
        first = self._first(sql)
        lasts = [self._first(f"SELECT time FROM {table} ORDER BY position DESC LIMIT 1") for table in ("page", "visit")]
        return None if first is None else (float(first), max(float(last) for last in lasts if last is not None))

    def n_in_states(self, states: Sequence[int], until: int | None = None) -> int:
        """How many pages are in one of these states, of those done up to a position."""
        marks = ", ".join("?" * len(states))
        sql = f"SELECT count(*) FROM page WHERE state IN ({marks}) AND position <= ?"
        return int(self._first(sql, *map(int, states), 2**63 - 1 if until is None else until))

    def find_urls(self, urls: Sequence[str]) -> dict[str, int]:
        """The ids of those URLs that are known; reads through all of them once."""
        marks = ", ".join("?" * len(urls))
        return dict(self._rows(f"SELECT url, id FROM url WHERE url IN ({marks})", *urls))


def holder_of(folder: Path) -> int | None:
    """The process that is writing to a crawl folder, 0 if it does not say which; None if there is none."""
    path = folder / LOCK
    if not path.exists():
        return None
    with explained(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.pread(descriptor, 20, 0).strip()
            return int(pid) if pid.isdigit() else 0
        finally:
            os.close(descriptor)
    return None
