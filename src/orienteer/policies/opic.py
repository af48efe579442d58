"""OPIC, Adaptive On-line Page Importance Computation (Abiteboul, Preda & Cobena, WWW 2003), for a first crawl."""

from __future__ import annotations

from typing import ClassVar

from orienteer.graph.spread import SpreadRule
from orienteer.policies.policy import policy
from orienteer.policies.spreading import SpreadingPolicy


@policy
class Opic(SpreadingPolicy):
    """Fetch the page with the most cash; it distributes all of it evenly over its links.

    Pages are fetched once here, so cash for a fetched page is lost. It is Fractional PageRank without damping.
    """

    name: ClassVar[str] = "opic"
    rule = SpreadRule(1.0, 1.0, 0.0)
    per_trust = 1.0
