"""The URLs that are in flight, for displays."""

from __future__ import annotations

from heapq import nsmallest

from orienteer.inspect.figures import MAX_CHARS, MAX_LISTED, Fetching


class InFlight:
    """The requests in flight, by page.

    Ended requests are listed until the next ones start. So a display shows what the crawl was busy with, even while
    responses are processed.

    >>> in_flight = InFlight()
    >>> in_flight.started(7, "https://a.example/", 10.0)
    >>> in_flight.ended(7)
    >>> in_flight.longest(12.5)
    (Fetching(url='https://a.example/', for_s=2.5),)
    >>> in_flight.drop_ended()
    >>> in_flight.longest(12.5)
    ()
    """

    def __init__(self) -> None:
        self._begun: dict[int, tuple[float, str]] = {}
        self._ended: list[int] = []

    def started(self, page: int, url: str, now: float) -> None:
        self._begun[page] = now, url

    def ended(self, page: int) -> None:
        self._ended.append(page)

    def drop_ended(self) -> None:
        for page in self._ended:
            self._begun.pop(page, None)
        self._ended.clear()

    def longest(self, now: float) -> tuple[Fetching, ...]:
        """Return the first few URLs that have been in flight longest."""
        first = nsmallest(MAX_LISTED, self._begun.values())
        return tuple(Fetching(url[:MAX_CHARS], round(max(now - begun, 0.0), 2)) for begun, url in first)
