"""Lives under way: each waits for a page, or has ended with a score. Scores count in the order of beginning.

Otherwise slow hosts would bias the result: lives that come to their pages would be heard last, or never.
"""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.graph.push import Links
from orienteer.graph.survey.entries import random_start
from orienteer.graph.survey.walking import Rows, go_on


class Lives:
    """The lives of one survey, numbered as they began."""

    def __init__(self, seed: str, damping: float) -> None:
        self.seed, self.damping = seed, damping
        self.n_begun = 0
        self.n_scored = 0  # all lives before this one have ended
        self.scores: NDArray[np.float64] = np.zeros((64, 3))
        self.starts = array("q")  # the pages told by then are K
        self.entries = array("I")
        self.last_pages = array("I")  # the last page outside K that each has come to so far
        self._random: NDArray[np.uint64] = np.zeros(64, np.uint64)
        self._ended: NDArray[np.bool_] = np.zeros(64, np.bool_)
        self._waiting: dict[int, list[int]] = {}  # by the page that they need

    @property
    def n_under_way(self) -> int:
        return sum(map(len, self._waiting.values()))

    def needs(self, page: int) -> bool:
        """Whether a life waits for this page."""
        return page in self._waiting

    def needed(self) -> list[tuple[int, int]]:
        """The pages that lives wait for, each with the first of these lives."""
        return sorted(((page, min(lives)) for page, lives in self._waiting.items()), key=lambda item: item[1])

    def begin(self, start: int, entry: int, links: Links, rows: Rows) -> None:
        """A life enters the unknown at this page."""
        life = self.n_begun
        self.n_begun += 1
        self.scores = grown(self.scores, self.n_begun)
        self._random, self._ended = grown(self._random, self.n_begun), grown(self._ended, self.n_begun)
        self._random[life] = random_start(self.seed, life)
        self.starts.append(start)
        self.entries.append(entry)
        self.last_pages.append(entry)
        self._go_on(life, links, rows)

    def told(self, page: int, links: Links, rows: Rows) -> None:
        """It is known now what came of a page: those that waited for it go on."""
        for life in self._waiting.pop(page, ()):
            self._go_on(life, links, rows)

    def _go_on(self, life: int, links: Links, rows: Rows) -> None:
        page, has_ended = go_on(
            links, rows, self.starts[life], self.last_pages[life], self.damping,
            self._random[life : life + 1], self.scores[life],
        )  # fmt: skip
        self.last_pages[life] = page
        if not has_ended:
            self._waiting.setdefault(page, []).append(life)
            return
        self._ended[life] = True
        while self.n_scored < self.n_begun and self._ended[self.n_scored]:
            self.n_scored += 1
