"""`orienteer estimate`: the rank of the pages of a domain in the whole web."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display, graph_options, interruption
from orienteer.cli.command import QUALITY, command
from orienteer.cli.display import add_fact, facts_grid
from orienteer.cli.options import GivenSettings, with_fields, with_settings
from orienteer.cli.running import say, stoppable, waiting
from orienteer.errors import InputError
from orienteer.ledger.settings import EstimateSettings
from orienteer.pages.outcome import NO_ERRORS
from orienteer.wording import counted, duration, plain, tally

if TYPE_CHECKING:
    from orienteer.graph.estimation.history import EstimateRound
    from orienteer.graph.estimation.neighborhood_view import LocalPageRanks, NeighborhoodView, ReferringPage
    from orienteer.side_crawls.estimate import EstimateReport

Name = Callable[[int], str | None]

_URL_CHARS = 200
_TIMES_THE_DOMAIN = re.compile(r"(\d+(?:\.\d+)?)n")


@command(QUALITY)
@with_fields("how", EstimateSettings)
@with_settings("--connect-to", "--allow-private")
def estimate(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder, whose pages are the domain."),
    budget: str = typer.Option(
        "2n", help="Pages to fetch outside: a number, or a multiple of the domain's pages, such as 1n."
    ),
    *,
    how: dict[str, Any],
    restart: bool = typer.Option(False, "--restart", help="Start over: discard the pages fetched outside before."),
    output: Path | None = typer.Option(
        None,
        "--output",
        "-o",
        help="Write the ranks to this file: URL, global rank and local rank of each page, separated by tabs.",
    ),
    top: int = typer.Option(10, help="Number of pages to list of each kind."),
    given: GivenSettings,
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print no progress."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Estimate the rank of each page of a crawl in the whole web, by fetching some pages outside it.

    Pages outside the crawl are chosen by their influence and fetched with its politeness; their links are stored
    separately. To continue, run the same command again. The error has no proved bound; the report gives the error that
    is typical in experiments. For pages of a graph there is [bold]orienteer graph estimate[/bold].

    Exit code 0: the budget is spent, the estimate has converged, or no page is left to fetch; 130: interrupted.

    Example: [bold]orienteer estimate example-crawl --budget 1n --output ranks.tsv[/bold]
    """
    graph_options.check_place(output)
    if top < 0:
        raise InputError("--top: 0 or more")
    report = _run(folder, budget, how, restart, given.tables, quiet or json)
    with display.ignore_broken_pipe():
        _print_report(report, output, top, json)
    if not report.goal_reached:
        raise typer.Exit(interruption.exit_code())


def _run(
    folder: Path, budget: str, how: dict[str, Any], restart: bool, given: dict[str, dict[str, Any]],
    quiet: bool,
) -> EstimateReport:  # fmt: skip
    from orienteer.inspect.snapshot import local_pages
    from orienteer.side_crawls.estimate import open_estimate
    from orienteer.store.folder_view import FolderView

    with ExitStack() as stack:
        with waiting(folder, quiet):
            with FolderView.open(folder) as crawl:
                n_pages = len(local_pages(crawl.database))
            settings = EstimateSettings(pages_of_budget(budget, n_pages), **how)
            estimate = stack.enter_context(open_estimate(folder, settings, restart, given))
        stack.enter_context(stoppable(estimate.live))
        watch = None if quiet else lambda past: say(describe_round(past, estimate.setup.rounds.budget))
        return estimate.run(watch)


def pages_of_budget(text: str, n_local: int) -> int:
    """Parse `500`, or `2n`: twice the domain's pages."""
    times = _TIMES_THE_DOMAIN.fullmatch(text.strip())
    if times:
        return round(float(times[1]) * n_local)
    if text.strip().isascii() and text.strip().isdigit():
        return int(text)
    raise InputError(f"--budget {text}: give a number of pages, or a multiple of the domain, such as 2n")


