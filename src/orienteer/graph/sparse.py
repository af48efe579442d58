"""A sparse array of numbers by page: a hash table with open addressing that kernels can read.

`keys` holds page + 1, or 0 for an empty slot; the number is in `values` at the same index. Entries are never removed:
the caller has a flag per page that says whether its number is valid.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.arrays import zeros
from orienteer.kernel import inlined, kernel


class Sparse:
    """
    >>> numbers = Sparse(np.float64)
    >>> numbers.set([7, 9], [0.5, 0.25])
    >>> numbers.get(9), numbers.get(8)
    (0.25, None)
    """

    def __init__(self, dtype: Any) -> None:
        self.n = 0
        self.keys: NDArray[np.int64] = np.zeros(16, np.int64)
        self.values: NDArray[Any] = np.zeros(16, dtype)

    def get(self, page: int) -> Any:
        """Return the number of a page; None if it has none."""
        place = _place.plain(self.keys, page)
        return self.values[place].item() if self.keys[place] else None

    def set(self, pages: ArrayLike, values: ArrayLike) -> None:
        """Set the numbers of pages; of repeated pages the last one counts."""
        ids, numbers = np.atleast_1d(np.asarray(pages, np.int64)), np.atleast_1d(np.asarray(values, self.values.dtype))
        if 2 * (self.n + len(ids)) > len(self.keys):
            self._make_room(self.n + len(ids))
        self.n += int(_enter(self.keys, self.values, ids, numbers))

    def items(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the pages that have numbers, and the numbers."""
        taken = np.flatnonzero(self.keys)
        return self.keys[taken] - 1, self.values[taken]

    def _make_room(self, n: int) -> None:
        pages, values = self.items()
        size = 1 << int(2 * n).bit_length()
        self.keys, self.values = zeros(size, np.int64), zeros(size, self.values.dtype)
        _enter(self.keys, self.values, pages, values)


@inlined
def _place(keys: Any, page: int) -> Any:
    """Return the slot of a page, or the free one where it belongs. Page ids have 32 bits, so no product overflows."""
    mask = len(keys) - 1
    place = (((page ^ (page >> 16)) * 0x045D9F3B) >> 16) & mask
    while keys[place] != 0 and keys[place] != page + 1:
        place = (place + 1) & mask
    return place


@kernel
def number_of(keys: Any, values: Any, page: int, otherwise: Any) -> Any:
    """Return the number of a page, or `otherwise` if it has none."""
    place = _place(keys, page)
    if keys[place] == 0:
        return otherwise
    return values[place]


@kernel
def _enter(keys: Any, values: Any, pages: Any, numbers: Any) -> Any:
    """Set numbers and return how many pages had none before. There must be room."""
    n_new = 0
    for k in range(len(pages)):
        place = _place(keys, pages[k])
        if keys[place] == 0:
            keys[place] = pages[k] + 1
            n_new += 1
        values[place] = numbers[k]
    return n_new
