"""The states of a page in a crawl, and which may follow which.

    known ──> in flight ──> fetched
      │           ├──────> failed      (gone, an error that will stay)
      │           ├──────> blocked     (robots, a dead host)
      │           └──────> known       (to be tried again)
      └──────────────────> blocked

The numbers are those that databases hold.
"""

from __future__ import annotations

from enum import IntEnum


class PageState(IntEnum):
    KNOWN = 0
    IN_FLIGHT = 1
    FETCHED = 2
    FAILED = 3
    BLOCKED = 4


TRANSITIONS: dict[PageState, frozenset[PageState]] = {
    PageState.KNOWN: frozenset({PageState.IN_FLIGHT, PageState.BLOCKED}),
    PageState.IN_FLIGHT: frozenset({PageState.FETCHED, PageState.FAILED, PageState.BLOCKED, PageState.KNOWN}),
    PageState.FETCHED: frozenset(),
    PageState.FAILED: frozenset(),
    PageState.BLOCKED: frozenset(),
}