def describe_round(past: EstimateRound, budget: int) -> str:
    """Return a line about a finished round."""
    if past.change is None:
        return f"before the first round: {100 * past.leaving:.0f} % of the domain's rank leads to pages outside"
    return (
        f"{past.n_fetched:,} of {budget:,} pages fetched outside: the estimate changed by {past.change:.4f}; "
        f"{100 * past.leaving:.0f} % of the rank leads to pages not fetched"
    )


def _print_report(report: EstimateReport, output: Path | None, top: int, json: bool) -> None:
    if output is not None:
        write_ranks(output, report.view, report.urls.get)
    if json:
        display.print_json(report.as_dict(top))
        return
    rows = facts_grid()
    add_fact(rows, "domain", f"{counted(len(report.pages), 'page')} of {plain(str(report.folder))}")
    failed = f"; {counted(report.n_failed, 'link leads', 'links lead')} to no page" if report.n_failed else ""
    n_rounds = len(report.history) - 1
    fetched = f"{counted(report.n_fetched, 'page')} in {counted(n_rounds, 'round')}{failed}"
    add_fact(rows, "fetched outside", fetched)
    add_fact(rows, "stopped", ENDINGS.get(report.stopped_because, report.stopped_because))
    add_fact(rows, "accuracy", str(report.forecast))
    problems = {kind: n for kind, n in report.outcomes.items() if kind not in NO_ERRORS}
    add_fact(rows, "errors in this run", tally(problems, 6))
    add_fact(rows, "this run", duration(report.elapsed_s))
    add_fact(rows, "ranks", plain(str(output or report.folder / "ranks.npz")))
    display.console().print(rows)
    print_view(report.view, report.urls.get, top)


ENDINGS = {
    "settled": "the estimate has converged",
    "budget": "the budget is spent",
    "no page left": "no page is left to fetch",
    "interrupted": "interrupted; the same command resumes it",
}


def print_view(view: NeighborhoodView, name: Name, n: int) -> None:
    """Print the highest ranked pages, the largest differences from the local rank, and the top referrers."""
    more, less = view.largest_differences(n)
    _print_ranks("Highest rank in the whole web", view.page_ranks[:n], name)
    _print_ranks("Ranked higher by the whole web than within the domain", more, name)
    _print_ranks("Ranked lower by the whole web than within the domain", less, name)
    _print_referrers(view.referrers[:n], name)


def _print_ranks(title: str, found: list[LocalPageRanks], name: Name) -> None:
    if not found:
        return
    headings = [("place outside", True), ("inside", True), ("rank outside", True), ("inside", True), ("page", False)]
    table = display.columns_table(title, *headings)
    for rank in found:
        table.add_row(
            f"{rank.position_outside:,}", f"{rank.position_inside:,}", _percent(rank.outside),
            _percent(rank.inside), _named(name, rank.page),
        )  # fmt: skip
    display.console().print(table)


def _print_referrers(found: list[ReferringPage], name: Name) -> None:
    if not found:
        return
    headings = [("impact", True), ("links into it", True), ("of all", True), ("page outside", False)]
    table = display.columns_table("Top referrers: pages outside that contribute the most rank", *headings)
    for page in found:
        table.add_row(_percent(page.impact), f"{len(page.links):,}", f"{page.n_links:,}", _named(name, page.page))
    display.console().print(table)


def _percent(share: float) -> str:
    return f"{100 * share:#.3g} %"


def _named(name: Name, page: int) -> str:
    from rich.markup import escape

    return escape(plain(name(page) or str(page), _URL_CHARS))


def write_ranks(path: Path, view: NeighborhoodView, name: Name) -> None:
    """Write a line per page of the domain, by descending global rank: name, global rank, local rank."""
    ranks = (
        f"{plain(name(rank.page) or str(rank.page), 10_000)}\t{rank.outside!r}\t{rank.inside!r}"
        for rank in view.page_ranks
    )
    graph_options.write_lines(path, ("page\tglobal rank\tlocal rank", *ranks))
