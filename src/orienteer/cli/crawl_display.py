"""What `orienteer crawl` shows while it runs, and what it says at the end.

While it runs: a panel on a terminal; elsewhere a line every ten seconds, and when much has been proved. Both are on
stderr. At the end: a report on stdout, and what one may do next. Bounds are rounded so that what is said stays true, in
the bar as in the figures.
"""

from __future__ import annotations

import contextlib
import math
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.measure import Measurement
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from orienteer.cli import display
from orienteer.cli.epoch_display import kept_in_words, visits_in_words
from orienteer.cli.hook_option import failures_in_words
from orienteer.cli.wording import add_fact, counted, duration, facts_grid, goal_share, plain, size, tally, time_left
from orienteer.graph.proved import Certificate, percent
from orienteer.inspect.status_in_words import (
    certificate_in_words,
    ending,
    epoch_in_words,
    interval,
    lost_in_words,
    of_reachable_in_words,
    out_of_reach,
    parts_in_words,
    rendered_in_words,
    share_in_words,
    supposed,
    suspect_in_words,
    unarchived_in_words,
)
from orienteer.inspect.surveyed import surveyed
from orienteer.inspect.workers_in_words import workers_in_words
from orienteer.pages.outcome import NO_ERRORS, Outcome
from orienteer.pages.stop_reason import StopReason

if TYPE_CHECKING:
    from orienteer.graph.survey.measured import Measured
    from orienteer.live.figures import Figures
    from orienteer.live.session import Report

_PANEL_EVERY_S = 0.25
_FIRST_LINE_S = 2.0
_LINE_EVERY_S = 10.0
_MILESTONES = (0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99)  # proved coverages that are worth a line
# Columns to the right of the panel: terminals write ^C there for each Ctrl-C. On the next line it would leave the panel
# one line lower than it was drawn, and a part of it behind.
_ROOM_FOR_ECHO = 4
_KINDS_OF_ERROR = 6

Clock = Callable[[], float]


class Show(Protocol):
    """Shows figures when it is due, and ignores them in between. `stop_wanted` is that of the LiveCrawl."""

    def is_due(self) -> bool: ...

    def __call__(self, figures: Figures, stop_wanted: int = 0) -> None: ...


@contextmanager
def shown(folder: Path, quiet: bool) -> Iterator[Show]:
    """The display of a crawl in this folder: a panel, lines, or nothing."""
    console = Console(stderr=True, highlight=False)
    if quiet:
        yield NoShow()
    elif console.is_terminal and not console.is_dumb_terminal:
        live = Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False)
        live.start()
        try:
            yield PanelShow(folder, live)
        finally:
            with contextlib.suppress(OSError):
                live.stop()
    else:
        yield LineShow(folder)


class NoShow:
    def is_due(self) -> bool:
        return False

    def __call__(self, figures: Figures, stop_wanted: int = 0) -> None:
        pass


class PanelShow:
    """A panel that is drawn anew a few times a second."""

    def __init__(self, folder: Path, live: Live, clock: Clock = time.monotonic) -> None:
        self._folder = folder
        self._live = live
        self._clock = clock
        self._next = clock()

    def is_due(self) -> bool:
        return self._clock() >= self._next

    def __call__(self, figures: Figures, stop_wanted: int = 0) -> None:
        if self.is_due():
            drawn = panel(self._folder, figures, stop_wanted)
            drawn.width = max(self._live.console.width - _ROOM_FOR_ECHO, 1)
            # The terminal may have been closed; that is no reason to lose what is under way.
            with contextlib.suppress(OSError):
                self._live.update(drawn, refresh=True)
            self._next = self._clock() + _PANEL_EVERY_S


