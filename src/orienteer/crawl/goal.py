"""When a crawl may stop."""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.errors import InputError
from orienteer.graph.survey.crawl_survey import check_confidence
from orienteer.pages.stop_reason import StopReason


@dataclass(frozen=True)
class Goal:
    """When to stop: at a coverage, at a number of pages, or (neither) when nothing is left.

    A coverage of 1 can hardly be proved: it asks for everything that can be fetched, and is no goal of its own.
    A policy that proves coverage itself is believed, unless `by_certificate`; for the others the certificate decides.
    It also decides where a policy's own proof does not hold: with redirects, and with trust that is not all known.
    With a `confidence` the coverage is measured, too, and the crawl stops by what comes first.

    Blocked pages may make a coverage impossible. The crawl then goes on until it holds *of what is reachable*, and has
    not reached its goal (without `or_reachable`: until nothing is left). With `of_reachable` that is the goal, and the
    certificate decides.
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
            raise InputError(f"budget is {self.budget}; it must be at least one page")

    def is_reached(self, stopped_because: StopReason, n_asked: int) -> bool:
        """Whether a crawl that ended for this reason did what it was asked to."""
        if self.until is not None:
            return stopped_because in (StopReason.COVERAGE, StopReason.MEASURED)
        if self.budget is not None:
            return n_asked >= self.budget
        return stopped_because == StopReason.FRONTIER_EMPTY
