"""Ctrl-C ends a command, and so does the system when it wants the process gone: what was begun is cleared away.

It is an exception of its own, since typer would take a KeyboardInterrupt for itself and end without a word. One that
comes up in a callback of compiled code can be lost there; so it is remembered, and comes up again wherever work tells
how far it is.
"""

from __future__ import annotations

import atexit
import signal
from collections.abc import Callable


class Interrupted(BaseException):
    """Somebody wants the command to end."""


_is_wanted = False


def watch() -> None:
    """From now on Ctrl-C is an Interrupted, and SIGTERM, too."""
    global _is_wanted
    _is_wanted = False
    _handle_by(_interrupt)


def ignore() -> None:
    """The command has ended, and only Python has to: there is nothing left to interrupt.

    Until Python ends, a handler stands in for SIG_IGN, which processes that are started meanwhile would inherit.
    """
    _handle_by(lambda *_: None)
    atexit.register(_handle_by, signal.SIG_IGN)


def check() -> None:
    """End here, if the command is to end."""
    if _is_wanted:
        raise Interrupted


def _handle_by(handler: Callable[..., None] | signal.Handlers) -> None:
    signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGTERM, handler)


def _interrupt(*_: object) -> None:
    global _is_wanted
    _is_wanted = True
    raise Interrupted
