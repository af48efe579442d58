"""Why a crawl, a simulation, a replay, an estimate or a survey stopped."""

from __future__ import annotations

from enum import StrEnum


class StopReason(StrEnum):
    COVERAGE = "coverage"  # the target is proved
    MEASURED = "measured coverage"  # walks say that the target is reached, with the confidence that was asked for
    REACHABLE = "reachable"  # the target is reached of what is reachable; of everything it cannot be
    BUDGET = "budget"
    FRONTIER_EMPTY = "frontier empty"
    INTERRUPTED = "interrupted"  # somebody asked it to stop
    LOGIN_FAILED = "login failed"  # what the crawl has access to is closed to it; it can be resumed
    IMPORTED = "imported"  # it never ran: others have fetched its pages
    SETTLED = "settled"  # an estimate does not change any more, or no walk makes a survey more precise
    PRECISE = "half width"  # a survey is as precise as was asked for
    NO_PAGE_LEFT = "no page left"  # that an estimate could fetch

    @property
    def is_pause(self) -> bool:
        """Whether the crawl had not come to an end of its own."""
        return self in (StopReason.INTERRUPTED, StopReason.LOGIN_FAILED)
