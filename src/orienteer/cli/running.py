"""What commands that fetch have in common: how they are waited for, and how they are stopped."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orienteer.live.live_crawl import LiveCrawl

_PATIENCE_S = 2.0


@contextmanager
def stoppable(live: LiveCrawl) -> Iterator[None]:
    """Ctrl-C asks the crawl to end, twice to end at once; so does the system when it wants us gone."""

    def stop(*_: object) -> None:
        # Only a flag: an exception out of a callback of libcurl would be lost.
        live.stop_wanted += 1

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
    """Say why nothing is to be seen yet, if it takes long; Ctrl-C ends the wait."""

    def leave(*_: object) -> None:
        # At once, since an exception could come up in a callback of the compiler, and would be lost. Nothing else is:
        # files are only written in one piece here.
        say("orienteer: interrupted")
        os._exit(130)

    why = " (reading the crawl so far)" if (folder / "crawl.db").exists() else ""
    timer = threading.Timer(_PATIENCE_S, say, [f"preparing{why}…"])
    timer.daemon = True
    if not quiet:
        timer.start()
    before = signal.signal(signal.SIGINT, leave)
    try:
        yield
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


def say(line: str) -> None:
    """A line on stderr; nobody need be there to read it."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)
