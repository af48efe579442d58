"""Schedule the retries of pages whose fetch failed. Time is an argument.

A page that fails leaves the frontier for a while, so that the other pages of its host come first. A page that its host
refused (429) returns only after another response of the host, or when no other page of the host is waiting. After a
failure that says nothing about the page (no connection) the page stays in the frontier, and its host backs off.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable

from orienteer.crawl.crawl import Crawl
from orienteer.crawl.frontier import LAST
from orienteer.crawl.politeness import HOST_FAILURES, Failure, HostHealth
from orienteer.pages.outcome import Outcome

_RECHECK_S = 0.25  # until the next check whether other pages of the host are waiting


class Retries:
    """The failed attempts of each page, and the pages that wait outside the frontier.

    `shares_slot` returns whether a host shares its slot with others: then the slot is not snoozed, since the others
    need not back off.
    """

    def __init__(self, crawl: Crawl, health: HostHealth, shares_slot: Callable[[int], bool]) -> None:
        self._crawl, self._health, self._shares_slot = crawl, health, shares_slot
        self._attempts: Counter[int | str] = Counter()  # failed ones, by page or by URL of a sitemap
        self._waiting: list[tuple[float, int]] = []  # a heap of (due time, page)

    def __len__(self) -> int:
        """The number of pages that wait outside the frontier."""
        return len(self._waiting)

    def n_attempts(self, page: int) -> int:
        """The failed attempts that count against the page."""
        return self._attempts[page]

    def record_failure(self, host: int, key: int | str | None, failure: Failure, now: float) -> float | None:
        """Record a failed request; return the back-off of its host, None if the host is now abandoned.

        `key` is the page or the URL of the sitemap, if the request was for one.
        """
        back_off_s = self._health.record(host, key, failure, now)
        if back_off_s is None:
            self._waiting = [(now if self._host(page) == host else due, page) for due, page in self._waiting]
            heapq.heapify(self._waiting)
            self._crawl.wake(host)
        return back_off_s

    def was_last_attempt(self, key: int | str, host: int, outcome: Outcome) -> bool:
        """Count a failed attempt of a page, or of the sitemap with this URL; return whether it was the last one.

        Call `record_failure` first. A refused sitemap delays the pages of its host, so each of its refusals counts.
        """
        counts = outcome not in HOST_FAILURES
        if outcome is Outcome.SLOW_DOWN:
            counts = isinstance(key, str) or self._health.is_suspect(host, key)
        self._attempts[key] += counts
        is_over = self._attempts[key] >= self._health.settings.max_attempts
        if is_over or self._health.is_abandoned(host) or self._health.is_refused(host, key):
            self.forget(key, host)
            return True
        return False

    def forget(self, key: int | str, host: int) -> None:
        """Drop the failures of a page or sitemap that is done."""
        self._attempts.pop(key, None)
        self._health.forget(host, key)

    def requeue_later(
        self, page: int, host: int, outcome: Outcome, now: float, back_off_s: float, retry_after_s: float | None = None
    ) -> float:
        """Schedule the next attempt of a page; return how long it waits outside the frontier."""
        if outcome in HOST_FAILURES and outcome is not Outcome.SLOW_DOWN:
            return self.retry(page, host, now, back_off_s)
        if outcome is not Outcome.SLOW_DOWN:
            retry_after_s = None
        wait_s = self._health.page_wait_s(host, page, self._attempts[page], back_off_s, retry_after_s)
        self.wait(page, now, wait_s)
        self.back_off(host, now, back_off_s)
        return wait_s

    def retry(self, page: int, host: int, now: float, back_off_s: float) -> float:
        """Retry a page after the back-off of its host; return how long it waits outside the frontier.

        It waits outside the frontier only if its host shares a slot with others, which need not back off.
        """
        if back_off_s and self._shares_slot(host):
            self.wait(page, now, back_off_s)
            return back_off_s
        self._crawl.retry(page, now)
        self.back_off(host, now, back_off_s)
        return 0.0

    def wait(self, page: int, now: float, wait_s: float) -> None:
        """Keep the page outside the frontier for `wait_s`; its host is free for other pages."""
        self._crawl.defer_retry(page, now)
        heapq.heappush(self._waiting, (now + wait_s, page))

    def back_off(self, host: int, now: float, back_off_s: float) -> None:
        """Back off from the host, unless it shares its slot with others."""
        if back_off_s and not self._shares_slot(host):
            self._crawl.snooze(host, now + back_off_s)

    def requeue(self, now: float) -> None:
        """Return all pages to the frontier whose wait is over; `now` may be infinite."""
        while self._waiting and self._waiting[0][0] <= now:
            page = heapq.heappop(self._waiting)[1]
            host = self._host(page)
            is_in_doubt = now < math.inf and self._health.is_in_doubt(host, page)
            is_alone = not self._shares_slot(host)
            if is_in_doubt and is_alone and self._crawl.has_pages(host):
                due = now + max(self._health.back_off_left_s(host, now), _RECHECK_S)
                heapq.heappush(self._waiting, (due, page))
                continue
            self._crawl.retry(page, now)
            if is_in_doubt and not is_alone:
                self._crawl.prioritize([page], [LAST])  # the frontier has no pages by host where hosts share a slot

    def next_time(self) -> float | None:
        """Return when the next page returns to the frontier; None if no page waits."""
        return self._waiting[0][0] if self._waiting else None

    def _host(self, page: int) -> int:
        return int(self._crawl.web.page_hosts.array[page])
