"""Why a crawl, a simulation, a replay, an estimate or a survey stopped."""

from __future__ import annotations

from enum import StrEnum


class StopReason(StrEnum):
    COVERAGE = "coverage"  # the target is proved
    MEASURED = "measured coverage"  # walks claim that the target is reached, with the confidence of the settings
    REACHABLE = "reachable"  # the target is proved of what is reachable; of everything it cannot be
    BUDGET = "budget"  # the limit of pages is reached
    FRONTIER_EMPTY = "frontier empty"
    INTERRUPTED = "interrupted"  # by the user, or a signal
    LOGIN_FAILED = "login failed"  # the login failed; the crawl can be resumed
    IMPORTED = "imported"  # it has not run: its pages were fetched by another crawler
    SETTLED = "settled"  # an estimate does not change any more, or no walk makes a survey more precise
    PRECISE = "half width"  # a survey is as precise as its goal
    NO_PAGE_LEFT = "no page left"  # that an estimate could fetch

    @property
    def is_pause(self) -> bool:
        """Whether the crawl was paused, and has not ended by itself."""
        return self in (StopReason.INTERRUPTED, StopReason.LOGIN_FAILED)
