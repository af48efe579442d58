"""`orienteer estimate`: what the pages of a domain are worth in the whole web."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display, order_file
from orienteer.cli.running import say, stoppable, waiting
from orienteer.errors import InputError

if TYPE_CHECKING:
    from orienteer.around.estimate import EstimateReport
    from orienteer.around.rounds import EstimateSettings
    from orienteer.graph.estimation.history import Round

_TIMES_THE_DOMAIN = re.compile(r"(\d+(?:\.\d+)?)n")


def estimate(
    folder: Path = typer.Argument(None, metavar="DIR", help="Crawl folder: its pages are the domain."),
    budget: str = typer.Option("2n", help="Pages to fetch around it: a number, or times the domain, such as 1n."),
    rounds: int = typer.Option(50, help="Number of rounds; each chooses pages again."),
    settle: float | None = typer.Option(
        None,
        help="Stop when the estimate changes by less than this (L1) while n/5 pages are fetched (0.005); 0: never.",
    ),
    select: str | None = typer.Option(
        None, help="What to fetch: stochastic-complement (default), pagerank-flow, outlink-count or random."
    ),
    method: str | None = typer.Option(None, help="How to estimate: frontier-return (default) or paper."),
    again: bool = typer.Option(False, "--again", help="Forget the pages fetched around the domain before."),
    graph: Path | None = typer.Option(None, help="Estimate on this graph instead; nothing is fetched."),
    local: str | None = typer.Option(
        None, metavar="FILE|host:NAME", help="With --graph, the domain: a file of pages, or all pages of a host."
    ),
    out: Path | None = typer.Option(
        None, help="Write URL, global rank and local rank of all pages of the domain: one line each, separated by tabs."
    ),
    top: int = typer.Option(10, help="How many pages to show of each kind."),
    proxy: str | None = typer.Option(None, help="A proxy; default: as in the crawl."),
    connect_to: str | None = typer.Option(None, metavar="HOST:PORT", help="Connect there, whatever the URL says."),
    allow_private: bool | None = typer.Option(
        None, "--allow-private", help="Allow private, loopback and link-local addresses."
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No display of the rounds."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Estimate the rank of each page of a crawl in the whole web, by fetching some pages around it.

    Pages outside the crawl are chosen by their influence, fetched as politely as its own, and kept apart, links only.
    The same command again goes on. Nothing bounds the error; what experience says of it is shown.

    Exit code 0: the budget is spent, the estimate has settled, or no page is left; 3: it was interrupted.

    Example: [bold]orienteer estimate example-crawl --budget 1n --out ranks.tsv[/bold]
    """
    order_file.check_place(out)
    if top < 0:
        raise InputError(f"--top is {top}; it must be 0 or more")
    options = {"rounds": rounds, "settle": settle, "select": select, "method": method}
    given = {name: value for name, value in options.items() if value is not None}
    if graph is not None:
        _refuse_both(folder, again)
        from orienteer.cli.estimate_graph import estimate_on_graph

        estimate_on_graph(graph, local, budget, given, out, top, json)
        return
    if local is not None:
        raise InputError("--local goes with --graph; the domain of a crawl folder is what it has fetched")
    if folder is None:
        raise InputError("which domain? Name a crawl folder, or a graph with --graph and --local")
    fetch = {"proxy": proxy, "connect_to": connect_to, "allow_private": allow_private}
    report = _run(folder, budget, given, again, {"fetch": fetch}, quiet or json)
    with display.ignore_broken_pipe():
        _tell(report, out, top, json)
    if not report.goal_reached:
        raise typer.Exit(3)


def _refuse_both(folder: Path | None, again: bool) -> None:
    if folder is not None:
        raise InputError(f"{folder} and --graph: an estimate has one domain")
    if again:
        raise InputError("--again is for crawl folders; on a graph nothing is kept")


def _run(
    folder: Path, budget: str, given: dict[str, Any], again: bool, fetch: dict[str, dict[str, Any]], quiet: bool
) -> EstimateReport:
    from orienteer.around.estimate import opened_estimate

    with ExitStack() as stack:
        with waiting(folder, quiet):
            settings = _settings(folder, budget, given)
            estimate = stack.enter_context(opened_estimate(folder, settings, again, fetch))
        stack.enter_context(stoppable(estimate.live))
        watch = None if quiet else lambda past: say(round_in_words(past, estimate.setup.rounds.budget))
        return estimate.run(watch)


def _settings(folder: Path, budget: str, given: dict[str, Any]) -> EstimateSettings:
    from orienteer.around.rounds import EstimateSettings
    from orienteer.inspect.local_web import local_pages
    from orienteer.store.folder_view import FolderView

    with FolderView.open(folder) as crawl:
        n_pages = len(local_pages(crawl.database))
    return EstimateSettings(pages_of_budget(budget, n_pages), **given)


def pages_of_budget(text: str, n_local: int) -> int:
    """`500`, or `2n`: twice the domain's pages."""
    times = _TIMES_THE_DOMAIN.fullmatch(text.strip())
    if times:
        return round(float(times[1]) * n_local)
    if text.strip().isascii() and text.strip().isdigit():
        return int(text)
    raise InputError(f"--budget {text}: give a number of pages, or times the domain, such as 2n")


def round_in_words(past: Round, budget: int) -> str:
    """A line for a round that is over."""
    if past.change is None:
        return f"before the first round: {100 * past.leaving:.0f} % of the domain's rank leads to pages outside"
    return (
        f"{past.n_fetched:,} of {budget:,} pages fetched outside: the estimate changed by {past.change:.4f}; "
        f"{100 * past.leaving:.0f} % of the rank leads to pages not fetched"
    )


def _tell(report: EstimateReport, out: Path | None, top: int, json: bool) -> None:
    from orienteer.cli.estimate_display import print_view, write_ranks
    from orienteer.cli.wording import add_fact, counted, duration, facts_grid, plain, tally
    from orienteer.pages.outcome import NO_ERRORS

    if out is not None:
        write_ranks(out, report.view, report.urls.get)
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
    add_fact(rows, "how sure", str(report.outlook))
    problems = {kind: n for kind, n in report.outcomes.items() if kind not in NO_ERRORS}
    add_fact(rows, "errors in this run", tally(problems, 6))
    add_fact(rows, "this run", duration(report.elapsed_s))
    add_fact(rows, "ranks", plain(str(out or report.folder / "ranks.npz")))
    display.console().print(rows)
    print_view(report.view, report.urls.get, top)


ENDINGS = {
    "settled": "the estimate has settled",
    "budget": "the budget is spent",
    "no page left": "no page is left that could be fetched",
    "interrupted": "interrupted; the same command resumes it",
}
