"""How many links a page is from a seed, by the shortest known path."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.kernel import allocating_kernel, kernel

_DEEPEST = 65_000


class Depths:
    """Depths by page, as pages are found.

    >>> depths = Depths()
    >>> depths.reach([4, 7], 3)
    >>> depths.reach([7, 9], 1)
    >>> depths.of(4), depths.of(7), depths.of(9)
    (3, 1, 1)
    """

    def __init__(self) -> None:
        self._one_more: NDArray[np.uint16] = np.zeros(1024, np.uint16)  # than the depth; 0: not known

    def of(self, page: int) -> int:
        """Return the depth of a page; 0 for a page that was never reached."""
        return max(int(self._one_more[page]) - 1, 0) if page < len(self._one_more) else 0

    def reach(self, pages: Any, depth: int) -> None:
        """Record a path of `depth` links to these pages."""
        ids = np.asarray(pages, np.uint32)
        reached = min(depth, _DEEPEST) + 1
        n_done = _reach(ids, reached, self._one_more)
        if n_done >= 0:
            self._one_more = grown(self._one_more, int(ids.max()) + 1)
            _reach(ids[n_done:], reached, self._one_more)

    def reach_in_order(
        self,
        pages: NDArray[np.uint32],
        offsets: NDArray[np.int64],
        links: NDArray[np.uint32],
        is_redirect: NDArray[np.bool_],
    ) -> None:
        """Record the links of these pages, one page after the other; a redirect's target is as deep as the redirect."""
        highest = max(int(pages.max(initial=0)), int(links.max(initial=0)))
        self._one_more = grown(self._one_more, highest + 1)
        _reach_in_order(pages, offsets, links, is_redirect, self._one_more)


@kernel
def _reach(pages: Any, reached: int, one_more: Any) -> Any:
    """Return -1, or the index of the first page beyond the end of the array."""
    for k in range(len(pages)):
        page = pages[k]
        if page >= len(one_more):
            return k
        if one_more[page] == 0 or one_more[page] > reached:
            one_more[page] = reached
    return -1


@allocating_kernel
def _reach_in_order(pages: Any, offsets: Any, links: Any, is_redirect: Any, one_more: Any) -> None:
    for k in range(len(pages)):
        reached = one_more[pages[k]] + (0 if is_redirect[k] else 1)
        for j in range(offsets[k], offsets[k + 1]):
            target = links[j]
            if one_more[target] == 0 or one_more[target] > reached:
                one_more[target] = reached
