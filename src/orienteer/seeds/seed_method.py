"""What a method of choosing seeds is.

A method is asked for one seed after the other; what the seeds cover is kept by the Cover (see cover.py), which the
method reads and never changes. It is pure: arrays in, a page out. Ties go to the lowest page id.
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
    """How far a method that estimates may be off.

    Each seed adds at least `at_least` of what the best page would have added in its place; this holds for all seeds
    together with probability `confidence`. It is what can be proved; what was measured is far better.
    """

    at_least: float
    confidence: float
    about: str

    def and_also(self, other: Approximation | None) -> Approximation:
        """What holds of both: the smaller share, unless one of the two fails."""
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

    A method that `looks_at_cover` ends where its next seed would add nothing, or less. The others are the heuristics to
    beat: they take the first k pages of a list, whatever these add.
    """

    name: ClassVar[str]
    looks_at_cover: ClassVar[bool] = True

    approximation: Approximation | None = None

    @abstractmethod
    def begin(self, cover: Cover, k: int, progress: Progress = silent) -> None:
        """Nothing is covered yet; about k seeds will be asked for."""

    @abstractmethod
    def best(self, cover: Cover) -> int | None:
        """The page to take next; None where the method finds nothing that is worth it."""

    def covered(self, pages: NDArray[np.int64], cover: Cover) -> None:  # noqa: B027 (many look at the cover alone)
        """The last seed covered these pages; another one will be asked for."""


METHODS: ClassRegistry[SeedMethod] = ClassRegistry(
    "seed method", SeedMethod, package="orienteer.seeds", group="orienteer.seed_methods"
)
seed_method = METHODS.register  # the decorator that registers a method under its name


def checked_depth(depth: int) -> int:
    if depth < 0:
        raise InputError(f"depth is {depth}; it must be 0 or more")
    return depth
