"""`orienteer survey`: measure how complete a crawl is, and where the missing pages are."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display, interruption, trust_option
from orienteer.cli.running import say, stoppable, waiting
from orienteer.cli.settings_file import tables_in
from orienteer.errors import InputError
from orienteer.pages.stop_reason import StopReason
from orienteer.settings import merged

if TYPE_CHECKING:
    from orienteer.graph.survey.fixed_walks import SurveyGoal
    from orienteer.side_crawls.survey_report import SurveyReport

_GOAL, _GRAPH, _POLITE, _NET, _OUTPUT = "Goal", "On a graph", "Politeness", "Network", "Output"


def survey(
    folder: Path = typer.Argument(None, metavar="DIR", help="Crawl folder, which may be imported."),
    half_width: float = typer.Option(
        0.005, help="Stop when the coverage is known to within this, on each side.", rich_help_panel=_GOAL
    ),
    budget: int | None = typer.Option(
        None, help="Stop after fetching this many pages outside the crawl.", rich_help_panel=_GOAL
    ),
    confidence: float = typer.Option(0.999, help="Confidence of the result.", rich_help_panel=_GOAL),
    on_topic: bool = typer.Option(
        False, "--on-topic", help="Start the walks from the pages on the crawl's topic, not from its seeds."
    ),
    restart: bool = typer.Option(False, "--restart", help="Start a new survey: discard the pages fetched before."),
    output: Path | None = typer.Option(None, "--output", "-o", help="The folder of the survey; default: DIR/survey."),
    top: int = typer.Option(5, help="Number of hosts and folders with missing pages to list."),
    graph: Path | None = typer.Option(
        None, help="Measure on this graph instead of a crawl; nothing is fetched.", rich_help_panel=_GRAPH
    ),
    fetched: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="With --graph: the fetched pages, an id or a URL per line, as written by simulate --order-out.",
        rich_help_panel=_GRAPH,
    ),
    trust: str | None = typer.Option(
        None, help=f"{trust_option.HELP} Default: {trust_option.DEFAULT}.", rich_help_panel=_GRAPH
    ),
    damping: float | None = typer.Option(
        None, help="Probability that a surfer follows a link (0.85).", rich_help_panel=_GRAPH
    ),
    rng: int | None = typer.Option(
        None,
        min=0,
        help="Random seed of the walks; default: from the system.",
        rich_help_panel=_GRAPH,
    ),
    delay: float | None = typer.Option(
        None, help="Seconds between two requests to a host; default: as in the crawl.", rich_help_panel=_POLITE
    ),
    connections: int | None = typer.Option(None, help="Concurrent requests per host.", rich_help_panel=_POLITE),
    user_agent: str | None = typer.Option(
        None, help="User-Agent header; include how to contact you.", rich_help_panel=_POLITE
    ),
    ignore_robots: bool | None = typer.Option(
        None, "--ignore-robots", help="Ignore robots.txt; only for your own hosts.", rich_help_panel=_POLITE
    ),
    workers: int | None = typer.Option(None, help="Concurrent requests and walks.", rich_help_panel=_NET),
    timeout: float | None = typer.Option(None, help="Timeout of a page, in seconds.", rich_help_panel=_NET),
    proxy: str | None = typer.Option(None, help="Proxy, such as http://localhost:3128.", rich_help_panel=_NET),
    connect_to: str | None = typer.Option(
        None,
        metavar="HOST:PORT",
        help="Connect to this address for every URL, such as a test server.",
        rich_help_panel=_NET,
    ),
    allow_private: bool | None = typer.Option(
        None, "--allow-private", help="Allow private, loopback and link-local addresses.", rich_help_panel=_NET
    ),
    settings: Path | None = typer.Option(None, help="TOML file with any settings, as in crawl.toml."),
    json: bool = typer.Option(False, "--json", help="Print the report as JSON.", rich_help_panel=_OUTPUT),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print no progress.", rich_help_panel=_OUTPUT),
) -> None:
    """Measure the coverage of a crawl by random walks, and where the missing pages are.

    The coverage is the share of a random surfer's time on crawled pages. Walks start from the seeds; the pages that
    they need outside the crawl are fetched with its scope, politeness and robots.txt, and stored separately, in
    DIR/survey. A few hundred pages are enough, however large the web is.

    To continue after any kind of stop, run the same command again. Whenever it stops, the result holds with the given
    confidence, if the response for a page does not depend on when, in which order or for whom it is fetched. The
    confidence is over the randomness of the walks alone: it holds for every link structure.

    Exit code 0: the half width is reached; 3: the budget is spent, or too much is blocked; 130: interrupted.

    Example: [bold]orienteer survey example-crawl --half-width 0.01[/bold]
    """
    from orienteer.graph.survey.fixed_walks import SurveyGoal

    goal = SurveyGoal(half_width, budget, confidence)
    if top < 0:
        raise InputError("--top: 0 or more")
    if graph is not None:
        from orienteer.cli.survey_graph import survey_on_graph

        _refuse_folder(folder, restart or on_topic, output)
        report = survey_on_graph(graph, fetched, trust, damping, goal, rng, top)
    else:
        _refuse_graph({"--fetched": fetched, "--trust": trust, "--damping": damping, "--rng": rng})
        if folder is None:
            raise InputError("no crawl given; name a crawl folder, or a graph with --graph and --fetched")
        given: dict[str, dict[str, Any]] = {
            "crawl": {"workers": workers, "robots": None if ignore_robots is None else not ignore_robots},
            "politeness": {"delay_s": delay, "connections": connections},
            "fetch": {
                "user_agent": user_agent, "timeout_s": timeout, "proxy": proxy, "connect_to": connect_to,
                "allow_private": allow_private,
            },
        }  # fmt: skip
        report = _run(folder, goal, output, restart, on_topic, merged(tables_in(settings), given), top, quiet or json)
    _print(report, top, json)


def _refuse_folder(folder: Path | None, restart: bool, output: Path | None) -> None:
    if folder is not None:
        raise InputError(f"give a folder or --graph, not both ({folder})")
    if restart or output is not None:
        raise InputError("--restart, --on-topic and --output go with a crawl folder; on a graph nothing is stored")


def _refuse_graph(given: dict[str, Any]) -> None:
    for option, value in given.items():
        if value is not None:
            raise InputError(f"{option} goes with --graph; a crawl folder has its own")


def _run(
    folder: Path, goal: SurveyGoal, place: Path | None, restart: bool, on_topic: bool, given: dict[str, dict[str, Any]],
    top: int, quiet: bool,
) -> SurveyReport:  # fmt: skip
    from orienteer.cli.survey_display import Progress
    from orienteer.side_crawls.survey import open_live_survey

    with ExitStack() as stack:
        with waiting(folder, quiet):
            opened = stack.enter_context(open_live_survey(folder, goal, place, restart, given, on_topic))
        if opened.folder.upgrade is not None:
            say(opened.folder.upgrade)
        stack.enter_context(stoppable(opened.live))
        return opened.run(None if quiet else Progress(), top)


def _print(report: SurveyReport, top: int, json: bool) -> None:
    from orienteer.cli.survey_display import print_report

    with display.ignore_broken_pipe():
        if json:
            display.print_json(report.as_dict(top))
        else:
            print_report(report, top)
    if not report.goal_reached:
        raise typer.Exit(interruption.exit_code() if report.stopped_because is StopReason.INTERRUPTED else 3)
