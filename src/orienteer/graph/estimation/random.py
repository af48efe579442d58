"""Random: the baseline of the selections."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.estimation.known_web import Neighborhood
from orienteer.graph.estimation.selection import Selection, selection
from orienteer.graph.spread import drawn


@selection
class RandomSelection(Selection):
    """Each page has a random number that depends on its id and the rng; the greatest goes first."""

    name: ClassVar[str] = "random"

    def __init__(self, rng: int = 0) -> None:
        if rng < 0:
            raise InputError(f"rng is {rng}; it must be 0 or more")
        self.rng = rng

    def scores(
        self, neighborhood: Neighborhood, rank: NDArray[np.float64], k: int, damping: float
    ) -> NDArray[np.float64]:
        return drawn(neighborhood.frontier.astype(np.uint64), np.uint64(self.rng))
