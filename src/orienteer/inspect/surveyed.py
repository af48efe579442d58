"""How far the random walks of a crawl's survey are, told from its figures, and in words.

Until they have reached their goal they are no more than evidence: an estimate, without a bound that one may rely on.
Then they say: at least the goal, with the confidence that was asked for. What is measured is never called proved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orienteer.crawl.crawl import FIRST
from orienteer.graph.survey.measured import Measured, confidence_text
from orienteer.wording import counted, goal_share

_MOST_WALKS = 1e12  # a priority below FIRST / this is that of a policy


@dataclass(frozen=True)
class Surveyed:
    """A survey while it goes on, or as it ended.

    `measured` is None before the first walk has ended. `evidence` is how far the walks are: at 1 the goal is reached.
    `is_proved` says that the coverage which they are to measure is proved anyway.
    """

    measured: Measured | None
    evidence: float
    until: float
    of_reachable: bool
    is_proved: bool

    @property
    def is_reached(self) -> bool:
        return self.evidence >= 1.0 and self.measured is not None

    @property
    def claimed(self) -> float | None:
        """The coverage that is claimed with the confidence; None while none is."""
        return self.until if self.is_reached else None

    def in_words(self) -> str:
        """What is measured: `measured: 98.3 %, at least 98 % with 99.9 % confidence (412 walks, 603 probes)`."""
        found = self.measured
        if found is None:
            return "not measured yet"
        goal = goal_share(self.until) + " of what is reachable" * self.of_reachable
        if self.is_reached:
            return f"measured: {measured_in_words(found, goal)}"
        return f"measured: {measured_in_words(found)}; evidence for {goal}: {evidence_text(self.evidence)}"


def measured_in_words(found: Measured, claimed: str = "") -> str:
    """An estimate; with what is claimed where walks have reached it: `98.3 %, at least 98 % with 99 % confidence`."""
    about, walks = f"{100 * found.estimate:.1f} %", counted(found.n_walks, "walk")
    walked = f"({walks}, {counted(found.n_probes, 'probe')})"
    if not claimed:
        return f"about {about} {walked}"
    return f"{about}, at least {claimed} with {confidence_text(found.confidence)} confidence {walked}"


def surveyed(figures: Mapping[str, Any] | None) -> Surveyed | None:
    """The survey that the figures of a crawl tell of; None where there is none, or they cannot be understood."""
    try:
        assert figures is not None
        evidence, until, proved = figures["evidence"], figures["until"], figures["certificate"]
        measured = None if figures["measured"] is None else _measured(figures["measured"])
        of_reachable = measured.of_reachable if measured is not None else bool(figures["of_reachable"])
        lower = float(proved["of_reachable"] if of_reachable else proved["lower"])
        return Surveyed(measured, float(evidence), float(until), of_reachable, lower >= until)
    except (AssertionError, KeyError, TypeError, ValueError):
        return None


def evidence_text(evidence: float) -> str:
    """As in 43 %; not 100 % before that is so."""
    return f"{int(100 * max(evidence, 0.0))} %"


def walk_of(priority: float) -> int | None:
    """The walk, counted from 1, that needs a page of this priority; None if no walk does."""
    return round(FIRST / priority) if priority > FIRST / _MOST_WALKS else None


def _measured(values: Mapping[str, Any]) -> Measured:
    shares = {name: float(values[name]) for name in ("lower", "upper", "estimate", "confidence")}
    n_walks, n_probes = int(values["n_walks"]), int(values["n_probes"])
    return Measured(n_walks=n_walks, n_probes=n_probes, of_reachable=bool(values["of_reachable"]), **shares)
