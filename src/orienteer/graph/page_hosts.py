"""The host of every page: one array for all who ask, however it grows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown


class PageHosts:
    """Host ids by page; 0 until somebody says otherwise. `array` may be longer than the pages known."""

    def __init__(self) -> None:
        self.array: NDArray[np.int32] = np.zeros(1024, np.int32)

    def know(self, n_pages: int) -> None:
        """Make room for so many pages."""
        self.array = grown(self.array, n_pages)

    def set(self, pages: Any, hosts: Any) -> None:
        """Say on which hosts these pages are, for which there is room."""
        self.array[pages] = hosts
