"""When a crawl may stop, and whether it then reached its goal.

    goal                 ended because of                    ending        success
    a coverage           its coverage (proved or measured)   GOAL          yes
    a coverage           anything else: its limit, blocked   MISSED        no
                         pages, nothing left to fetch
    a limit of pages     the limit, while pages are left     LIMIT         yes
    a limit, or nothing  nothing left to fetch               EVERYTHING    yes
    a limit, or nothing  the same, but no page could be      MISSED        no
                         fetched, or too many were lost
    any                  Ctrl-C, a signal, a lost login      PAUSED        no; it can be resumed

A limit is not a goal: reaching it is a success where there is no goal, and is never called a goal.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from orienteer.errors import InputError, unknown_name
from orienteer.graph.survey.crawl_survey import check_confidence
from orienteer.pages.stop_reason import StopReason

_CONFIDENCE = 0.999
_ADDED = ("certificate", "reachable")
_MAX_ABANDONED_SHARE = 0.01  # of the pages done: with more abandoned pages a crawl has not fetched everything


class Ending(StrEnum):
    """The result of a run, compared with its goal (the table above)."""

    GOAL = "goal reached"
    EVERYTHING = "everything fetched"
    LIMIT = "limit reached"
    MISSED = "goal not reached"
    PAUSED = "paused"

    @property
    def is_success(self) -> bool:
        """Whether the run reached its goal or its limit: exit code 0."""
        return self in (Ending.GOAL, Ending.EVERYTHING, Ending.LIMIT)

    @property
    def goal_reached(self) -> bool:
        return self in (Ending.GOAL, Ending.EVERYTHING)

    @property
    def colour(self) -> str:
        """The colour of its headline in a terminal."""
        return {"goal not reached": "yellow", "paused": "yellow", "limit reached": "cyan"}.get(self, "green")


@dataclass(frozen=True)
class Goal:
    """When to stop: at a coverage, at a number of pages, or (neither) when nothing is left.

    A coverage of 1 can hardly be proved: it means everything that can be fetched, and is the same as no coverage.
    If the policy proves coverage itself, its proof decides, unless `by_certificate`; for other policies the certificate
    decides. It also decides where a policy's own proof does not hold: with redirects, or with unknown trust.
    With a `confidence` the coverage is measured, too: the crawl stops when it is either proved or measured.

    Blocked pages may make a coverage impossible. The crawl then continues until it has that coverage *of what is
    reachable*, and ends as MISSED (without `or_reachable`: it continues until nothing is left). With `of_reachable` the
    coverage of what is reachable is the goal, and the certificate decides.
    """

    until: float | None = None
    budget: int | None = None
    by_certificate: bool = False
    of_reachable: bool = False
    or_reachable: bool = True
    confidence: float | None = None

    def __post_init__(self) -> None:
        if self.confidence is not None:
            check_confidence(self.confidence)
        if self.until == 1:
            object.__setattr__(self, "until", None)
        if self.until is not None and not 0 < self.until < 1:
            raise InputError(f"until is {self.until}; a coverage lies between 0 and 1, such as 0.98")
        if self.budget is not None and self.budget < 1:
            raise InputError(f"budget is {self.budget}; it must be 1 or more pages")

    @classmethod
    def parse(cls, until: float | None, budget: int | None, stop_when: str) -> Goal:
        """Return the goal with the evidence that `stop_when` names, see the setting of this name.

        >>> Goal.parse(0.98, None, "measured:0.99,reachable").confidence
        0.99
        """
        names = [name.strip() for name in stop_when.split(",")]
        how, colon, confidence = names[0].partition(":")
        if how not in ("measured", "proved") or (colon and how == "proved"):
            raise InputError(f"stop_when is {stop_when!r}; it begins with measured, measured:0.999 or proved")
        for name in names[1:]:
            if name not in _ADDED:
                raise unknown_name("part of stop_when", name, _ADDED)
        try:
            share = (float(confidence) if colon else _CONFIDENCE) if how == "measured" else None
        except ValueError:
            raise InputError(f"stop_when is {stop_when!r}; the confidence is a number such as 0.999") from None
        return cls(until, budget, "certificate" in names, "reachable" in names, confidence=share)

    def ending(self, why: StopReason, n_done: int = 0, n_abandoned: int = 0, has_pages: bool = True) -> Ending:
        """Return the ending of a run with this goal that stopped for this reason.

        `n_abandoned` of the `n_done` pages were not fetched because their hosts could not be reached; without
        `has_pages` no page could be fetched at all.
        """
        if why.is_pause or why is StopReason.IMPORTED:
            return Ending.PAUSED
        if not has_pages:
            return Ending.MISSED
        if self.until is not None:
            return Ending.GOAL if why in (StopReason.COVERAGE, StopReason.MEASURED) else Ending.MISSED
        if why is StopReason.BUDGET:
            return Ending.LIMIT
        return Ending.EVERYTHING if n_abandoned <= _MAX_ABANDONED_SHARE * n_done else Ending.MISSED
