"""Arrays that grow."""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

_OWN_MAPPING_BYTES = 1 << 20


def zeros(shape: int | tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """An array of zeros. A large one takes memory only where it is written to, and gives all of it back when it goes.

    An allocator may keep what it got for an array that has grown since, in pieces that fit nothing else.
    """
    dtype, sizes = np.dtype(dtype), (shape,) if isinstance(shape, int) else shape
    n_bytes = dtype.itemsize * math.prod(sizes)
    if n_bytes < _OWN_MAPPING_BYTES:
        return np.zeros(sizes, dtype)
    own = mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # private: a fork gets a copy
    return np.frombuffer(own, dtype).reshape(sizes)


def grown(array: NDArray[Any], n: int) -> NDArray[Any]:
    """The array with at least n places, new ones 0; where it must grow it doubles, so that growing on is cheap.

    Of what it has grown by, only what is written to takes memory.
    """
    if n <= len(array):
        return array
    larger = zeros((max(n, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
