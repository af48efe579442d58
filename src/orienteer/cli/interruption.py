"""Ctrl-C and SIGTERM end a command by an exception, so that temporary files are cleaned up.

It is an exception class of its own, since typer would catch a KeyboardInterrupt and exit silently. An exception raised
in a callback of compiled code can be lost there; so the signal is remembered, and raised again at the next progress
report.
"""

from __future__ import annotations

import atexit
import signal
from collections.abc import Callable


class Interrupted(BaseException):
    """The user or the system asked the command to end."""


_signal = 0  # the first signal that asked the command to end


def watch() -> None:
    """From now on, raise Interrupted on SIGINT and SIGTERM."""
    global _signal
    _signal = 0
    _handle_by(_interrupt)


def ignore() -> None:
    """Ignore signals from now on: the command has ended, only the interpreter has to shut down.

    Until then a no-op handler replaces SIG_IGN, which processes started meanwhile would inherit.
    """
    _handle_by(lambda *_: None)
    atexit.register(_handle_by, signal.SIG_IGN)


def check() -> None:
    """Raise Interrupted if a signal has arrived."""
    if _signal:
        raise Interrupted


def remember(number: int) -> None:
    """Store the first signal; it determines the exit code."""
    global _signal
    _signal = _signal or number


def exit_code() -> int:
    """Return the exit code of an interrupted command, as in shells: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + (_signal or signal.SIGINT)


def _handle_by(handler: Callable[..., None] | signal.Handlers) -> None:
    signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGTERM, handler)


def _interrupt(number: int, _: object) -> None:
    remember(number)
    raise Interrupted
