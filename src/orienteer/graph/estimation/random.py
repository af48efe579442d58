"""Random: the selection to beat."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.estimation.known_web import Surroundings
from orienteer.graph.estimation.selection import Selection, selection
from orienteer.graph.spread import drawn


@selection
class Random(Selection):
    """Each page has a random number, by its id and the rng; among the known pages the greatest goes first."""

    name: ClassVar[str] = "random"

    def __init__(self, rng: int = 0) -> None:
        if rng < 0:
            raise InputError(f"rng is {rng}; it must be 0 or more")
        self.rng = rng

    def scores(self, around: Surroundings, rank: NDArray[np.float64], k: int, damping: float) -> NDArray[np.float64]:
        return drawn(around.frontier.astype(np.uint64), np.uint64(self.rng))
