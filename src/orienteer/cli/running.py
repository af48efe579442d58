"""Run a crawl from a command: signals, waiting messages, display."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from orienteer.cli import interruption
from orienteer.progress import silent

if TYPE_CHECKING:
    from orienteer.cli.options import GivenSettings
    from orienteer.inspect.figures import CrawlFigures
    from orienteer.inspect.run_report import Report
    from orienteer.ledger.plan import CrawlPlan
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


def run_crawl(
    folder: Path,
    plan: CrawlPlan,
    given: GivenSettings,
    *,
    refresh: bool = False,
    now: float | None = None,
    topic: Path | None = None,
    watch: Callable[[CrawlFigures], None] = lambda figures: None,
    quiet: bool = False,
    json: bool = False,
) -> Report:
    """Crawl, or refresh a crawl as of the time `now`, with display and signals; `watch` also gets the figures."""
    from orienteer.cli import crawl_display, display

    is_new = not (folder / "crawl.db").exists()
    with ExitStack() as stack:
        with waiting(folder, quiet or json):
            from orienteer.credentials.credentials_file import read_credentials
            from orienteer.live import session
            from orienteer.live.seed_check import nothing_crawled

            granted = None if given.credentials is None else read_credentials(given.credentials, folder)
            with display.progress_bar() as progress:
                opened = session.open_crawl(
                    folder, plan, refresh, now, silent if quiet or json else progress, topic, given.hooks,
                    given.cluster, granted, given.browser,
                )  # fmt: skip
                live = stack.enter_context(opened)
        if live.ledger.folder.upgrade is not None:
            say(live.ledger.folder.upgrade)
        if granted is not None and not quiet and not granted.covers(plan.crawl.seeds):
            say(f"--credentials: no start page is at {', '.join(granted.origins)}; http and https are different")
        stack.enter_context(stoppable(live))
        with crawl_display.progress_display(folder, quiet) as show:

            def watch_all(figures: CrawlFigures) -> None:
                show(figures, live.stop_level)
                watch(figures)

            report = session.run(live, watch_all, None if quiet else say)
        if is_new and not report.has_pages and not report.stopped_because.is_pause:
            raise nothing_crawled(report.failed_seeds)  # the context removes the new folder
        return report
