"""The lives of a survey: each waits for a page, or has ended with a score. Scores count in the order of beginning.

In the order of ending, slow hosts would bias the result: lives that visit them would count last, or never.
"""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.graph.push import LinkRows
from orienteer.graph.survey.entries import random_start
from orienteer.graph.survey.walking import Rows, continue_life


class Lives:
    """The lives of one survey, numbered in the order of beginning."""

    def __init__(self, seed: str, damping: float) -> None:
        self.seed, self.damping = seed, damping
        self.n_begun = 0
        self.n_scored = 0  # all lives before this one have ended
        self.scores: NDArray[np.float64] = np.zeros((64, 3))
        self.starts = array("q")  # the pages recorded up to this event are K
        self.entries = array("I")
        self.last_pages = array("I")  # the last page outside K that each has visited so far
        self._random: NDArray[np.uint64] = np.zeros(64, np.uint64)
        self._ended: NDArray[np.bool_] = np.zeros(64, np.bool_)
        self._waiting: dict[int, list[int]] = {}  # by the page they wait for

    @property
    def n_in_flight(self) -> int:
        return sum(map(len, self._waiting.values()))

    def needs(self, page: int) -> bool:
        """Return whether a life waits for this page."""
        return page in self._waiting

    def needed(self) -> list[tuple[int, int]]:
        """Return the pages that lives wait for, each with its first life, in the order of these lives."""
        return sorted(((page, min(lives)) for page, lives in self._waiting.items()), key=lambda item: item[1])

    def begin(self, start: int, entry: int, links: LinkRows, rows: Rows) -> None:
        """Begin a life that leaves K at the page `entry`."""
        life = self.n_begun
        self.n_begun += 1
        self.scores = grown(self.scores, self.n_begun)
        self._random, self._ended = grown(self._random, self.n_begun), grown(self._ended, self.n_begun)
        self._random[life] = random_start(self.seed, life)
        self.starts.append(start)
        self.entries.append(entry)
        self.last_pages.append(entry)
        self._continue(life, links, rows)

    def resume(self, page: int, links: LinkRows, rows: Rows) -> None:
        """Continue the lives that waited for a page, once its outcome is known."""
        for life in self._waiting.pop(page, ()):
            self._continue(life, links, rows)

    def _continue(self, life: int, links: LinkRows, rows: Rows) -> None:
        page, has_ended = continue_life(
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
