"""The progress display of `orienteer crawl`, and its final report.

During the crawl: a panel on a terminal, else a line every ten seconds and at each milestone, both on stderr. At the
end: a report on stdout, and commands to try next. Bounds are rounded outwards, in the bar and in the figures, so that
they stay true.
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
from orienteer.cli.display import add_fact, facts_grid
from orienteer.cli.epoch_display import describe_missing, describe_unchanged, describe_visits
from orienteer.cli.options import describe_failures
from orienteer.graph.proved import Certificate, percent
from orienteer.inspect.figures import describe_workers
from orienteer.inspect.status_text import (
    describe_assets,
    describe_certificate,
    describe_epoch,
    describe_lost,
    describe_reachable,
    describe_rendered,
    describe_suspect,
    describe_unarchived,
    describe_unreachable,
    interval,
    supposed,
)
from orienteer.pages.outcome import NO_ERRORS, Outcome
from orienteer.pages.stop_reason import StopReason
from orienteer.wording import counted, duration, goal_share, plain, size, tally, time_left

if TYPE_CHECKING:
    from orienteer.graph.survey.measured import Measured
    from orienteer.inspect.figures import CrawlFigures
    from orienteer.inspect.run_report import Report

_PANEL_EVERY_S = 0.25
_FIRST_LINE_S = 2.0
_LINE_EVERY_S = 10.0
_MILESTONES = (0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99)  # proved coverages that print a line
# Columns to the right of the panel, where terminals echo ^C for each Ctrl-C. If the echo wrapped, the panel would move
# down a line and leave its first line behind.
_ROOM_FOR_ECHO = 4
_KINDS_OF_ERROR = 6

Clock = Callable[[], float]


class ProgressDisplay(Protocol):
    """Displays figures when due, and ignores them in between. `stop_level` is that of the LiveCrawl."""

    def is_due(self) -> bool: ...

    def __call__(self, figures: CrawlFigures, stop_level: int = 0) -> None: ...


@contextmanager
def progress_display(folder: Path, quiet: bool) -> Iterator[ProgressDisplay]:
    """Open the display of a crawl in this folder: a panel, lines, or nothing."""
    console = Console(stderr=True, highlight=False)
    if quiet:
        yield NoDisplay()
    elif console.is_terminal and not console.is_dumb_terminal:
        live = Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False)
        live.start()
        try:
            yield PanelDisplay(folder, live)
        finally:
            with contextlib.suppress(OSError):
                live.stop()
    else:
        yield LineDisplay(folder)


class NoDisplay:
    def is_due(self) -> bool:
        return False

    def __call__(self, figures: CrawlFigures, stop_level: int = 0) -> None:
        pass


class PanelDisplay:
    """A panel that is redrawn several times a second."""

    def __init__(self, folder: Path, live: Live, clock: Clock = time.monotonic) -> None:
        self._folder = folder
        self._live = live
        self._clock = clock
        self._next = clock()

    def is_due(self) -> bool:
        return self._clock() >= self._next

    def __call__(self, figures: CrawlFigures, stop_level: int = 0) -> None:
        if self.is_due():
            drawn = panel(self._folder, figures, stop_level)
            drawn.width = max(self._live.console.width - _ROOM_FOR_ECHO, 1)
            # The terminal may be closed, which must not lose the requests in flight.
            with contextlib.suppress(OSError):
                self._live.update(drawn, refresh=True)
            self._next = self._clock() + _PANEL_EVERY_S


class LineDisplay:
    """A line of plain text every ten seconds, and at each proved milestone."""

    def __init__(self, folder: Path, clock: Clock = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        self._next = clock() + _FIRST_LINE_S
        self._earliest = self._next  # at most one milestone per second
        self._n_passed = 0

    def is_due(self) -> bool:
        return self._clock() >= self._earliest

    def __call__(self, figures: CrawlFigures, stop_level: int = 0) -> None:
        now = self._clock()
        if now < self._earliest:
            return
        n_passed = sum(figures.certificate.lower >= milestone for milestone in _MILESTONES)
        if now >= self._next or n_passed > self._n_passed:
            # The reader of stderr may be gone, which must not end the crawl.
            with contextlib.suppress(OSError):
                print(progress_line(self._folder, figures, stop_level), file=sys.stderr, flush=True)
            self._next, self._earliest = now + _LINE_EVERY_S, now + 1.0
            self._n_passed = n_passed


def panel(folder: Path, figures: CrawlFigures, stop_level: int = 0) -> Panel:
    """Return the panel with the state of the crawl."""
    proved = figures.certificate
    rows = facts_grid()
    rows.expand = True
    rows.add_row("coverage", CoverageBar(proved, figures.until, figures.measured))
    add_fact(rows, "", _bounds(figures))
    add_fact(rows, "", _measured(figures))
    add_fact(rows, "", describe_unreachable(proved))
    add_fact(rows, "goal", _impossible(figures))
    add_fact(rows, "goal", "every reachable page" if figures.until is None else "")
    add_fact(rows, "limit", _limit(figures))
    add_fact(rows, "pages", _pages(figures))
    add_fact(rows, "on topic", _on_topic(figures))
    known = f"{counted(figures.n_known, 'URL')} known in scope"
    add_fact(rows, "waiting", f"{counted(figures.n_frontier, 'page')} in the frontier; {known}")
    add_fact(rows, "speed", _speed(figures))
    add_fact(rows, "workers", describe_workers(figures.workers, figures.n_workers_crashed))
    add_fact(rows, "assets", _assets(figures))
    add_fact(rows, "hosts", _hosts(figures))
    add_fact(rows, "errors", _errors(figures) or "none")
    add_fact(rows, "time", f"{duration(figures.elapsed_s)} so far; left: {time_left(figures.eta_s)}")
    rows.add_row()
    rows.add_row("", _footer(figures, stop_level))
    return Panel(rows, title=Text(plain(str(folder), 60), "bold"), title_align="left", border_style="dim")


def progress_line(folder: Path, figures: CrawlFigures, stop_level: int = 0) -> str:
    """Return the state of the crawl in one line, without control characters."""
    facts = [
        _pages(figures),
        f"on topic: {_on_topic(figures)}" if figures.n_on_topic is not None else "",
        f"{counted(figures.n_frontier, 'page')} waiting",
        f"{figures.pages_per_s:.1f} pages/s",
        f"coverage {_bounds(figures)}",
        _measured(figures),
        f"running for {duration(figures.elapsed_s)}",
        f"left: {time_left(figures.eta_s)}",
        _assets(figures),
        "stopping" if stop_level else "",
    ]
    return f"{plain(str(folder))}: " + "; ".join(filter(None, facts))


class CoverageBar:
    """The bounds as a bar: proved coverage, possible coverage, and marks for the measured coverage and the goal.

    The proved cells touch the mark of the goal only once the goal is proved.
    """

    def __init__(self, proved: Certificate, until: float | None, measured: Measured | None = None) -> None:
        self._proved = proved
        self._until = until
        self._measured = measured

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        proved, possible, uncovered, goal, measured = "#=.|*" if options.ascii_only else "█▒·┃◆"
        width = options.max_width
        n_proved = int(self._proved.lower * width)
        n_possible = min(math.ceil(self._proved.upper * width), width)
        cells = [(proved, "green")] * n_proved
        cells += [(possible, "yellow")] * (n_possible - n_proved)
        cells += [(uncovered, "dim")] * (width - len(cells))
        if self._measured is not None:
            cells[min(int(self._measured.estimate * width), width - 1)] = (measured, "cyan")
        if self._until is not None:
            cells[min(int(self._until * width), width - 1)] = (goal, "bold")
        yield Text.assemble(*cells, no_wrap=True)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(min(20, options.max_width), options.max_width)


def print_report(report: Report, quiet: bool = False, with_index: bool = False) -> None:
    """Print the report of a run and, unless `quiet`, commands to try next."""
    out = display.console()
    out.print(_report_rows(report))
    if quiet:
        return
    out.print()
    for command, why in _next_commands(report, with_index):
        # Commands are meant to be copied, so they are never wrapped.
        out.print(Text.assemble((command, "bold"), (f"   {why}", "dim")), soft_wrap=True)


def _report_rows(report: Report) -> Table:
    figures = report.figures
    rows = facts_grid()
    verdict, mark, why = report.headline.partition(":")
    rows.add_row("result", Text.assemble((verdict, report.ending.colour), mark + why))
    if report.failed_seeds:
        add_fact(rows, "failed seeds", describe_lost(report.failed_seeds))
    if report.library is None:
        add_fact(rows, "coverage", _proved(figures) + describe_certificate(figures.certificate))
        add_fact(rows, "", _of_reachable(figures))
        add_fact(rows, "", _measured(figures))
        add_fact(rows, "assumed", supposed(figures.certificate))
        add_fact(rows, "pages", f"{_pages(figures)}; {figures.n_frontier:,} left in the frontier")
    else:
        add_fact(rows, "coverage", describe_certificate(report.library))
        add_fact(rows, "assumed", supposed(report.library))
        add_fact(rows, f"epoch {figures.epoch}", describe_epoch(figures.certificate))
        add_fact(rows, "", _of_reachable(figures))
        add_fact(rows, "", _measured(figures))
        add_fact(rows, "pages", _pages(figures))
        add_fact(rows, "", describe_unchanged(figures.visits, report.refresh))
        for line in describe_missing(report.missing, report.folder):
            add_fact(rows, "missing", line)
    add_fact(rows, "rendered", describe_rendered(report.rendered))
    add_fact(rows, "suspect", describe_suspect(report.n_suspect))
    add_fact(rows, "not archived", describe_unarchived(report.n_unarchived))
    add_fact(rows, "assets", describe_assets(report.assets))
    add_fact(rows, "on topic", _on_topic(figures))
    add_fact(rows, "", _topical(report.topical))
    add_fact(rows, "hosts", _hosts(figures) if figures.n_hosts_backing_off or figures.n_hosts_abandoned else "")
    add_fact(rows, "errors in this run", _errors(figures))
    for line in describe_failures(report.hook_failures):
        add_fact(rows, "hook failed", line)
    add_fact(rows, "dead ends", _dead(report.dead))
    add_fact(rows, "this run", _this_run(figures))
    add_fact(rows, "folder", plain(str(report.folder)))
    return rows


def _next_commands(report: Report, with_index: bool) -> list[tuple[str, str]]:
    """Return commands to try, padded to a column, with their purpose. Each works after those above it."""
    folder = shlex.quote(plain(str(report.folder)))
    commands = [
        (f"orienteer {command.replace('DIR', folder)}", why) for command, why in _continuations(report, with_index)
    ]
    if report.figures.n_fetched:
        # --index builds the index at the end of a crawl, but not after an interruption.
        is_indexed = with_index and not report.stopped_because.is_pause
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


def _continuations(report: Report, with_index: bool) -> list[tuple[str, str]]:
    """Return commands on DIR that continue the crawl or refresh it, with their purpose."""
    figures, why = report.figures, report.stopped_because
    if Outcome.FORBIDDEN_ADDRESS in figures.outcomes:
        return [("refresh DIR --allow-private", "if the addresses are your own")]
    index = " --index" if with_index else ""
    if why == StopReason.INTERRUPTED:
        return [(f"crawl DIR{index}", "resume it")]
    if why == StopReason.LOGIN_FAILED:
        return [(f"crawl DIR --credentials FILE{index}", "log in again, and continue")]
    if why == StopReason.BUDGET:
        more = f"crawl DIR --budget {2 * figures.n_done}"
        return [(more, "fetch more pages"), ("crawl DIR --until 1", "fetch everything")]
    if why in (StopReason.COVERAGE, StopReason.MEASURED, StopReason.REACHABLE) and figures.n_frontier:
        return [("crawl DIR --until 1", "fetch the rest"), ("refresh DIR", "later: fetch changes")]
    return [("refresh DIR", "retry the unreachable pages" if report.n_abandoned else "later: fetch changes")]


def _bounds(figures: CrawlFigures) -> str:
    proved, until = figures.certificate, figures.until
    if until is None:
        return interval(proved)
    how = _proved(figures)
    is_partial = figures.of_reachable or figures.goal_is_impossible
    reachable = f", at least {percent(proved.of_reachable)} of what is reachable" * is_partial
    return f"{how}{interval(proved)}{reachable}, goal {goal_share(until, is_partial)}"


def _proved(figures: CrawlFigures) -> str:
    """Label the proved bounds, if there is a measured coverage as well."""
    return "proved: " if figures.measured is not None else ""


def _measured(figures: CrawlFigures) -> str:
    """Describe the measured coverage; empty before the first walk has ended."""
    walked = figures.survey
    return "" if walked is None or walked.measured is None else walked.describe()


def _impossible(figures: CrawlFigures) -> str:
    if not figures.goal_is_impossible or figures.until is None:
        return ""
    return f"{goal_share(figures.until)} of everything cannot be proved: too much is unreachable"


def _of_reachable(figures: CrawlFigures) -> str:
    """Describe the reachable coverage, if it is the goal or the goal is impossible."""
    return describe_reachable(figures.certificate) if figures.of_reachable or figures.goal_is_impossible else ""


def _limit(figures: CrawlFigures) -> str:
    return "" if figures.budget is None else f"{figures.n_done:,} of {counted(figures.budget, 'page')}"


def _pages(figures: CrawlFigures) -> str:
    if figures.epoch:
        return describe_visits(figures.visits)
    rare = ((figures.n_redirects, "redirect", "redirects"), (figures.n_skipped, "skipped", "skipped"))
    more = "".join(f", {counted(n, one, many)}" for n, one, many in rare if n)
    return f"{figures.n_fetched:,} fetched{more}, {figures.n_failed:,} failed, {figures.n_blocked:,} blocked"


def _on_topic(figures: CrawlFigures) -> str:
    if figures.n_on_topic is None:
        return ""
    share = display.share(figures.n_on_topic, figures.n_fetched)
    return f"{counted(figures.n_on_topic, 'page')}, {share} of those fetched"


def _topical(proved: Certificate | None) -> str:
    """Describe the coverage for a surfer who starts from the pages on topic, not from the seeds."""
    if proved is None:
        return ""
    return f"{interval(proved)} of the time of a surfer from the pages on topic is on pages fetched"


def _speed(figures: CrawlFigures) -> str:
    return f"{figures.pages_per_s:.1f} pages/s, {figures.n_in_flight:,} in flight, {size(figures.n_bytes)} received"


def _assets(figures: CrawlFigures) -> str:
    """Describe the assets of pages, if they are fetched."""
    if not (figures.n_assets or figures.n_assets_waiting):
        return ""
    assets = counted(figures.n_assets, "asset")
    failed = f", {figures.n_assets_failed:,} of them failed" if figures.n_assets_failed else ""
    waiting = f"{figures.n_assets_waiting:,} still to be fetched"
    return f"{assets} in this run ({size(figures.assets_bytes)}){failed}, {waiting}"


def _hosts(figures: CrawlFigures) -> str:
    waiting = f"{figures.n_hosts_backing_off:,} waiting after errors"
    return f"{figures.n_hosts:,} known, {waiting}, {figures.n_hosts_abandoned:,} abandoned"


def _errors(figures: CrawlFigures) -> str:
    errors = {kind: n for kind, n in figures.outcomes.items() if kind not in (*NO_ERRORS, Outcome.UNWANTED_TYPE)}
    return tally(errors, _KINDS_OF_ERROR)


def _dead(share: float) -> str:
    if share <= 0:
        return ""
    amount = "less than 0.1 %" if share < 0.001 else f"{100 * share:.1f} %"
    return f"{amount} of a surfer's time would be at URLs without a page"


def _this_run(figures: CrawlFigures) -> str:
    n_received = sum(figures.outcomes.get(kind, 0) for kind in NO_ERRORS)
    rate = f", {n_received / figures.elapsed_s:.1f} a second" if figures.elapsed_s >= 1 else ""
    pages = counted(n_received, "page or redirect", "pages and redirects")
    return f"{pages} in {duration(figures.elapsed_s)}{rate}; {size(figures.n_bytes)} received"


def _footer(figures: CrawlFigures, stop_level: int) -> Text:
    if stop_level == 0:
        return Text("Ctrl-C finishes the requests in flight; twice stops at once", "dim")
    if stop_level == 1:
        fetches = counted(figures.n_in_flight, "request")
        return Text(f"Stopping: {fetches} in flight; Ctrl-C again stops at once", "bold yellow")
    return Text("Stopping at once", "bold yellow")
