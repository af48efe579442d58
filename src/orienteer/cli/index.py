"""`orienteer index`, and `orienteer crawl --index`: build or update the search index of a crawl.

During a crawl a separate process updates the index, which may be killed at any moment. It gets a tenth of the time: it
starts again after ten times its last duration, at least a minute; the first time after a few seconds, so that the pages
can be searched soon. It starts no further processes, since the cores belong to the crawl, and runs at a low priority,
so that searches come first.
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

import typer

from orienteer.cli import display
from orienteer.cli.command import INSPECT, command
from orienteer.cli.display import add_fact, facts_grid
from orienteer.cli.options import PROCESSES
from orienteer.progress import silent
from orienteer.wording import counted, duration, size

if TYPE_CHECKING:
    from orienteer.search.indexing import IndexReport

_FIRST_PAUSE_S = 5.0
_LEAST_PAUSE_S = 60.0
_TIMES_AS_LONG = 10.0
_NICENESS = 10


@command(INSPECT)
def index(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    rebuild: bool = typer.Option(False, "--rebuild", help="Build the index from scratch."),
    on_topic: bool = typer.Option(False, "--on-topic", help="Index only pages on the crawl's topic."),
    processes: int | None = PROCESSES,
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Build the search index of a crawl, or update it: only changed pages are read again.

    The crawl may be running. Pages that ask not to be indexed are left out.

    Example: [bold]orienteer index example.org-crawl[/bold]
    """
    from orienteer.search.indexing import update_index

    with display.progress_bar() as progress:
        report = update_index(folder, rebuild=rebuild, on_topic=on_topic, processes=processes, progress=progress)
    display.print_result(report.as_dict(), json, lambda: print_report(report))


def print_report(report: IndexReport) -> None:
    """Print what was indexed, in a few lines."""
    out = display.console()
    changed = report.n_added or report.n_replaced or report.n_removed
    out.print(f"{counted(report.n_pages, 'page')} can be searched." + ("" if changed else " Nothing has changed."))
    rows = facts_grid()
    if changed:
        kinds = (("added", report.n_added), ("replaced", report.n_replaced), ("removed", report.n_removed))
        add_fact(rows, "changes", ", ".join(f"{n:,} {kind}" for kind, n in kinds if n))
    if report.n_skipped:
        add_fact(rows, "skipped", f"{counted(report.n_skipped, 'page')} that could not be read")
    if report.n_read:
        speed = f", {report.pages_per_cpu_s:,.0f} pages per CPU-second"
        add_fact(rows, "time", f"{duration(report.elapsed_s)}{speed}")
    add_fact(rows, "size", size(report.size_bytes))
    global_rank = "estimated" if report.has_global_rank else f"unknown (orienteer estimate {report.folder})"
    add_fact(rows, "global rank", global_rank)
    out.print(rows)
    out.print(f'Search with: orienteer search {report.folder} "words"', markup=False, soft_wrap=True)


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
    if report is None:
        line = f"Interrupted, so the index is not up to date: orienteer index {folder}"
    else:
        took = f"indexed in {duration(report.elapsed_s)}"
        line = f'{counted(report.n_pages, "page")} can be searched, {took}: orienteer search {folder} "words"'
    display.console().print(line, markup=False, highlight=False, soft_wrap=True)
