"""The states of a page in a crawl, and which may follow which.

    known ──> in flight ──> fetched
      │           ├──────> failed      (there is no page: 404, 410)
      │           ├──────> skipped     (an image, a file: not of a type in the settings)
      │           ├──────> blocked     (robots.txt, an abandoned host: there may be a page)
      │           └──────> known       (to be retried)
      └──────────────────> blocked

The numbers are stored in databases.
"""

from __future__ import annotations

from enum import IntEnum


class PageState(IntEnum):
    KNOWN = 0
    IN_FLIGHT = 1
    FETCHED = 2
    FAILED = 3
    BLOCKED = 4
    SKIPPED = 5


TRANSITIONS: dict[PageState, frozenset[PageState]] = {
    PageState.KNOWN: frozenset({PageState.IN_FLIGHT, PageState.BLOCKED}),
    PageState.IN_FLIGHT: frozenset(
        {PageState.FETCHED, PageState.FAILED, PageState.SKIPPED, PageState.BLOCKED, PageState.KNOWN}
    ),
    PageState.FETCHED: frozenset(),
    PageState.FAILED: frozenset(),
    PageState.SKIPPED: frozenset(),
    PageState.BLOCKED: frozenset(),
}

# The states that count as fetched in the certificate, since the content is known.
COUNTS_AS_FETCHED = (PageState.FETCHED, PageState.FAILED, PageState.SKIPPED)
