"""Arrays that grow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def grown(array: NDArray[Any], n: int) -> NDArray[Any]:
    """The array with at least n places, new ones 0; where it must grow it doubles, so that growing on is cheap."""
    if n <= len(array):
        return array
    larger = np.zeros((max(n, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
