"""The display of a survey: its progress and its report."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from orienteer.cli import display
from orienteer.cli.running import say
from orienteer.cli.wording import add_fact, counted, duration, facts_grid, plain, tally
from orienteer.wording import SAME_RESPONSES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orienteer.graph.survey.fixed_walks import FixedWalks
    from orienteer.graph.survey.gaps import Gap
    from orienteer.side_crawls.survey_report import SurveyReport

_SAY_EVERY_S = 5.0
_URL_CHARS = 200


class Progress:
    """Prints a line from time to time, when there are new results."""

    def __init__(self) -> None:
        self._printed_at = time.monotonic()
        self._n_printed = 0

    def __call__(self, walks: FixedWalks) -> None:
        from orienteer.graph.proved import percent

        now, measured = time.monotonic(), walks.measured
        if now - self._printed_at < _SAY_EVERY_S or walks.n_probes == self._n_printed:
            return
        self._printed_at, self._n_printed = now, walks.n_probes
        so_far = f"between {percent(measured.lower)} and {percent(measured.upper, up=True)}"
        say(f"{counted(measured.n_walks, 'walk')}, {counted(walks.n_probes, 'page')} fetched outside: {so_far}")


def print_report(report: SurveyReport, n: int) -> None:
    """Print the coverage, and where the missing pages are."""
    from orienteer.pages.outcome import NO_ERRORS

    measured, out = report.measured, display.console()
    rows = facts_grid()
    add_fact(rows, "archive", f"{counted(report.n_pages, 'page')} of {plain(report.source)}")
    add_fact(rows, "measured", str(measured).partition(": ")[2])
    add_fact(rows, "assumed", SAME_RESPONSES)
    add_fact(rows, "proved", str(report.proved))
    add_fact(rows, "walks", f"{measured.n_walks:,}, which needed {counted(measured.n_probes, 'page')} outside")
    add_fact(rows, "stopped", _ending(report))
    problems = {kind: n for kind, n in report.outcomes.items() if kind not in NO_ERRORS}
    add_fact(rows, "errors in this run", tally(problems, 6))
    add_fact(rows, "this run", duration(report.elapsed_s))
    out.print(rows)
    _print_gaps("Hosts with the most missing time", "host", report.hosts[:n], report.urls)
    _print_gaps("Folders with the most missing time", "folder", report.folders[:n], report.urls)
    if n and report.hosts:
        each = "The confidence is that of each interval alone, not of all of them together."
        out.print(f"{each} To add the missing pages, crawl from the listed ones.", style="dim")


def _print_gaps(title: str, place: str, gaps: Sequence[Gap], urls: dict[int, str]) -> None:
    from rich.markup import escape

    from orienteer.graph.proved import percent

    if not gaps:
        return
    headings = [("time", True), ("at least", True), ("at most", True), (place, False), ("such as", False)]
    table = display.columns_table(title, *headings)
    for gap in gaps:
        shares = (f"{100 * gap.share:.2f} %", percent(gap.lower), percent(gap.upper, up=True))
        url = urls.get(gap.page, f"page {gap.page}")
        table.add_row(*shares, escape(plain(gap.name, _URL_CHARS)), escape(plain(url, _URL_CHARS)))
    display.console().print(table)


def _ending(report: SurveyReport) -> str:
    endings = {
        "half width": f"the coverage is known to {_precision(report.goal.half_width)} on each side",
        "budget": "the budget is spent",
        "settled": f"blocked pages and unknown links leave {_precision(report.least_half_width)} open on each side",
        "interrupted": "interrupted; the same command resumes it",
    }
    return endings[report.stopped_because]


def _precision(half_width: float) -> str:
    return f"{100 * half_width:.3g} %"
