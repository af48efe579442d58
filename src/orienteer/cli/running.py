"""Signals and waiting messages of commands that fetch."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from orienteer.cli import interruption

if TYPE_CHECKING:
    from orienteer.live.live_crawl import LiveCrawl

_TIMEOUT_S = 2.0


@contextmanager
def stoppable(live: LiveCrawl) -> Iterator[None]:
    """Stop the crawl on SIGINT, SIGTERM or SIGHUP; a second signal stops it at once."""

    def stop(number: int, _: object) -> None:
        # Only set a flag: an exception raised in a callback of libcurl would be lost.
        interruption.remember(number)
        live.stop_level += 1

    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # nohup
        numbers.remove(signal.SIGHUP)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def waiting(folder: Path, quiet: bool) -> Iterator[None]:
    """Print a line if the preparation takes long; Ctrl-C and SIGTERM exit at once."""

    def leave(number: int, _: object) -> None:
        # Exit at once, since an exception raised in a callback of the compiler would be lost. This is safe: files are
        # replaced atomically here.
        say("orienteer: interrupted")
        os._exit(128 + number)

    why = " (reading the crawl so far)" if (folder / "crawl.db").exists() else ""
    timer = threading.Timer(_TIMEOUT_S, say, [f"preparing{why}…"])
    timer.daemon = True
    if not quiet:
        timer.start()
    before = {number: signal.signal(number, leave) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


def say(line: str) -> None:
    """Print a line to stderr, which may be closed."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)
