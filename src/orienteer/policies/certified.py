"""The default policy: the fewest fetches to a certified coverage, with the least work."""

from __future__ import annotations

from typing import ClassVar

from orienteer.errors import InputError
from orienteer.policies.policy import checked_damping, policy
from orienteer.policies.pushing import PushingPolicy


@policy
class Certified(PushingPolicy):
    """RankMass's order with dangling pages in closed form, stopped by the tight certificate (graph/coverage.py).

    The certificate proves the best bound that the known links allow, and is updated only when it could reach the
    target, so the crawl ends at the first page that suffices: about a fifth to a third fewer fetches than RankMass's
    own guarantee needs. With `eagerness` below 1, mass on fetched pages is pushed earlier (near 0: all of it
    before each fetch); this costs work and hardly saves fetches.
    """

    name: ClassVar[str] = "certified"
    closed = True

    def __init__(self, eagerness: float = 1.0, damping: float = 0.85) -> None:
        if not 1e-6 <= eagerness <= 1:
            raise InputError(f"eagerness is {eagerness}; it must be from 1e-6 to 1 (1 is RankMass's order)")
        self.eagerness = eagerness
        self.damping = checked_damping(damping)
