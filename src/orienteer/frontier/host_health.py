"""Which hosts are in trouble, how long they rest, and when one is given up. Time is an argument.

What a user sees: a host that fails (no connection, a time-out, 429, 5xx) is left alone for a while, twice as long after
each failure, and as long as its `Retry-After` asks; then it is tried again. One answer, and all is forgotten. A host
that fails again and again is given up: its pages are reported as blocked, with the reason given here, and their mass as
out of reach. With the default settings that takes eight failures in a row, four minutes after the first at the soonest.
"""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.errors import InputError

MIN_RESTS = 2  # before a host is given up: requests under way together fail together, and that is one incident


@dataclass(frozen=True)
class RetrySettings:
    """How often to try again, and how long to wait.

    `max_attempts` is for one page; those that did not get as far as its host count for the host alone. A host rests for
    `back_off_s` after a failure, and twice as long after each further one in a row, up to `max_back_off_s`; a longer
    `Retry-After` counts instead, but at most `max_retry_after_s`. After `give_up_after` failures in a row, with two
    rests or more between them, the host is given up.
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
    n_failures: int = 0
    n_rests: int = 0  # over, with a failure behind them
    last: str = ""
    given_up_at: float | None = None


class HostHealth:
    """The hosts in trouble; the others cost nothing.

    >>> health = HostHealth(RetrySettings(back_off_s=2.0))
    >>> health.failed(7, now=0.0), health.failed(7, now=2.0), health.failed(7, now=6.0, retry_after_s=60.0)
    (2.0, 4.0, 60.0)
    >>> health.answered(7)
    >>> health.failed(7, now=70.0)
    2.0
    """

    def __init__(self, settings: RetrySettings | None = None) -> None:
        self.settings = settings or RetrySettings()
        self._troubles: dict[int, _Trouble] = {}
        self._n_given_up = 0

    def answered(self, host: int) -> None:
        """An answer came, be it a 404: the host is well, even one that had been given up."""
        trouble = self._troubles.pop(host, None)
        if trouble is not None and trouble.given_up_at is not None:
            self._n_given_up -= 1

    def failed(self, host: int, now: float, retry_after_s: float | None = None, why: str = "") -> float | None:
        """How long the host must rest from now on; None once it is given up. `why` goes into the reason."""
        trouble = self._troubles.get(host)
        if trouble is None:
            trouble = self._troubles[host] = _Trouble(since=now, rests_until=now)
        elif trouble.given_up_at is not None:
            return None
        elif now >= trouble.rests_until:
            trouble.n_rests += 1
        trouble.n_failures += 1
        trouble.last = why
        if trouble.n_failures >= self.settings.give_up_after and trouble.n_rests >= MIN_RESTS:
            trouble.given_up_at = now
            self._n_given_up += 1
            return None
        trouble.rests_until = max(trouble.rests_until, now + self._rest_s(trouble.n_failures, retry_after_s))
        return trouble.rests_until - now

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
        last = f", the last one: {trouble.last}" if trouble.last else ""
        if trouble.given_up_at is None:
            return f"the host rests after {failures}{last}"
        return f"the host was given up after {failures} within {trouble.given_up_at - trouble.since:.0f} s{last}"

    def _rest_s(self, n_failures: int, retry_after_s: float | None) -> float:
        settings = self.settings
        # Far beyond any longest rest, and yet no overflow.
        doubled = settings.back_off_s * 2.0 ** min(n_failures - 1, 64)
        back_off = min(doubled, settings.max_back_off_s)
        return back_off if retry_after_s is None else max(back_off, min(retry_after_s, settings.max_retry_after_s))
