"""The interface of seed selection methods.

A method returns one seed after the other. The Cover (see cover.py) records what the seeds cover; the method reads it
and never changes it. It is pure: arrays in, a page out. Ties go to the lowest page id.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.progress import Progress, silent
from orienteer.registry import ClassRegistry

if TYPE_CHECKING:
    from orienteer.seeds.cover import Cover


@dataclass(frozen=True)
class Approximation:
    """The proved quality of seeds chosen by estimates.

    Each seed adds at least the share `at_least` of what the best page would have added in its place; this holds for all
    seeds together with probability `confidence`. Measured results are far better than this bound.
    """

    at_least: float
    confidence: float
    about: str

    def combined_with(self, other: Approximation | None) -> Approximation:
        """Return the bound for the seeds of both: the smaller share, with the union bound of their errors."""
        if other is None:
            return self
        confidence = max(self.confidence + other.confidence - 1, 0.0)
        return Approximation(min(self.at_least, other.at_least), confidence, self.about)

    def __str__(self) -> str:
        return (
            f"approximate: {self.about}; with {100 * self.confidence:.0f} % confidence every seed adds at least "
            f"{100 * self.at_least:.0f} % of what the best page would"
        )


class SeedMethod(ABC):
    """Base of all methods; keyword arguments of `__init__` are the settings.

    A method that `uses_cover` ends when its next seed would add nothing, or less. The others are baselines: they take
    the first k pages of a list, whatever these add.
    """

    name: ClassVar[str]
    uses_cover: ClassVar[bool] = True

    approximation: Approximation | None = None

    @abstractmethod
    def begin(self, cover: Cover, k: int, progress: Progress = silent) -> None:
        """Start a selection of about k seeds; nothing is covered yet."""

    @abstractmethod
    def best(self, cover: Cover) -> int | None:
        """Return the page to take next; None if no page is worth taking."""

    def covered(self, pages: NDArray[np.int64], cover: Cover) -> None:  # noqa: B027 (many methods only read the cover)
        """Receive the pages that the last seed covered, before the next call of `best`."""


METHODS: ClassRegistry[SeedMethod] = ClassRegistry(
    "seed method", SeedMethod, package="orienteer.seeds", group="orienteer.seed_methods"
)
seed_method = METHODS.register  # the decorator that registers a method under its name


def checked_depth(depth: int) -> int:
    if depth < 0:
        raise InputError(f"depth is {depth}; it must be 0 or more")
    return depth