class LineShow:
    """A line of plain text every ten seconds, and whenever a milestone is proved."""

    def __init__(self, folder: Path, clock: Clock = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        self._next = clock() + _FIRST_LINE_S
        self._earliest = self._next  # milestones do not come faster than a line a second
        self._n_passed = 0

    def is_due(self) -> bool:
        return self._clock() >= self._earliest

    def __call__(self, figures: Figures, stop_wanted: int = 0) -> None:
        now = self._clock()
        if now < self._earliest:
            return
        n_passed = sum(figures.certificate.lower >= milestone for milestone in _MILESTONES)
        if now >= self._next or n_passed > self._n_passed:
            # Whoever read our lines may have left; that is no reason to end a crawl.
            with contextlib.suppress(OSError):
                print(progress_line(self._folder, figures, stop_wanted), file=sys.stderr, flush=True)
            self._next, self._earliest = now + _LINE_EVERY_S, now + 1.0
            self._n_passed = n_passed


def panel(folder: Path, figures: Figures, stop_wanted: int = 0) -> Panel:
    """How the crawl stands."""
    proved = figures.certificate
    rows = facts_grid()
    rows.expand = True
    rows.add_row("coverage", CoverageBar(proved, figures.until, figures.measured))
    add_fact(rows, "", _bounds(figures))
    add_fact(rows, "", _measured(figures))
    add_fact(rows, "", out_of_reach(proved))
    add_fact(rows, "goal", _impossible(figures))
    add_fact(rows, "" if figures.goal_is_impossible else "goal", _other_goal(figures))
    add_fact(rows, "pages", _pages(figures))
    add_fact(rows, "on topic", _on_topic(figures))
    known = counted(figures.n_known, "URL")
    add_fact(rows, "waiting", f"{counted(figures.n_frontier, 'page')} in the frontier; {known} known")
    add_fact(rows, "speed", _speed(figures))
    add_fact(rows, "workers", workers_in_words(figures.workers, figures.n_workers_died))
    add_fact(rows, "shown with", _parts(figures))
    add_fact(rows, "hosts", _hosts(figures))
    add_fact(rows, "errors", _errors(figures) or "none")
    add_fact(rows, "time", f"{duration(figures.elapsed_s)} so far; left: {_left(figures)}")
    rows.add_row()
    rows.add_row("", _footer(figures, stop_wanted))
    return Panel(rows, title=Text(plain(str(folder), 60), "bold"), title_align="left", border_style="dim")


def progress_line(folder: Path, figures: Figures, stop_wanted: int = 0) -> str:
    """How the crawl stands, in one line without control characters."""
    parts = [
        _pages(figures),
        f"on topic: {_on_topic(figures)}" if figures.n_on_topic is not None else "",
        f"{counted(figures.n_frontier, 'page')} waiting",
        f"{figures.pages_per_s:.1f} pages/s",
        f"coverage {_bounds(figures)}",
        _measured(figures),
        f"running for {duration(figures.elapsed_s)}",
        f"left: {_left(figures)}",
        _parts(figures),
        "stopping" if stop_wanted else "",
    ]
    return f"{plain(str(folder))}: " + "; ".join(part for part in parts if part)


class CoverageBar:
    """The bounds as a bar: what is proved, what may be covered besides, and marks at what is measured and at the goal.

    The proved part touches the mark of the goal only once the goal is proved.
    """

    def __init__(self, proved: Certificate, until: float | None, measured: Measured | None = None) -> None:
        self._proved = proved
        self._until = until
        self._measured = measured

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        is_, may_be, is_not, mark, about = "#=.|*" if options.ascii_only else "█▒·┃◆"
        width = options.max_width
        n_proved = int(self._proved.lower * width)
        n_possible = min(math.ceil(self._proved.upper * width), width)
        cells = [(is_, "green")] * n_proved
        cells += [(may_be, "yellow")] * (n_possible - n_proved)
        cells += [(is_not, "dim")] * (width - len(cells))
        if self._measured is not None:
            cells[min(int(self._measured.estimate * width), width - 1)] = (about, "cyan")
        if self._until is not None:
            cells[min(int(self._until * width), width - 1)] = (mark, "bold")
        yield Text.assemble(*cells, no_wrap=True)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(min(20, options.max_width), options.max_width)


def print_report(report: Report, quiet: bool = False, is_indexed: bool = False) -> None:
    """What came of a run, and, unless `quiet`, what one may do next."""
    out = display.console()
    out.print(_report_rows(report))
    if quiet:
        return
    out.print()
    for command, why in _next_commands(report, is_indexed):
        # Commands are there to be copied: they are not broken into lines, however long the name of the folder.
        out.print(Text.assemble((command, "bold"), (f"   {why}", "dim")), soft_wrap=True)


def _report_rows(report: Report) -> Table:
    figures = report.figures
    rows = facts_grid()
    style = "green" if report.goal_reached else "yellow"
    verdict = "reached" if report.goal_reached else "not reached"
    walked = surveyed(figures.as_dict())
    why = ending(report.stopped_because, figures.until, figures.budget, figures.of_reachable, walked)
    if report.n_given_up and report.stopped_because == StopReason.FRONTIER_EMPTY:
        n_pages = counted(report.n_given_up, "page was", "pages were")
        why += f"; {n_pages} given up because their hosts could not be reached"
    if report.trouble:
        why += f" ({plain(report.trouble, 300)})"
    rows.add_row("goal", Text.assemble((verdict, style), f": {why}"))
    if report.lost_seeds:
        add_fact(rows, "seeds lost", lost_in_words(report.lost_seeds))
    if report.library is None:
        add_fact(rows, "coverage", _proved(figures) + certificate_in_words(figures.certificate))
        add_fact(rows, "", _of_reachable(figures))
        add_fact(rows, "", _measured(figures))
        add_fact(rows, "assumed", supposed(figures.certificate))
        add_fact(rows, "pages", f"{_pages(figures)}; {figures.n_frontier:,} left in the frontier")
    else:
        add_fact(rows, "coverage", certificate_in_words(report.library))
        add_fact(rows, "assumed", supposed(report.library))
        add_fact(rows, f"epoch {figures.epoch}", epoch_in_words(figures.certificate))
        add_fact(rows, "", _of_reachable(figures))
        add_fact(rows, "", _measured(figures))
        add_fact(rows, "pages", _pages(figures))
        add_fact(rows, "", kept_in_words(figures.visits, report.refresh))
    add_fact(rows, "rendered", rendered_in_words(report.rendered))
    add_fact(rows, "suspect", suspect_in_words(report.n_suspect))
    add_fact(rows, "not kept", unarchived_in_words(report.n_unarchived))
    add_fact(rows, "shown with", parts_in_words(report.parts))
    add_fact(rows, "on topic", _on_topic(figures))
    add_fact(rows, "", _topical(report.topical))
    add_fact(rows, "hosts", _hosts(figures) if figures.n_hosts_resting or figures.n_hosts_given_up else "")
    add_fact(rows, "errors in this run", _errors(figures))
    for line in failures_in_words(report.hook_failures):
        add_fact(rows, "hook failed", line)
    add_fact(rows, "dead ends", _dead(report.dead))
    add_fact(rows, "this run", _this_run(figures))
    add_fact(rows, "folder", plain(str(report.folder)))
    return rows


def _next_commands(report: Report, is_indexed: bool) -> list[tuple[str, str]]:
    """Commands to try, and what for, in a column."""
    folder = shlex.quote(plain(str(report.folder)))
    commands = [(f"orienteer crawl {folder}{options}", why) for options, why in _ways_on(report)]
    if report.figures.n_fetched:
        commands += [
            *[(f"orienteer index {folder}", "make it searchable")] * (not is_indexed),
            (f'orienteer search {folder} "some words"', "find pages"),
            (f"orienteer serve {folder}", "see it in the browser"),
        ]
    commands += [
        (f"orienteer status {folder}", "the crawl in figures"),
        (f"orienteer explain {folder} URL", "what happened to a page"),
    ]
    width = max(len(command) for command, _ in commands)
    return [(command.ljust(width), why) for command, why in commands]


def _ways_on(report: Report) -> list[tuple[str, str]]:
    """Options of `orienteer crawl` with which it is worth to go on, and what for."""
    figures, why = report.figures, report.stopped_because
    if Outcome.FORBIDDEN_ADDRESS in figures.outcomes:
        return [(" --refresh --allow-private", "if the addresses are your own")]
    if why == StopReason.INTERRUPTED:
        return [("", "resume it")]
    if why == StopReason.LOGIN_FAILED:
        return [(" --access FILE", "log in again, and go on")]
    if why == StopReason.BUDGET:
        return [(f" --budget {2 * figures.n_done}", "fetch more pages"), (" --until 1", "fetch everything")]
    if why in (StopReason.COVERAGE, StopReason.MEASURED, StopReason.REACHABLE) and figures.n_frontier:
        return [(" --until 1", "fetch the rest, too"), (" --refresh", "later: see what has changed")]
    return [(" --refresh", "try the others again" if report.n_given_up else "later: see what has changed")]


def _bounds(figures: Figures) -> str:
    proved, until = figures.certificate, figures.until
    if until is None:
        return interval(proved)
    how = _proved(figures)
    is_partial = figures.of_reachable or figures.goal_is_impossible
    reachable = f", at least {percent(proved.of_reachable)} of what is reachable" * is_partial
    return f"{how}{interval(proved)}{reachable}, goal {share_in_words(until, is_partial)}"


def _proved(figures: Figures) -> str:
    """Where something is measured besides, it is said what is proved."""
    return "proved: " if figures.measured is not None else ""


def _measured(figures: Figures) -> str:
    """What walks say; nothing before the first of them has ended."""
    walked = surveyed(figures.as_dict()) if figures.measured is not None else None
    return "" if walked is None else walked.in_words()


def _impossible(figures: Figures) -> str:
    if not figures.goal_is_impossible or figures.until is None:
        return ""
    return f"{goal_share(figures.until)} of everything cannot be proved: too much is out of reach"


def _of_reachable(figures: Figures) -> str:
    """Only where somebody wants to know."""
    return of_reachable_in_words(figures.certificate) if figures.of_reachable or figures.goal_is_impossible else ""


def _left(figures: Figures) -> str:
    return time_left(figures.left_s)


def _other_goal(figures: Figures) -> str:
    """The goal besides a coverage."""
    if figures.budget is not None:
        return f"{figures.n_done:,} of {counted(figures.budget, 'page')}"
    return "every page in reach" if figures.until is None else ""


def _pages(figures: Figures) -> str:
    if figures.epoch:
        return visits_in_words(figures.visits)
    seldom = ((figures.n_redirects, "redirect", "redirects"), (figures.n_skipped, "skipped", "skipped"))
    more = "".join(f", {counted(n, one, many)}" for n, one, many in seldom if n)
    return f"{figures.n_fetched:,} fetched{more}, {figures.n_failed:,} failed, {figures.n_blocked:,} blocked"


def _on_topic(figures: Figures) -> str:
    if figures.n_on_topic is None:
        return ""
    share = display.share(figures.n_on_topic, figures.n_fetched)
    return f"{counted(figures.n_on_topic, 'page')}, {share} of those fetched"


def _topical(proved: Certificate | None) -> str:
    """A surfer from the pages on topic, instead of from the seeds."""
    if proved is None:
        return ""
    return f"{interval(proved)} of the time of a surfer from the pages on topic is on pages fetched"


def _speed(figures: Figures) -> str:
    return f"{figures.pages_per_s:.1f} pages/s, {figures.n_under_way:,} in flight, {size(figures.n_bytes)} received"


def _parts(figures: Figures) -> str:
    """What pages are shown with, where that is wanted."""
    if not (figures.n_parts or figures.n_parts_waiting):
        return ""
    parts = counted(figures.n_parts, "picture, style or the like", "pictures, styles and the like")
    return f"{parts} in this run ({size(figures.parts_bytes)}), {figures.n_parts_waiting:,} still to be fetched"


def _hosts(figures: Figures) -> str:
    waiting = f"{figures.n_hosts_resting:,} waiting after errors"
    return f"{figures.n_hosts:,} known, {waiting}, {figures.n_hosts_given_up:,} given up"


def _errors(figures: Figures) -> str:
    errors = {kind: n for kind, n in figures.outcomes.items() if kind not in (*NO_ERRORS, Outcome.UNWANTED_TYPE)}
    return tally(errors, _KINDS_OF_ERROR)


def _dead(share: float) -> str:
    if share <= 0:
        return ""
    amount = "less than 0.1 %" if share < 0.001 else f"{100 * share:.1f} %"
    return f"{amount} of a surfer's time would be at URLs without a page"


def _this_run(figures: Figures) -> str:
    n_received = sum(figures.outcomes.get(kind, 0) for kind in NO_ERRORS)
    rate = f", {n_received / figures.elapsed_s:.1f} a second" if figures.elapsed_s >= 1 else ""
    pages = counted(n_received, "page or redirect", "pages and redirects")
    return f"{pages} in {duration(figures.elapsed_s)}{rate}; {size(figures.n_bytes)} received"


def _footer(figures: Figures, stop_wanted: int) -> Text:
    if stop_wanted == 0:
        return Text("Ctrl-C finishes the requests in flight; twice stops at once", "dim")
    if stop_wanted == 1:
        fetches = counted(figures.n_under_way, "request")
        return Text(f"Stopping: {fetches} in flight; Ctrl-C again stops at once", "bold yellow")
    return Text("Stopping at once", "bold yellow")
