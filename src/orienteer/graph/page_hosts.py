"""The host of every page: one growing array, shared by the graph and the crawl."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown


class PageHosts:
    """Host ids by page, 0 until they are set. `array` may be longer than the number of known pages."""

    def __init__(self) -> None:
        self.array: NDArray[np.int32] = np.zeros(1024, np.int32)

    def grow_to(self, n_pages: int) -> None:
        """Make room for `n_pages` pages."""
        self.array = grown(self.array, n_pages)

    def set(self, pages: Any, hosts: Any) -> None:
        """Set the hosts of these pages, which must be below the size of `array`."""
        self.array[pages] = hosts
