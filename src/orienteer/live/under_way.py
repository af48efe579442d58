"""The URLs that are being asked for now, for those who watch."""

from __future__ import annotations

from heapq import nsmallest

from orienteer.inspect.fetching import MAX_CHARS, MAX_SHOWN, Fetching


class UnderWay:
    """What was asked for, by page. What has come back is dropped when the next pages are asked for: whoever looks in
    between sees what kept the crawl busy, and not the moment in which it was taken in.

    >>> under_way = UnderWay()
    >>> under_way.started(7, "https://a.example/", 10.0)
    >>> under_way.ended(7)
    >>> under_way.longest(12.5)
    (Fetching(url='https://a.example/', for_s=2.5),)
    >>> under_way.drop_ended()
    >>> under_way.longest(12.5)
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
        """Those that were asked for first, as many as are shown."""
        first = nsmallest(MAX_SHOWN, self._begun.values())
        return tuple(Fetching(url[:MAX_CHARS], round(max(now - begun, 0.0), 2)) for begun, url in first)
