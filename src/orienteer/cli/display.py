"""Output of commands: progress on stderr, tables or JSON on stdout."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from orienteer.cli import interruption
from orienteer.progress import Progress
from orienteer.wording import JSON_VERSION

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

_TIMEOUT_S = 0.7
_FIRST_LINE_S, _LINE_EVERY_S, _LINE_SHARE = 10.0, 2.0, 0.05  # without a terminal
_WIDE = 10_000


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show a progress bar once the work takes longer than a moment, and remove it at the end.

    Without a terminal, print a line from time to time instead, for log files.
    """
    started = time.monotonic()
    bars: Any = None
    task: Any = None
    lines = ProgressLines()

    def show(stage: str, done: int, total: int) -> None:
        nonlocal bars, task
        interruption.check()
        if not sys.stderr.isatty():
            lines(stage, done, total)
            return
        if time.monotonic() - started < _TIMEOUT_S:
            return
        if bars is None:
            bars = _new_bars()
            bars.start()
            task = bars.add_task(stage, total=None)
        bars.update(task, description=stage, completed=done, total=total or None)

    try:
        yield show
    finally:
        if bars is not None:
            bars.stop()


class ProgressLines:
    """Progress as lines, `reading pages: 24 %`: the first after ten seconds, then every 5 % and at each new stage."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = clock() + _FIRST_LINE_S
        self._stage, self._done = "", 0

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = self._clock()
        is_far = total > 0 and done - self._done >= _LINE_SHARE * total
        if now < self._next or (stage == self._stage and not is_far):
            return
        self._next, self._stage, self._done = now + _LINE_EVERY_S, stage, done
        with suppress(OSError):  # stderr may be closed
            print(f"{stage}: {100 * done / total:.0f} %" if total else f"{stage}…", file=sys.stderr, flush=True)


def _new_bars() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("so far,"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def ignore_broken_pipe() -> Iterator[None]:
    """Ignore a closed pipe (`| head`) or terminal while printing."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.EIO):
            raise
        silence_stdout()


def silence_stdout() -> None:
    """Discard all further output, including what is still buffered."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def console() -> Console:
    """Return the console for tables. In a pipe or a file it does not wrap lines, so that URLs stay whole."""
    from rich.console import Console

    class LeavingConsole(Console):
        def on_broken_pipe(self) -> None:
            """Raise, instead of the exit code 1 of rich."""
            raise BrokenPipeError(errno.EPIPE, "the reader has closed the pipe")

    # Without a terminal, COLUMNS gives the width.
    width = None if sys.stdout.isatty() else shutil.get_terminal_size((_WIDE, 25)).columns
    return LeavingConsole(highlight=False, width=width)


def facts_table(title: str | None = None) -> Table:
    """Return a plain two-column table: a name, and a figure aligned to the right."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column(justify="right")
    return table


def facts_grid() -> Table:
    """Return an empty two-column list: a name, and a text that may wrap."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def add_fact(table: Table, name: str, fact: str | RenderableType) -> None:
    """Add a fact to a list, unless it is empty. Markup in it is printed as text."""
    from rich.text import Text

    if fact:
        table.add_row(name, Text(fact) if isinstance(fact, str) else fact)


def columns_table(title: str | None, *headings: tuple[str, bool]) -> Table:
    """Return a table with headings; each is (text, whether the column holds figures)."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for text, holds_figures in headings:
        table.add_column(text, justify="right" if holds_figures else "left", overflow="fold")
    return table


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON document; `version` is that of its keys, unless it states its own."""
    json.dump({"version": JSON_VERSION, **value}, sys.stdout, indent=2, ensure_ascii=False)
    print()


def print_result(facts: Mapping[str, Any], json: bool, describe: Callable[[], None]) -> None:
    """Print the result of a command, as JSON or by `describe`; it is no error if nobody reads it (`| head`)."""
    with ignore_broken_pipe():
        if json:
            print_json(facts)
        else:
            describe()


def share(part: float, whole: float) -> str:
    """Return `12.3 %`, or a dash if `whole` is 0."""
    return f"{100 * part / whole:.1f} %" if whole else "–"
