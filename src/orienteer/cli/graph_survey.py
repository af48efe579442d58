"""`orienteer graph survey`: measure how complete some pages of a graph are."""

from __future__ import annotations

from pathlib import Path

import typer

from orienteer.cli import display, trust_option
from orienteer.cli.survey import end_with_report
from orienteer.cli.web_argument import loaded_web
from orienteer.errors import InputError


def survey(
    graph: Path = typer.Argument(help="Graph folder or file, or crawl folder."),
    fetched: Path = typer.Option(
        ..., metavar="FILE", help="The fetched pages, an id or a URL per line, as written by simulate --order-out."
    ),
    trust: str = typer.Option(trust_option.DEFAULT, help=trust_option.HELP),
    damping: float = typer.Option(0.85, help="Probability that a surfer follows a link."),
    half_width: float = typer.Option(0.005, help="Stop when the coverage is known to within this, on each side."),
    budget: int | None = typer.Option(None, help="Stop after visiting this many other pages."),
    confidence: float = typer.Option(0.999, help="Confidence of the result."),
    rng: int | None = typer.Option(None, min=0, help="Random seed of the walks; default: from the system."),
    top: int = typer.Option(5, help="Number of hosts and folders with missing pages to list."),
    json: bool = typer.Option(False, "--json", help="Print the report as JSON."),
) -> None:
    """Measure the coverage of some pages of a graph by random walks, and where the missing pages are.

    This is [bold]orienteer survey[/bold] without a network: the walks follow the links of the graph.

    Exit code 0: the half width is reached; 3: the budget is spent.

    Example: [bold]orienteer graph survey web --fetched order.txt --half-width 0.02[/bold]
    """
    from orienteer.graph.page_names import pages_in_file
    from orienteer.graph.survey.fixed_walks import SurveyGoal
    from orienteer.side_crawls.survey_report import graph_survey

    goal = SurveyGoal(half_width, budget, confidence)
    if top < 0:
        raise InputError("--top: 0 or more")
    with display.progress_bar() as progress:
        web = loaded_web(graph, None, progress)
        pages = pages_in_file(web, fetched)
        weights = trust_option.trust_named(web, trust, progress)
        report = graph_survey(
            web, pages, weights, goal, damping, rng=rng, source=str(fetched), n_gaps=top, progress=progress
        )
    end_with_report(report, top, json)
