"""A clock for timeouts that stops while its event loop is blocked.

A loop that is blocked (by a long computation, a stopped process, a suspended machine) does not read from its sockets.
That time says nothing about the other side, so it must not count towards a timeout.
"""

from __future__ import annotations

import time

_MAX_STEP_S = 1.0  # between two calls, beyond the intended wait; the rest is skipped


class LoopClock:
    """Seconds while the loop was running: `now` as of the last call of `advance`; `skipped_s` were not counted."""

    def __init__(self) -> None:
        self.now = 0.0
        self.skipped_s = 0.0
        self._last_time = time.monotonic()

    def advance(self, waited_s: float = 0.0) -> float:
        """Advance the clock and return its time; since the last call the loop intended to wait for `waited_s`."""
        now = time.monotonic()
        elapsed_s = now - self._last_time
        step_s = min(elapsed_s, max(waited_s, 0.0) + _MAX_STEP_S)
        self.now += step_s
        self.skipped_s += elapsed_s - step_s
        self._last_time = now
        return self.now
