"""`orienteer graph estimate`: the estimate of the global rank on a complete graph, with its true error."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display, order_file
from orienteer.cli.estimate import pages_of_budget, print_view, write_ranks
from orienteer.cli.web_argument import loaded_web, url_of
from orienteer.cli.wording import add_fact, counted, facts_grid
from orienteer.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from orienteer.graph.estimate import Estimate
    from orienteer.graph.estimation.neighborhood_view import NeighborhoodView
    from orienteer.graph.link_graph import LinkGraph


def estimate(
    graph: Path = typer.Argument(help="Graph folder or file, or crawl folder."),
    pages: str = typer.Option(
        ..., metavar="FILE|host:NAME", help="The pages of the domain: a file of them, or all pages of a host."
    ),
    budget: str = typer.Option(
        "2n", help="Pages outside whose links may be read: a number, or a multiple of the domain's pages, such as 1n."
    ),
    rounds: int = typer.Option(50, help="Number of rounds; each one chooses pages."),
    settle: float = typer.Option(
        0.005, help="Stop when the estimate changes by less than this (L1) over n/5 pages; 0: never."
    ),
    select: str = typer.Option(
        "stochastic-complement",
        help="How to choose pages: stochastic-complement, pagerank-flow, outlink-count or random.",
    ),
    method: str = typer.Option("frontier-return", help="Estimator: frontier-return or paper (as published)."),
    output: Path | None = typer.Option(
        None,
        "--output",
        "-o",
        help="Write the ranks to this file: URL, global rank and local rank of each page, separated by tabs.",
    ),
    top: int = typer.Option(10, help="Number of pages to list of each kind."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Estimate the rank of each page of a domain from some pages of the graph, and compare it with the true rank.

    This is [bold]orienteer estimate[/bold] without a network: the pages outside the domain are those of the graph.

    Example: [bold]orienteer graph estimate web --pages host:0 --budget 1n[/bold]
    """
    from orienteer.graph.estimate import estimate_global_rank
    from orienteer.graph.estimation.neighborhood_view import NeighborhoodView
    from orienteer.side_crawls.estimate_rounds import EstimateSettings

    order_file.check_place(output)
    if top < 0:
        raise InputError("--top: 0 or more")
    EstimateSettings(None, rounds, select, method, settle)  # checks them
    with display.progress_bar() as progress:
        web = loaded_web(graph, None, progress)
        local = domain_named(web, pages)
        found = estimate_global_rank(
            web, local, pages_of_budget(budget, int(local.sum())), rounds, select, method, settle=settle, truth=True,
            progress=progress,
        )  # fmt: skip
        view = NeighborhoodView.of(found.estimation, top)
    if output is not None:
        write_ranks(output, view, lambda page: url_of(web, page))
    if json:
        display.print_json(_facts(web, found, view, top))
    else:
        _print(web, found, view, top)


def domain_named(web: LinkGraph, text: str) -> NDArray[np.bool_]:
    """Return the pages of a host, or those listed in a file."""
    from orienteer.graph.page_names import pages_in_file

    kind, colon, host = text.partition(":")
    if kind == "host" and colon:
        if web.hosts is None:
            raise InputError(f"--pages {text}: the graph has no hosts")
        is_local: NDArray[np.bool_] = web.hosts == _host_named(web, host)
        return is_local
    return pages_in_file(web, Path(text))


def _host_named(web: LinkGraph, name: str) -> int:
    """Find a host by name if the graph has URLs, else by number."""
    from orienteer.graph.page_names import is_number

    if web.urls is not None:
        from orienteer.graph.hosts import host_ids

        numbers, names = host_ids(web.urls)
        if name in names:
            page = int((numbers == names.index(name)).argmax())
            assert web.hosts is not None
            return int(web.hosts[page])
        raise InputError(f"--pages host:{name}: no page of the graph is on this host")
    assert web.hosts is not None
    if not is_number(name) or not (web.hosts == int(name)).any():
        raise InputError(f"--pages host:{name}: hosts of this graph are numbers, 0 to {int(web.hosts.max())}")
    return int(name)


def _facts(web: LinkGraph, found: Estimate, view: NeighborhoodView, top: int) -> dict[str, Any]:
    return {
        "n_local": len(found.local),
        "n_fetched": len(found.fetched),
        "select": found.select,
        "method": found.method,
        "history": [asdict(past) for past in found.history],
        "forecast": asdict(found.forecast) | {"text": str(found.forecast)},
        **view.as_dict(lambda page: url_of(web, page), top),
    }


def _print(web: LinkGraph, found: Estimate, view: NeighborhoodView, top: int) -> None:
    first, last = found.history[0].errors, found.history[-1].errors
    rows = facts_grid()
    add_fact(rows, "domain", f"{counted(len(found.local), 'page')} of {web.n_pages:,}")
    n_rounds = len(found.history) - 1
    add_fact(rows, "fetched outside", f"{counted(len(found.fetched), 'page')} in {counted(n_rounds, 'round')}")
    for when, errors in (("before", first), ("error", last)):
        if errors is not None:
            true = f"L1 {errors.l1:.4f}, largest {errors.l_inf:.4f}, Kendall's tau {errors.tau:.4f}"
            add_fact(rows, when, true + (" (by the local links alone)" if when == "before" else ""))
    add_fact(rows, "expected error", str(found.forecast))
    display.console().print(rows)
    print_view(view, lambda page: url_of(web, page), top)
