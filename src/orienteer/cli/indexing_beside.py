"""`orienteer crawl --index`: the index is brought up to date now and then while the crawl goes on, and at its end.

What is done meanwhile runs in a process of its own, which may be killed at any moment. It gets a tenth of the time: it
begins again when ten times as long has passed as it took the last time, and a minute at least; the first time after a
few seconds, so that somebody who watches can search soon. It starts no others, since the cores are the crawl's; at the
end it may. It runs at a low priority: who searches meanwhile comes first.
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


class IndexingBeside:
    """Indexes a crawl folder again and again; `tick` is called often."""

    def __init__(self, folder: Path, least_pause_s: float = _LEAST_PAUSE_S) -> None:
        self._command = [sys.executable, "-P", "-m", "orienteer", "index", str(folder), "--processes", "1"]
        self._least_pause_s = least_pause_s
        self._process: subprocess.Popen[bytes] | None = None
        self._began = self._due = time.monotonic() + min(_FIRST_PAUSE_S, least_pause_s)

    def tick(self) -> None:
        now = time.monotonic()
        if self._process is None:
            if now >= self._due:
                # Ctrl-C is for the crawl; what goes wrong here goes wrong again at the end, and is told then.
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
def indexed_beside(folder: Path, is_wanted: bool) -> Iterator[Callable[[], None]]:
    """Indexes while this lasts, if it is wanted; what is given is to be called often."""
    beside = IndexingBeside(folder)
    try:
        yield beside.tick if is_wanted else lambda: None
    finally:
        beside.stop()


def indexed_at_the_end(folder: Path, quiet: bool, processes: int | None = None) -> IndexReport:
    """Bring the index up to date, with a progress bar; by as many processes as the crawl had, if that was said."""
    from orienteer.search.indexing import update_index

    with display.progress_bar() as progress:
        return update_index(folder, processes=processes, progress=silent if quiet else progress)


def print_indexed(folder: Path, report: IndexReport | None) -> None:
    """What can be searched; without a report, how one gets there."""
    from orienteer.cli.wording import counted, duration

    if report is None:
        line = f"It was interrupted, and not indexed: orienteer index {folder}"
    else:
        took = f"indexed in {duration(report.elapsed_s)}"
        line = f'{counted(report.n_pages, "page")} can be searched, {took}: orienteer search {folder} "words"'
    display.console().print(line, markup=False, highlight=False, soft_wrap=True)
