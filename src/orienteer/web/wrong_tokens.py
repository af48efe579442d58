"""A limit on wrong tokens per client address. Right tokens are always accepted."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

MAX_WRONG = 10  # different ones within the window; the same one again is an old link, not a guess
WINDOW_S = 60.0
_MAX_ADDRESSES = 4_096  # a bound on memory; the least recent are dropped


class WrongTokens:
    """Counts wrong tokens by client address; `clock` returns seconds.

    >>> now = [0.0]
    >>> wrong = WrongTokens(clock=lambda: now[0])
    >>> for guess in range(MAX_WRONG): wrong.note("10.0.0.1", str(guess))
    >>> wrong.must_wait_s("10.0.0.1"), wrong.must_wait_s("10.0.0.2")
    (60.0, 0.0)
    >>> now[0] = 60.0
    >>> wrong.must_wait_s("10.0.0.1")
    0.0
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guesses: OrderedDict[str, list[tuple[float, int]]] = OrderedDict()  # time and hash, by address

    def note(self, address: str, token: str) -> None:
        guesses = self._guesses.setdefault(address, [])
        self._guesses.move_to_end(address)
        if hash(token) not in (guess for _, guess in guesses):
            guesses.append((self._clock(), hash(token)))
            del guesses[:-MAX_WRONG]
        while len(self._guesses) > _MAX_ADDRESSES:
            self._guesses.popitem(last=False)

    def must_wait_s(self, address: str) -> float:
        """Return how many seconds a client must wait before it may send another wrong token; 0 below the limit."""
        guesses = self._guesses.get(address, [])
        return max(0.0, guesses[0][0] + WINDOW_S - self._clock()) if len(guesses) == MAX_WRONG else 0.0
