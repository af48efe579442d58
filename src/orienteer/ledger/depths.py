"""How many links a page is from a seed, by the shortest way known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.kernel import allocating_kernel

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
        """0 for a page that was never reached."""
        return max(int(self._one_more[page]) - 1, 0) if page < len(self._one_more) else 0

    def reach(self, pages: Any, depth: int) -> None:
        """There is a way of so many links to these pages."""
        ids = np.asarray(pages, np.int64)
        self._one_more = grown(self._one_more, int(ids.max(initial=-1)) + 1)
        before, found = self._one_more[ids], np.uint16(min(depth, _DEEPEST) + 1)
        self._one_more[ids] = np.where(before == 0, found, np.minimum(before, found))

    def reach_in_order(
        self,
        pages: NDArray[np.uint32],
        offsets: NDArray[np.int64],
        links: NDArray[np.uint32],
        is_redirect: NDArray[np.bool_],
    ) -> None:
        """What these pages link to, one page after the other; a redirect's target is as deep as the redirect."""
        highest = max(int(pages.max(initial=0)), int(links.max(initial=0)))
        self._one_more = grown(self._one_more, highest + 1)
        _reach_in_order(pages, offsets, links, is_redirect, self._one_more)


@allocating_kernel
def _reach_in_order(pages: Any, offsets: Any, links: Any, is_redirect: Any, one_more: Any) -> None:
    for k in range(len(pages)):
        reached = one_more[pages[k]] + (0 if is_redirect[k] else 1)
        for j in range(offsets[k], offsets[k + 1]):
            target = links[j]
            if one_more[target] == 0 or one_more[target] > reached:
                one_more[target] = reached
