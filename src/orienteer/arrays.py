"""Arrays that grow."""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

_OWN_MAPPING_BYTES = 1 << 16


def zeros(shape: int | tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return an array of zeros. A large one uses memory only where it is written to, and returns all of it when freed.

    An allocator might hold on to the memory of arrays that have been replaced by larger ones, in unusable fragments.
    """
    dtype, sizes = np.dtype(dtype), (shape,) if isinstance(shape, int) else shape
    n_bytes = dtype.itemsize * math.prod(sizes)
    if n_bytes < _OWN_MAPPING_BYTES:
        return np.zeros(sizes, dtype)
    own = mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # private: a fork gets a copy
    return np.frombuffer(own, dtype).reshape(sizes)


def grown(array: NDArray[Any], n: int) -> NDArray[Any]:
    """Return the array with at least n items, new ones 0; it at least doubles, so that appending is O(1) amortised.

    Of the new items, only those written to use memory.
    """
    if n <= len(array):
        return array
    larger = zeros((max(n, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
