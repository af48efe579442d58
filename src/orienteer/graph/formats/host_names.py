"""Host ids from the hosts in files: integers are ids, names are numbered in order of first appearance."""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

_MAX_ID = 2**31 - 1


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
