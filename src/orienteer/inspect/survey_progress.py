"""The progress of a crawl's survey, and its text.

Until the walks have reached their goal they are only evidence: an estimate, without a reliable bound. Then they claim:
at least the goal, with the confidence of the settings. What is measured is never called proved.
"""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.crawl.crawl import FIRST
from orienteer.graph.survey.measured import Measured, confidence_text
from orienteer.wording import SAME_RESPONSES, counted, goal_share

_MOST_WALKS = 1e12  # a priority below FIRST / this is that of a policy


@dataclass(frozen=True)
class SurveyProgress:
    """A survey while it runs, or as it ended.

    `measured` is None before the first walk has ended. `evidence` is the progress of the walks: at 1 the goal is
    reached. `is_proved` is whether the coverage that they measure is proved anyway.
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
        """The coverage that is claimed with the confidence; None before the goal is reached."""
        return self.until if self.is_reached else None

    def describe(self, how: str = "measured") -> str:
        """Describe what is measured: `measured: 98.3 %, at least 98 % with 99.9 % confidence (412 walks, ...)`."""
        measured = self.measured
        if measured is None:
            return "not measured yet"
        goal = goal_share(self.until, self.of_reachable)
        if self.is_reached:
            return f"{how}: {describe_measured(measured, goal)}"
        return f"{how}: {describe_measured(measured)}; evidence for {goal}: {evidence_text(self.evidence)}"


def measured_from(epoch: int) -> str:
    """Say from which seeds the coverage of an epoch is measured."""
    return "measured from the seeds of the last refresh" if epoch else "measured"


def how_measured(n_unchecked: int, of_reachable: bool, epoch: int) -> str:
    """Say from which seeds a coverage is measured, and whether the archive confirms all that it depends on.

    It does not confirm which pages are blocked, and not the seeds and the visits of an epoch after the first.
    """
    return measured_from(epoch) + ", according to the folder" * bool(n_unchecked or of_reachable or epoch)


def describe_measured(measured: Measured, claimed: str = "") -> str:
    """Describe an estimate; where walks have reached their target, also the claim, its confidence and its assumption.

    `98.3 %, at least 98 % with 99 % confidence (412 walks, 603 probes), assuming that the response ...`
    """
    about, walks = f"{100 * measured.estimate:.1f} %", counted(measured.n_walks, "walk")
    walks_text = f"({walks}, {counted(measured.n_probes, 'probe')})"
    if not claimed:
        return f"about {about} {walks_text}"
    sure = f"at least {claimed} with {confidence_text(measured.confidence)} confidence"
    return f"{about}, {sure} {walks_text}, assuming that {SAME_RESPONSES}"


def evidence_text(evidence: float) -> str:
    """Format evidence as in 43 %, rounded down, so that 100 % means reached."""
    return f"{int(100 * max(evidence, 0.0))} %"


def walk_of(priority: float) -> int | None:
    """Return the walk, counted from 1, that needs a page of this priority; None if no walk does."""
    return round(FIRST / priority) if priority > FIRST / _MOST_WALKS else None
