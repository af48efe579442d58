"""RankMass (Cho & Schonfeld, VLDB 2007): fetch in the order that raises the proved coverage fastest."""

from __future__ import annotations

from typing import ClassVar

from orienteer.policies.policy import checked_damping, policy
from orienteer.policies.pushing import PushingPolicy


@policy
class RankMass(PushingPolicy):
    """Take the page with the most mass, fetched or not; fetch it if new; it passes d of its mass on to its links.

    Its own guarantee is the total mass taken, CRM; invariant: CRM = 1 - sum(rm) / (1 - d) at any time.
    A dangling page returns its mass to every trusted page, so many trusted pages make it slow.
    """

    name: ClassVar[str] = "rankmass"
    proves: ClassVar[bool] = True

    def __init__(self, damping: float = 0.85) -> None:
        self.damping = checked_damping(damping)
