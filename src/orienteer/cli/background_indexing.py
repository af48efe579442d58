"""`orienteer crawl --index`: update the index from time to time during the crawl, and at its end.

During the crawl a separate process does it, which may be killed at any moment. It gets a tenth of the time: it starts
again after ten times its last duration, at least a minute; the first time after a few seconds, so that the pages can be
searched soon. It starts no further processes, since the cores belong to the crawl, and runs at a low priority, so that
searches come first.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from orienteer.cli import display
from orienteer.progress import silent

if TYPE_CHECKING:
    from orienteer.search.indexing import IndexReport

_FIRST_PAUSE_S = 5.0
_LEAST_PAUSE_S = 60.0
_TIMES_AS_LONG = 10.0
_NICENESS = 10


class BackgroundIndexing:
    """Updates the index of a crawl folder repeatedly; call `tick` often."""

    def __init__(self, folder: Path, least_pause_s: float = _LEAST_PAUSE_S) -> None:
        self._command = [sys.executable, "-P", "-m", "orienteer", "index", str(folder), "--processes", "1"]
        self._least_pause_s = least_pause_s
        self._process: subprocess.Popen[bytes] | None = None
        self._began = self._due = time.monotonic() + min(_FIRST_PAUSE_S, least_pause_s)

    def tick(self) -> None:
        now = time.monotonic()
        if self._process is None:
            if now >= self._due:
                # In its own session, since Ctrl-C is for the crawl. An error is reported at the end, when it recurs.
                none = subprocess.DEVNULL
                self._process = subprocess.Popen(
                    self._command, stdin=none, stdout=none, stderr=none, start_new_session=True
                )
                os.setpriority(os.PRIO_PROCESS, self._process.pid, _NICENESS)
                self._began = now
        elif self._process.poll() is not None:
            self._process = None
            self._due = now + max(self._least_pause_s, _TIMES_AS_LONG * (now - self._began))

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@contextmanager
def indexed_in_background(folder: Path, is_enabled: bool) -> Iterator[Callable[[], None]]:
    """Update the index during the `with` block, if enabled; call the yielded function often."""
    indexing = BackgroundIndexing(folder)
    try:
        yield indexing.tick if is_enabled else lambda: None
    finally:
        indexing.stop()


def indexed_at_the_end(folder: Path, quiet: bool, processes: int | None = None) -> IndexReport:
    """Update the index with a progress bar, in as many processes as the crawl had, if that was configured."""
    from orienteer.search.indexing import update_index

    with display.progress_bar() as progress:
        return update_index(folder, processes=processes, progress=silent if quiet else progress)


def print_indexed(folder: Path, report: IndexReport | None) -> None:
    """Print how many pages can be searched; without a report, the command that indexes them."""
    from orienteer.cli.wording import counted, duration

    if report is None:
        line = f"Interrupted, so the index is not up to date: orienteer index {folder}"
    else:
        took = f"indexed in {duration(report.elapsed_s)}"
        line = f'{counted(report.n_pages, "page")} can be searched, {took}: orienteer search {folder} "words"'
    display.console().print(line, markup=False, highlight=False, soft_wrap=True)
