"""Columns of pages in graph files: hosts that are read; titles, names of hosts and ranks that are written."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

_MAX_ID = 2**31 - 1


class NodeColumn(NamedTuple):
    """A column with a value for each page; `values(start, end)` are those of pages from `start` to before `end`.

    None is an unknown value, which is not written.
    """

    name: str
    kind: Literal["string", "double"]
    values: Callable[[int, int], Sequence[Any]]


def block_of(columns: Sequence[NodeColumn], start: int, end: int) -> list[list[tuple[NodeColumn, Any]]]:
    """Return the known values of each page from `start` to before `end`, with their columns."""
    blocks = [column.values(start, end) for column in columns]
    return [
        [(column, value) for column, value in zip(columns, values, strict=True) if value is not None]
        for values in (zip(*blocks, strict=True) if blocks else ((),) * (end - start))
    ]


class HostNumbering:
    """Collects the host of each page; `ids` returns the host ids in the same order."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._hosts = array("i")
        self._all_known = True

    def add(self, name: str | None) -> None:
        """Add the host of the next page; None if it is unknown."""
        if name is None:
            self._all_known = False
        else:
            self._hosts.append(self._places.setdefault(name, len(self._places)))

    def ids(self) -> NDArray[np.int32] | None:
        """Return the host ids, or None unless every page has a host: an invented one would be misleading."""
        if not self._all_known:
            return None
        hosts = np.array(self._hosts, np.int32)
        if all(_is_id(name) for name in self._places):
            return np.array([int(name) for name in self._places], np.int32)[hosts]
        return hosts


def _is_id(name: str) -> bool:
    return name.isascii() and name.isdigit() and str(int(name[:20])) == name and int(name) <= _MAX_ID
