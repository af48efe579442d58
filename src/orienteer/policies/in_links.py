"""In-link count (Cho, Garcia-Molina & Page, WWW 1998)."""

from __future__ import annotations

from typing import ClassVar

from orienteer.graph.spread import SpreadRule
from orienteer.policies.policy import policy
from orienteer.policies.spreading import SpreadingPolicy


@policy
class InLinks(SpreadingPolicy):
    """Fetch the page that the most fetched pages link to."""

    name: ClassVar[str] = "in-links"
    rule = SpreadRule(1.0, 1.0, 1.0)
    per_trust = 0.0
