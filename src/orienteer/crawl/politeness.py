"""When a host may be requested again: limits of its own, and after failures. Time is an argument.

There are three kinds of failures:

    of the host   no address, no connection, an unreachable robots.txt: nothing to do with the requested page. The
                  crawl backs off from the host, twice as long after each such failure in a row. After `give_up_after`
                  of them in a row it abandons the host: by default eight, at least four minutes after the first. Any
                  response ends the streak.
    refusals      429, 503 with Retry-After: either the host limits all requests, or this page is always refused. Only
                  other pages show which, so refusals count by distinct page, in one streak with failures of the host.
                  The crawl backs off as above, at least for the `Retry-After`. The caller tries the other pages of the
                  host first (`is_in_doubt`). After a success of the host, a page that it refused before is a *suspect*:
                  further refusals of it, and their `Retry-After`, count for that page alone, and the host backs off
                  for `back_off_s`. A page that is refused `give_up_after` times in a row, without any other response
                  of the host, is abandoned alone (`is_refused`).
    of a page     5xx, a broken response, a timeout: perhaps only this page is broken. The page waits, and the crawl
                  continues with other pages of the host. They count by distinct page: three tries of one page are one
                  failure. From the third page in a row on, the crawl backs off from the host, too. After
                  `give_up_after` distinct pages in a row without any response it abandons the host. A success (a page,
                  a redirect, a 404) ends the streak.

A host that responds is alive, even with 5xx. It may fail on four times as many pages in a row, which by default takes
four minutes as well, or on as many as it has had successes, up to a hundred. So failed requests do not exceed the
successful ones by much.

The pages of an abandoned host are reported as blocked, with the reason given here, and their mass as unreachable. If a
host has few pages left, they are blocked one by one before the host is abandoned.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from orienteer.errors import InputError
from orienteer.pages.outcome import Outcome
from orienteer.settings import check, setting


@dataclass(frozen=True)
class Politeness:
    """At most `connections` requests to a host at once, and `delay_s` between the end of one and the next.

    With `per_host=False` there are no such limits: hosts are ignored, and the best page always goes first.
    """

    per_host: bool = setting(True, "Limit requests by host; false: none of the limits below.")
    delay_s: float = setting(
        1.0, "Seconds between two requests to a host.", option="--delay", group="Politeness", basic=True, least=0
    )
    connections: int = setting(1, "Concurrent requests per host.", option="--connections", group="Politeness", least=1)

    def __post_init__(self) -> None:
        check(self)


ANY_TIME = Politeness(per_host=False, delay_s=0.0)


Host = int | str  # its number in a crawl, or its name

# They count for the host, so that a short outage uses up no attempts of a page. SLOW_DOWN may concern only the page.
HOST_FAILURES = frozenset((Outcome.SLOW_DOWN, Outcome.NO_ADDRESS, Outcome.NO_CONNECTION))
MIN_BACK_OFFS = 2  # before a host is abandoned: requests that were in flight together fail in one incident
BROKEN_PAGES = 2  # in a row before a host backs off: links to broken pages often come together
TIMEOUT_FACTOR = 4  # times as many pages may fail in a row on a host that responds
MAX_CREDIT = 100  # pages in a row that may fail on a host with earlier successes
MAX_PAGE_BACK_OFF = 4  # times `back_off_s`, for failures of pages: the host may be healthy


@dataclass(frozen=True)
class RetrySettings:
    """How often to try again, and how long to wait.

    After a failure the page or its host waits for `back_off_s`, and twice as long after each further one in a row. A
    host that responds, but only with errors, is abandoned after four times as many pages.
    """

    max_attempts: int = setting(
        3,
        "Attempts for one page. Those without a connection count only for the host, and refusals (429) count for the "
        "page once the host has had successes in between.",
        least=1,
    )
    back_off_s: float = setting(2.0, "Seconds to wait after a first failure.", least=0)
    max_back_off_s: float = setting(300.0, "Longest wait, in seconds.", least=0)
    max_retry_after_s: float = setting(3600.0, "Longest wait if the host asks for it (Retry-After).", least=0)
    give_up_after: int = setting(
        8,
        "A host is abandoned after this many failures in a row, of the host or of different pages, with at least two "
        "waits between them.",
        least=1,
    )

    def __post_init__(self) -> None:
        check(self)
        if self.max_back_off_s < self.back_off_s:
            raise InputError(
                f"max_back_off_s is {self.max_back_off_s}; it must be at least back_off_s, {self.back_off_s}"
            )


class Failure(NamedTuple):
    """A failed request: its outcome, and why; the wait that the host asks for; whether there was a response."""

    outcome: Outcome
    why: str = ""
    retry_after_s: float | None = None
    got_response: bool = False


@dataclass(slots=True)
class _FailureRecord:
    since: float
    retry_at: float
    n_host_failures: int = 0  # failures of the host since its last response of any kind
    refused: Counter[int | str] = field(default_factory=Counter)  # refusals since then, by page
    n_suspect_refusals: int = 0  # refusals of suspects since the last success
    without_response: set[int | str] = field(default_factory=set)  # pages that got no response since then
    pages: set[int | str] = field(default_factory=set)  # pages that failed since the last success
    n_back_offs: int = 0  # that have ended and were followed by another failure
    has_backed_off: bool = False
    last_reason: str = ""
    abandoned_at: float | None = None

    @property
    def n_failures(self) -> int:
        return self.n_host_failures + self.refused.total() + self.n_suspect_refusals + len(self.pages)


class HostHealth:
    """The failing hosts, and the number of successes of all hosts. A refused sitemap is identified by its URL.

    >>> health = HostHealth(RetrySettings(back_off_s=2.0))
    >>> [health.record_failure(7, now) for now in (0.0, 2.0)], health.record_failure(7, 6.0, retry_after_s=60.0)
    ([2.0, 4.0], 60.0)
    >>> health.record_success(7)
    >>> [health.record_page_failure(7, page, now=70.0, got_response=True) for page in (1, 1, 2, 3)]
    [0.0, 0.0, 0.0, 2.0]
    """

    def __init__(self, settings: RetrySettings | None = None) -> None:
        self.settings = settings or RetrySettings()
        self._failing: dict[Host, _FailureRecord] = {}
        self._suspects: dict[Host, set[int | str]] = {}
        self._n_successes: Counter[Host] = Counter()
        self._n_abandoned = 0

    def record_success(self, host: Host) -> None:
        """Record a success (a 404 is one, too): the host is healthy again, even if it was abandoned."""
        self._n_successes[host] += 1
        record = self._failing.pop(host, None)
        if record is None:
            return
        if record.refused:
            self._suspects.setdefault(host, set()).update(record.refused)
        if record.abandoned_at is not None:
            self._n_abandoned -= 1

    def record_failure(
        self, host: Host, now: float, retry_after_s: float | None = None, why: str = "", page: int | str | None = None
    ) -> float | None:
        """Record a failure of the host, or that it refused this `page`; return the back-off, None once abandoned."""
        record = self._failure_record(host, now, why)
        if record.abandoned_at is not None:
            return None
        if page is not None and self.is_suspect(host, page):
            record.n_suspect_refusals += 1
            return self._apply_failure(record, now, self._back_off_s(1, None), at_limit=False)
        if page is None:
            record.n_host_failures += 1
        else:
            record.refused[page] += 1
        n_counted = record.n_host_failures + len(record.refused)
        at_limit = n_counted >= self.settings.give_up_after
        return self._apply_failure(record, now, self._back_off_s(n_counted, retry_after_s), at_limit)

    def record(self, host: Host, key: int | str | None, failure: Failure, now: float) -> float | None:
        """Record a failed request by its outcome; return the back-off of its host, None once abandoned.

        `key` identifies the page, asset or sitemap, if the failure may be due to it alone.
        """
        if key is not None and failure.outcome not in HOST_FAILURES:
            return self.record_page_failure(host, key, now, failure.got_response, failure.why)
        refused = key if failure.outcome is Outcome.SLOW_DOWN else None
        return self.record_failure(host, now, failure.retry_after_s, failure.why, refused)

    def is_suspect(self, host: Host, page: int | str) -> bool:
        """Whether the host has had a success since it refused this page."""
        return page in self._suspects.get(host, ())

    def is_in_doubt(self, host: Host, page: int) -> bool:
        """Whether the host has refused this page and has not responded since: its other pages should be tried first."""
        record = self._failing.get(host)
        return record is not None and record.abandoned_at is None and page in record.refused

    def is_refused(self, host: Host, page: int | str) -> bool:
        """Whether a page was refused too often in a row, without any other response of the host."""
        record = self._failing.get(host)
        return record is not None and record.refused[page] >= self.settings.give_up_after

    def forget(self, host: Host, page: int | str) -> None:
        """Drop the refusals of a page that is done."""
        suspects = self._suspects.get(host, set())
        suspects.discard(page)
        if not suspects:
            self._suspects.pop(host, None)

    def record_page_failure(
        self, host: Host, page: int | str, now: float, got_response: bool, why: str = ""
    ) -> float | None:
        """Record a failure of a page; return the back-off of its host, 0 for the usual delay, None once abandoned."""
        record = self._failure_record(host, now, why)
        if record.abandoned_at is not None:
            return None
        record.pages.add(page)
        if got_response:
            record.n_host_failures = 0
            record.refused.clear()
            record.without_response.clear()
        else:
            record.without_response.add(page)
        limit = self.settings.give_up_after
        max_pages = max(TIMEOUT_FACTOR * limit, min(self._n_successes[host], MAX_CREDIT))
        at_limit = len(record.without_response) >= limit or len(record.pages) >= max_pages
        n_counted = len(record.pages) - BROKEN_PAGES
        longest = MAX_PAGE_BACK_OFF * self.settings.back_off_s
        back_off_s = min(self._back_off_s(n_counted, None), longest) if n_counted > 0 else None
        return self._apply_failure(record, now, back_off_s, at_limit)

    def page_wait_s(
        self, host: Host, page: int | str, n_attempts: int, back_off_s: float = 0.0, retry_after_s: float | None = None
    ) -> float:
        """Return how long a page waits after `n_attempts` failures, where its host backs off for `back_off_s`.

        The wait grows with the number of failing pages of the host.
        """
        record = self._failing.get(host)
        n_failures = n_attempts if record is None else max(n_attempts, len(record.pages), record.refused[page])
        longest = self.settings.max_retry_after_s
        return max(back_off_s + self._back_off_s(n_failures, None), min(retry_after_s or 0.0, longest))

    def back_off_left_s(self, host: Host, now: float) -> float:
        """Return how much of the back-off of a failing host is left."""
        record = self._failing.get(host)
        return 0.0 if record is None or record.abandoned_at is not None else max(record.retry_at - now, 0.0)

    def is_abandoned(self, host: Host) -> bool:
        record = self._failing.get(host)
        return record is not None and record.abandoned_at is not None

    @property
    def n_failing(self) -> int:
        """The number of hosts that failed last time and will be tried again."""
        return len(self._failing) - self._n_abandoned

    @property
    def n_abandoned(self) -> int:
        return self._n_abandoned

    def reason(self, host: Host) -> str:
        """Return why the host is failing, in one line; "" for a healthy one."""
        record = self._failing.get(host)
        if record is None:
            return ""
        failures = f"{record.n_failures} failure{'s' * (record.n_failures > 1)} in a row"
        if len(record.pages) > 1:
            failures += f" on {len(record.pages)} pages"
        last = f", the last one: {record.last_reason}" if record.last_reason else ""
        if record.abandoned_at is not None:
            return f"the host was abandoned after {failures} within {record.abandoned_at - record.since:.0f} s{last}"
        return f"the host {'backs off after' if record.has_backed_off else 'had'} {failures}{last}"

    def _failure_record(self, host: Host, now: float, why: str) -> _FailureRecord:
        record = self._failing.get(host)
        if record is None:
            record = self._failing[host] = _FailureRecord(since=now, retry_at=now)
        elif record.has_backed_off and now >= record.retry_at and record.abandoned_at is None:
            record.n_back_offs += 1
        if record.abandoned_at is None:
            record.last_reason = why
        return record

    def _apply_failure(
        self, record: _FailureRecord, now: float, back_off_s: float | None, at_limit: bool
    ) -> float | None:
        if at_limit and record.n_back_offs >= MIN_BACK_OFFS:
            record.abandoned_at = now
            self._n_abandoned += 1
            return None
        if back_off_s is not None:
            record.has_backed_off = True
            record.retry_at = max(record.retry_at, now + back_off_s)
        return max(record.retry_at - now, 0.0)

    def _back_off_s(self, n_failures: int, retry_after_s: float | None) -> float:
        settings = self.settings
        # Far beyond any maximum, without overflow.
        doubled = settings.back_off_s * 2.0 ** min(max(n_failures, 1) - 1, 64)
        back_off = min(doubled, settings.max_back_off_s)
        return back_off if retry_after_s is None else max(back_off, min(retry_after_s, settings.max_retry_after_s))
