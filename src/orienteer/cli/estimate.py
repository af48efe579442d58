"""`orienteer estimate`: the rank of the pages of a domain in the whole web."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display, interruption, order_file
from orienteer.cli.running import say, stoppable, waiting
from orienteer.errors import InputError

if TYPE_CHECKING:
    from orienteer.graph.estimation.history import EstimateRound
    from orienteer.neighborhood.estimate import EstimateReport
    from orienteer.neighborhood.rounds import EstimateSettings

_TIMES_THE_DOMAIN = re.compile(r"(\d+(?:\.\d+)?)n")


def estimate(
    folder: Path = typer.Argument(None, metavar="DIR", help="Crawl folder, whose pages are the domain."),
    budget: str = typer.Option(
        "2n", help="Pages to fetch outside: a number, or a multiple of the domain's pages, such as 1n."
    ),
    rounds: int = typer.Option(50, help="Number of rounds; each one chooses pages to fetch."),
    settle: float | None = typer.Option(
        None,
        help="Stop when the estimate changes by less than this (L1) over n/5 fetched pages (0.005); 0: never.",
    ),
    select: str | None = typer.Option(
        None, help="How to choose pages: stochastic-complement (default), pagerank-flow, outlink-count or random."
    ),
    method: str | None = typer.Option(None, help="Estimator: frontier-return (default) or paper (as published)."),
    restart: bool = typer.Option(False, "--restart", help="Start over: discard the pages fetched outside before."),
    graph: Path | None = typer.Option(None, help="Estimate on this graph instead of a crawl; nothing is fetched."),
    pages: str | None = typer.Option(
        None,
        metavar="FILE|host:NAME",
        help="With --graph: the pages of the domain, a file of them or all pages of a host.",
    ),
    output: Path | None = typer.Option(
        None,
        "--output",
        "-o",
        help="Write the ranks to this file: URL, global rank and local rank of each page, separated by tabs.",
    ),
    top: int = typer.Option(10, help="Number of pages to list of each kind."),
    proxy: str | None = typer.Option(None, help="Proxy; default: as in the crawl."),
    connect_to: str | None = typer.Option(None, metavar="HOST:PORT", help="Connect to this address for every URL."),
    allow_private: bool | None = typer.Option(
        None, "--allow-private", help="Allow private, loopback and link-local addresses."
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print no progress."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Estimate the rank of each page of a crawl in the whole web, by fetching some pages outside it.

    Pages outside the crawl are chosen by their influence and fetched with its politeness; their links are stored
    separately. To continue, run the same command again. The error has no proved bound; the report gives the error that
    is typical in experiments.

    Exit code 0: the budget is spent, the estimate has converged, or no page is left to fetch; 130: interrupted.

    Example: [bold]orienteer estimate example-crawl --budget 1n --output ranks.tsv[/bold]
    """
    order_file.check_place(output)
    if top < 0:
        raise InputError("--top: 0 or more")
    options = {"rounds": rounds, "settle": settle, "select": select, "method": method}
    given = {name: value for name, value in options.items() if value is not None}
    if graph is not None:
        _refuse_both(folder, restart)
        from orienteer.cli.estimate_graph import estimate_on_graph

        estimate_on_graph(graph, pages, budget, given, output, top, json)
        return
    if pages is not None:
        raise InputError("--pages goes with --graph; the domain of a crawl folder is the pages that it has fetched")
    if folder is None:
        raise InputError("which domain? Name a crawl folder, or a graph with --graph and --pages")
    fetch = {"proxy": proxy, "connect_to": connect_to, "allow_private": allow_private}
    report = _run(folder, budget, given, restart, {"fetch": fetch}, quiet or json)
    with display.ignore_broken_pipe():
        _print_report(report, output, top, json)
    if not report.goal_reached:
        raise typer.Exit(interruption.exit_code())


def _refuse_both(folder: Path | None, restart: bool) -> None:
    if folder is not None:
        raise InputError(f"give a folder or --graph, not both ({folder})")
    if restart:
        raise InputError("--restart goes with a crawl folder; on a graph nothing is stored")


def _run(
    folder: Path, budget: str, given: dict[str, Any], restart: bool, fetch: dict[str, dict[str, Any]], quiet: bool
) -> EstimateReport:
    from orienteer.neighborhood.estimate import open_estimate

    with ExitStack() as stack:
        with waiting(folder, quiet):
            settings = _settings(folder, budget, given)
            estimate = stack.enter_context(open_estimate(folder, settings, restart, fetch))
        stack.enter_context(stoppable(estimate.live))
        watch = None if quiet else lambda past: say(describe_round(past, estimate.setup.rounds.budget))
        return estimate.run(watch)


def _settings(folder: Path, budget: str, given: dict[str, Any]) -> EstimateSettings:
    from orienteer.inspect.snapshot import local_pages
    from orienteer.neighborhood.rounds import EstimateSettings
    from orienteer.store.folder_view import FolderView

    with FolderView.open(folder) as crawl:
        n_pages = len(local_pages(crawl.database))
    return EstimateSettings(pages_of_budget(budget, n_pages), **given)


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
    from orienteer.cli.estimate_display import print_view, write_ranks
    from orienteer.cli.wording import add_fact, counted, duration, facts_grid, plain, tally
    from orienteer.pages.outcome import NO_ERRORS

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
