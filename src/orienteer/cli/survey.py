"""`orienteer survey`: measure how complete a crawl is, and where the missing pages are."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display, interruption
from orienteer.cli.command import QUALITY, command
from orienteer.cli.display import add_fact, facts_grid
from orienteer.cli.options import GivenSettings, with_fields, with_settings
from orienteer.cli.running import say, stoppable, waiting
from orienteer.errors import InputError
from orienteer.graph.defaults import SurveyGoal
from orienteer.pages.outcome import NO_ERRORS
from orienteer.pages.stop_reason import StopReason
from orienteer.wording import SAME_RESPONSES, counted, duration, plain, tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orienteer.graph.survey.fixed_walks import FixedWalks, Gap
    from orienteer.side_crawls.survey_report import SurveyReport

_OUTPUT = "Output"
_SAY_EVERY_S = 5.0
_URL_CHARS = 200


@command(QUALITY)
@with_fields("goal", SurveyGoal)
@with_settings(
    "--delay",
    "--connections",
    "--user-agent",
    "--workers",
    "--connect-to",
    "--allow-private",
    "--robots/--ignore-robots",
)
def survey(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder, which may be imported."),
    *,
    goal: dict[str, Any],
    on_topic: bool = typer.Option(
        False, "--on-topic", help="Start the walks from the pages on the crawl's topic, not from its seeds."
    ),
    restart: bool = typer.Option(False, "--restart", help="Start a new survey: discard the pages fetched before."),
    output: Path | None = typer.Option(None, "--output", "-o", help="The folder of the survey; default: DIR/survey."),
    top: int = typer.Option(5, help="Number of hosts and folders with missing pages to list."),
    given: GivenSettings,
    json: bool = typer.Option(False, "--json", help="Print the report as JSON.", rich_help_panel=_OUTPUT),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print no progress.", rich_help_panel=_OUTPUT),
) -> None:
    """Measure the coverage of a crawl by random walks, and where the missing pages are.

    The coverage is the share of a random surfer's time on crawled pages. Walks start from the seeds; the pages that
    they need outside the crawl are fetched with its scope, politeness and robots.txt, and stored separately, in
    DIR/survey. A few hundred pages are enough, however large the web is.

    To continue after any kind of stop, run the same command again. Whenever it stops, the result holds with the given
    confidence, if the response for a page does not depend on when, in which order or for whom it is fetched. The
    confidence is over the randomness of the walks alone: it holds for every link structure. For pages of a graph there
    is [bold]orienteer graph survey[/bold].

    Exit code 0: the half width is reached; 3: the budget is spent, or too much is blocked; 130: interrupted.

    Example: [bold]orienteer survey example-crawl --half-width 0.01[/bold]
    """
    wanted = SurveyGoal(**goal)
    if top < 0:
        raise InputError("--top: 0 or more")
    report = _run(folder, wanted, output, restart, on_topic, given.tables, top, quiet or json)
    end_with_report(report, top, json)


def _run(
    folder: Path, goal: SurveyGoal, place: Path | None, restart: bool, on_topic: bool, given: dict[str, dict[str, Any]],
    top: int, quiet: bool,
) -> SurveyReport:  # fmt: skip
    from orienteer.side_crawls.survey import open_live_survey

    with ExitStack() as stack:
        with waiting(folder, quiet):
            opened = stack.enter_context(open_live_survey(folder, goal, place, restart, given, on_topic))
        if opened.folder.upgrade is not None:
            say(opened.folder.upgrade)
        stack.enter_context(stoppable(opened.live))
        return opened.run(None if quiet else _Progress(), top)


def end_with_report(report: SurveyReport, top: int, json: bool) -> None:
    """Print the report, and exit with the code of its ending."""
    display.print_result(report.as_dict(top), json, lambda: _print_report(report, top))
    if not report.goal_reached:
        raise typer.Exit(interruption.exit_code() if report.stopped_because is StopReason.INTERRUPTED else 3)


class _Progress:
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


def _print_report(report: SurveyReport, n: int) -> None:
    """Print the coverage, and where the missing pages are."""
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
