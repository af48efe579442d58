"""`orienteer survey`: how complete a crawl is, measured, and where what it lacks is."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display, trust_option
from orienteer.cli.running import say, stoppable, waiting
from orienteer.cli.settings_file import tables_in
from orienteer.errors import InputError
from orienteer.pages.stop_reason import StopReason
from orienteer.settings import merged

if TYPE_CHECKING:
    from orienteer.audit.survey_report import SurveyReport
    from orienteer.graph.survey.fixed_walks import SurveyGoal

_GOAL, _GRAPH, _POLITE, _NET, _OUTPUT = "Goal", "On a graph", "Politeness", "Network", "Output"
_INTERRUPTED = 130


def survey(
    folder: Path = typer.Argument(None, metavar="DIR", help="Crawl folder, imported ones too: how complete is it?"),
    half_width: float = typer.Option(
        0.005, help="Stop when the coverage is known up to this much on each side.", rich_help_panel=_GOAL
    ),
    budget: int | None = typer.Option(None, help="Stop after this many pages outside.", rich_help_panel=_GOAL),
    confidence: float = typer.Option(0.999, help="Confidence of the result.", rich_help_panel=_GOAL),
    on_topic: bool = typer.Option(
        False, "--on-topic", help="For a surfer who starts from the pages on the crawl's topic, not from its seeds."
    ),
    again: bool = typer.Option(False, "--again", help="Begin a new survey: forget the pages fetched before."),
    output: Path | None = typer.Option(None, "--output", "-o", help="The folder of the survey; default: DIR/survey."),
    top: int = typer.Option(5, help="How many hosts and folders with missing pages to list."),
    graph: Path | None = typer.Option(
        None, help="Measure pages of this graph instead; nothing is fetched.", rich_help_panel=_GRAPH
    ),
    fetched: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="With --graph, the pages: an id or a URL a line, such as simulate --order-out writes.",
        rich_help_panel=_GRAPH,
    ),
    trust: str | None = typer.Option(
        None, help=f"{trust_option.HELP} Default: {trust_option.DEFAULT}.", rich_help_panel=_GRAPH
    ),
    damping: float | None = typer.Option(
        None, help="Chance that a surfer follows a link (0.85).", rich_help_panel=_GRAPH
    ),
    rng: int | None = typer.Option(
        None,
        min=0,
        help="Start of the random numbers of the walks; default: from the system.",
        rich_help_panel=_GRAPH,
    ),
    delay: float | None = typer.Option(
        None, help="Seconds between two requests to a host; default: as in the crawl.", rich_help_panel=_POLITE
    ),
    connections: int | None = typer.Option(None, help="Requests to a host at once.", rich_help_panel=_POLITE),
    user_agent: str | None = typer.Option(
        None, help="The User-Agent; say how you can be reached.", rich_help_panel=_POLITE
    ),
    ignore_robots: bool | None = typer.Option(
        None, "--ignore-robots", help="Ignore robots.txt: for your own hosts only.", rich_help_panel=_POLITE
    ),
    workers: int | None = typer.Option(None, help="Requests in flight at once, and walks.", rich_help_panel=_NET),
    timeout: float | None = typer.Option(None, help="Seconds a page may take.", rich_help_panel=_NET),
    proxy: str | None = typer.Option(None, help="A proxy, such as http://localhost:3128.", rich_help_panel=_NET),
    connect_to: str | None = typer.Option(
        None, metavar="HOST:PORT", help="Connect there, whatever the URL says: a web on loopback.", rich_help_panel=_NET
    ),
    allow_private: bool | None = typer.Option(
        None, "--allow-private", help="Allow private, loopback and link-local addresses.", rich_help_panel=_NET
    ),
    settings: Path | None = typer.Option(None, help="A TOML file with any settings, as in crawl.toml."),
    json: bool = typer.Option(False, "--json", help="Print the report as JSON.", rich_help_panel=_OUTPUT),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No display.", rich_help_panel=_OUTPUT),
) -> None:
    """Measure how much of a surfer's time the pages of a crawl cover, and where the rest is.

    Random walks lead out of the crawl from its seeds. Pages outside that they need are fetched with the crawl's scope,
    politeness and robots.txt, and kept apart, in DIR/survey. A few hundred settle the matter, however large the web is.

    The same command again goes on, after any kind of stop, with the same walks. Whenever it is stopped, what it says
    holds with the confidence asked for: the chance is in the walks alone, nothing is assumed of the web.

    Exit code 0: the half width is reached; 3: the budget is spent, or too much is blocked; 130: interrupted.

    Example: [bold]orienteer survey example-crawl --half-width 0.01[/bold]
    """
    from orienteer.graph.survey.fixed_walks import SurveyGoal

    goal = SurveyGoal(half_width, budget, confidence)
    if top < 0:
        raise InputError(f"--top is {top}; it must be 0 or more")
    if graph is not None:
        from orienteer.cli.survey_graph import survey_on_graph

        _refuse_folder(folder, again or on_topic, output)
        report = survey_on_graph(graph, fetched, trust, damping, goal, rng, top)
    else:
        _refuse_graph({"--fetched": fetched, "--trust": trust, "--damping": damping, "--rng": rng})
        if folder is None:
            raise InputError("which crawl? Name a crawl folder, or a graph with --graph and --fetched")
        given: dict[str, dict[str, Any]] = {
            "crawl": {"workers": workers, "robots": None if ignore_robots is None else not ignore_robots},
            "politeness": {"delay_s": delay, "connections": connections},
            "fetch": {
                "user_agent": user_agent, "timeout_s": timeout, "proxy": proxy, "connect_to": connect_to,
                "allow_private": allow_private,
            },
        }  # fmt: skip
        report = _run(folder, goal, output, again, on_topic, merged(tables_in(settings), given), top, quiet or json)
    _tell(report, top, json)


def _refuse_folder(folder: Path | None, again: bool, output: Path | None) -> None:
    if folder is not None:
        raise InputError(f"{folder} and --graph: a survey is of one of them")
    if again or output is not None:
        raise InputError("--again, --on-topic and --output are for crawl folders; on a graph nothing is kept")


def _refuse_graph(given: dict[str, Any]) -> None:
    for option, value in given.items():
        if value is not None:
            raise InputError(f"{option} goes with --graph; a crawl folder says that itself")


def _run(
    folder: Path, goal: SurveyGoal, place: Path | None, again: bool, on_topic: bool, given: dict[str, dict[str, Any]],
    top: int, quiet: bool,
) -> SurveyReport:  # fmt: skip
    from orienteer.audit.live_survey import opened_live_survey
    from orienteer.cli.survey_display import Progress

    with ExitStack() as stack:
        with waiting(folder, quiet):
            opened = stack.enter_context(opened_live_survey(folder, goal, place, again, given, on_topic))
        if opened.folder.upgrade is not None:
            say(opened.folder.upgrade)
        stack.enter_context(stoppable(opened.live))
        return opened.run(None if quiet else Progress(), top)


def _tell(report: SurveyReport, top: int, json: bool) -> None:
    from orienteer.cli.survey_display import print_report

    with display.ignore_broken_pipe():
        if json:
            display.print_json(report.as_dict(top))
        else:
            print_report(report, top)
    if not report.goal_reached:
        raise typer.Exit(_INTERRUPTED if report.stopped_because is StopReason.INTERRUPTED else 3)
