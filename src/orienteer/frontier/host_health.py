"""Which hosts are in trouble, how long they rest, and when one is given up. Time is an argument.

There are two kinds of failures:

    of the host   no address, no connection, "slow down" (429, 503 with Retry-After), a robots.txt out of reach: that
                  says nothing about the page asked for. The host rests, twice as long after each such failure in a
                  row, and as long as its `Retry-After` asks. After `give_up_after` of them in a row it is given up: by
                  default eight, four minutes after the first at the soonest. Any answer ends the row. A page that
                  goes before all others may be refused again and again, while the others are not asked: that counts
                  once, and the page itself is given up after as many refusals.
    of a page     5xx, a broken answer, a time-out: perhaps only this page is broken. The page waits, and other pages of
                  the host are asked for meanwhile. They count by distinct page: three tries of one page are one
                  failure. From the third page in a row on the host rests, too. After `give_up_after` distinct pages in
                  a row without any answer it is given up. A good answer (a page, a redirect, a 404) ends the row.

A host that answers is alive, be it with 5xx: it may fail on four times as many pages in a row, which by default takes
four minutes as well; and on as many as it has given good answers, up to a hundred, so that little more is asked in vain
than was asked with success.

The pages of a host that is given up are reported as blocked, with the reason given here, and their mass as out of
reach. Where a host has few pages left, these are blocked one by one, and the host need not be given up.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from orienteer.errors import InputError

MIN_RESTS = 2  # before a host is given up: requests under way together fail together, and that is one incident
BROKEN_PAGES = 2  # in a row that a host may have without a rest: links to broken pages often stand together
PATIENCE = 4  # times as many pages may fail in a row on a host that answers
MAX_CREDIT = 100  # pages in a row that may fail on a host that answered well before
LONGEST_REST = 4  # times `back_off_s`, for failures of pages: the host may be well


@dataclass(frozen=True)
class RetrySettings:
    """How often to try again, and how long to wait.

    `max_attempts` is for one page; those that did not get as far as its host count for the host alone. After a failure
    the page or its host waits for `back_off_s`, and twice as long after each further one in a row, up to
    `max_back_off_s`; a longer `Retry-After` counts instead, but at most `max_retry_after_s`. After `give_up_after`
    failures in a row, of different pages unless they are the host's own, with two rests or more between them, the host
    is given up; one that answers, but with errors alone, after four times as many pages.
    """

    max_attempts: int = 3
    back_off_s: float = 2.0
    max_back_off_s: float = 300.0
    max_retry_after_s: float = 3600.0
    give_up_after: int = 8

    def __post_init__(self) -> None:
        for name in ("max_attempts", "give_up_after"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 1")
        for name in ("back_off_s", "max_back_off_s", "max_retry_after_s"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise InputError(f"{name} is {getattr(self, name)}; it must be 0 or more seconds")
        if self.max_back_off_s < self.back_off_s:
            raise InputError(
                f"max_back_off_s is {self.max_back_off_s}; it must be at least back_off_s, {self.back_off_s}"
            )


@dataclass(slots=True)
class _Trouble:
    since: float
    rests_until: float
    n_of_host: int = 0  # failures of the host since its last answer of any kind
    refused: Counter[int | str] = field(default_factory=Counter)  # how often pages that go first were, since then
    silent: set[int] = field(default_factory=set)  # pages that got no answer since then
    pages: set[int] = field(default_factory=set)  # pages that failed since the last good answer
    n_rests: int = 0  # over, with a failure behind them
    has_rested: bool = False
    last: str = ""
    given_up_at: float | None = None

    @property
    def n_failures(self) -> int:
        return self.n_of_host + len(self.pages)


class HostHealth:
    """The hosts in trouble, and how often each has answered well.

    >>> health = HostHealth(RetrySettings(back_off_s=2.0))
    >>> health.failed(7, now=0.0), health.failed(7, now=2.0), health.failed(7, now=6.0, retry_after_s=60.0)
    (2.0, 4.0, 60.0)
    >>> health.answered(7)
    >>> [health.page_failed(7, page, now=70.0, has_answered=True) for page in (1, 1, 2, 3)]
    [0.0, 0.0, 0.0, 2.0]
    """

    def __init__(self, settings: RetrySettings | None = None) -> None:
        self.settings = settings or RetrySettings()
        self._troubles: dict[int, _Trouble] = {}
        self._n_good: Counter[int] = Counter()
        self._n_given_up = 0

    def answered(self, host: int) -> None:
        """A good answer came, be it a 404: the host is well, even one that had been given up."""
        self._n_good[host] += 1
        trouble = self._troubles.pop(host, None)
        if trouble is not None and trouble.given_up_at is not None:
            self._n_given_up -= 1

    def failed(
        self, host: int, now: float, retry_after_s: float | None = None, why: str = "", first: int | None = None
    ) -> float | None:
        """The host failed, whatever the page. How long it must rest; None once it is given up.

        `first` is a page that goes before others of the host, which wait.
        """
        trouble = self._troubled(host, now, why)
        if trouble.given_up_at is not None:
            return None
        trouble.n_of_host += 1
        if first is not None:
            trouble.refused[first] += 1
        n_counted = trouble.n_of_host - trouble.refused.total() + len(trouble.refused)
        is_over = n_counted >= self.settings.give_up_after
        return self._judged(trouble, now, self._rest_s(trouble.n_of_host, retry_after_s), is_over)

    def is_refused(self, host: int, page: int | str) -> bool:
        """Whether a page that goes before others has been refused too often."""
        trouble = self._troubles.get(host)
        return trouble is not None and trouble.refused[page] >= self.settings.give_up_after

    def page_failed(self, host: int, page: int, now: float, has_answered: bool, why: str = "") -> float | None:
        """A page of the host failed. How long the host must rest, 0 for no longer than usual; None once given up."""
        trouble = self._troubled(host, now, why)
        if trouble.given_up_at is not None:
            return None
        trouble.pages.add(page)
        if has_answered:
            trouble.n_of_host = 0
            trouble.refused.clear()
            trouble.silent.clear()
        else:
            trouble.silent.add(page)
        limit = self.settings.give_up_after
        patience = max(PATIENCE * limit, min(self._n_good[host], MAX_CREDIT))
        is_over = len(trouble.silent) >= limit or len(trouble.pages) >= patience
        n_counted = len(trouble.pages) - BROKEN_PAGES
        longest = LONGEST_REST * self.settings.back_off_s
        rest_s = min(self._rest_s(n_counted, None), longest) if n_counted > 0 else None
        return self._judged(trouble, now, rest_s, is_over)

    def page_rest_s(self, host: int, n_attempts: int) -> float:
        """How long a page waits that failed so often: the longer, the more pages of its host fail."""
        trouble = self._troubles.get(host)
        return self._rest_s(max(n_attempts, 0 if trouble is None else len(trouble.pages)), None)

    def rest_left_s(self, host: int, now: float) -> float:
        """How long a host in trouble rests on."""
        trouble = self._troubles.get(host)
        return 0.0 if trouble is None or trouble.given_up_at is not None else max(trouble.rests_until - now, 0.0)

    def n_good(self, host: int) -> int:
        """The good answers of the host so far."""
        return self._n_good[host]

    def is_given_up(self, host: int) -> bool:
        trouble = self._troubles.get(host)
        return trouble is not None and trouble.given_up_at is not None

    @property
    def n_failing(self) -> int:
        """The hosts that failed last time and will be tried again."""
        return len(self._troubles) - self._n_given_up

    @property
    def n_given_up(self) -> int:
        return self._n_given_up

    def reason(self, host: int) -> str:
        """What is wrong with the host, in one line; "" for one that is well."""
        trouble = self._troubles.get(host)
        if trouble is None:
            return ""
        failures = f"{trouble.n_failures} failure{'s' * (trouble.n_failures > 1)} in a row"
        if len(trouble.pages) > 1:
            failures += f" on {len(trouble.pages)} pages"
        last = f", the last one: {trouble.last}" if trouble.last else ""
        if trouble.given_up_at is not None:
            return f"the host was given up after {failures} within {trouble.given_up_at - trouble.since:.0f} s{last}"
        return f"the host {'rests after' if trouble.has_rested else 'had'} {failures}{last}"

    def _troubled(self, host: int, now: float, why: str) -> _Trouble:
        trouble = self._troubles.get(host)
        if trouble is None:
            trouble = self._troubles[host] = _Trouble(since=now, rests_until=now)
        elif trouble.has_rested and now >= trouble.rests_until and trouble.given_up_at is None:
            trouble.n_rests += 1
        if trouble.given_up_at is None:
            trouble.last = why
        return trouble

    def _judged(self, trouble: _Trouble, now: float, rest_s: float | None, is_over: bool) -> float | None:
        if is_over and trouble.n_rests >= MIN_RESTS:
            trouble.given_up_at = now
            self._n_given_up += 1
            return None
        if rest_s is not None:
            trouble.has_rested = True
            trouble.rests_until = max(trouble.rests_until, now + rest_s)
        return max(trouble.rests_until - now, 0.0)

    def _rest_s(self, n_failures: int, retry_after_s: float | None) -> float:
        settings = self.settings
        # Far beyond any longest rest, and yet no overflow.
        doubled = settings.back_off_s * 2.0 ** min(max(n_failures, 1) - 1, 64)
        back_off = min(doubled, settings.max_back_off_s)
        return back_off if retry_after_s is None else max(back_off, min(retry_after_s, settings.max_retry_after_s))
