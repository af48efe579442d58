"""Who has guessed too often must wait: a limit on wrong tokens, by the address that they come from."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

MAX_WRONG = 10  # within the time below
WINDOW_S = 60.0
_MAX_ADDRESSES = 4_096  # that are kept in mind


class WrongTokens:
    """Counts wrong tokens; `clock` says how many seconds have passed.

    >>> now = [0.0]
    >>> wrong = WrongTokens(clock=lambda: now[0])
    >>> for _ in range(MAX_WRONG): wrong.note("10.0.0.1")
    >>> wrong.must_wait_s("10.0.0.1"), wrong.must_wait_s("10.0.0.2")
    (60.0, 0.0)
    >>> now[0] = 60.0
    >>> wrong.must_wait_s("10.0.0.1")
    0.0
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: OrderedDict[str, list[float]] = OrderedDict()  # of the last wrong tokens, by address

    def note(self, address: str) -> None:
        times = self._times.setdefault(address, [])
        times.append(self._clock())
        del times[:-MAX_WRONG]
        self._times.move_to_end(address)
        while len(self._times) > _MAX_ADDRESSES:
            self._times.popitem(last=False)

    def must_wait_s(self, address: str) -> float:
        """How long no token is looked at that comes from there."""
        times = self._times.get(address, [])
        return max(0.0, times[0] + WINDOW_S - self._clock()) if len(times) == MAX_WRONG else 0.0
