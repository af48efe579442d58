"""`orienteer graph`: inspect, convert, generate and measure link graphs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display, graph_options
from orienteer.cli.command import GRAPHS, RESEARCH, command
from orienteer.cli.display import add_fact, facts_grid
from orienteer.cli.estimate import pages_of_budget, print_view, write_ranks
from orienteer.cli.graph_options import loaded_web, url_of
from orienteer.cli.options import with_fields
from orienteer.cli.survey import end_with_report
from orienteer.errors import InputError
from orienteer.graph.defaults import SurveyGoal
from orienteer.ledger.settings import EstimateSettings
from orienteer.wording import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from orienteer.graph.estimation.estimation import Estimate
    from orienteer.graph.estimation.neighborhood_view import NeighborhoodView
    from orienteer.graph.link_graph import LinkGraph


@command(RESEARCH, "graph info", plugins={"--format": GRAPHS})
def info(
    graph: Path = typer.Argument(help="Graph folder or file, or crawl folder."),
    format: str = typer.Option(None, help="Format of GRAPH, if not clear from its name."),
    top: int = typer.Option(0, min=0, help="Also list the N pages with the highest PageRank."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Print the numbers of pages, links, hosts and components of a graph, and its degrees.

    Example: [bold]orienteer graph info web.npz --top 10[/bold]
    """
    from orienteer.graph.facts import graph_facts
    from orienteer.graph.link_graph import LinkGraph
    from orienteer.graph.pagerank import pagerank

    with display.progress_bar() as progress:
        web = LinkGraph.load(graph, format, progress=progress)
        facts = graph_facts(web, progress)
        if top and web.n_pages:
            facts["top_pages"] = top_pages(web, pagerank(web, progress=progress), top)
    if json:
        display.print_json(facts)
        return
    print_facts(facts)
    if facts.get("top_pages"):
        print_top_pages(facts["top_pages"])


def print_facts(facts: dict[str, Any]) -> None:
    """Print the figures as tables."""
    table = display.facts_table()
    n_pages, n_links = facts["n_pages"], facts["n_links"]
    rows = [
        ("pages", n_pages, ""),
        ("links", n_links, f"{facts['mean_degree']:.1f} a page"),
        ("dangling pages", facts["n_dangling"], display.share(facts["n_dangling"], n_pages)),
        ("pages no page links to", facts["n_without_in_links"], display.share(facts["n_without_in_links"], n_pages)),
        ("isolated pages", facts["n_isolated"], display.share(facts["n_isolated"], n_pages)),
        ("strong components", facts["n_components"], ""),
        ("pages in the largest", facts["largest_component"], display.share(facts["largest_component"], n_pages)),
    ]
    if "n_hosts" in facts:
        rows.append(("hosts", facts["n_hosts"], ""))
        inter = facts["n_inter_host_links"]
        rows.append(("links between hosts", inter, display.share(inter, n_links)))
    table.add_column(style="dim")
    for name, figure, remark in rows:
        table.add_row(name, f"{figure:,}", remark)
    degrees = display.columns_table(None, ("links of a page", False), *((name, True) for name in facts["out_degree"]))
    for name, key in (("out", "out_degree"), ("in", "in_degree")):
        degrees.add_row(name, *(f"{value:,}" for value in facts[key].values()))
    display.console().print(table)
    display.console().print(degrees)


def print_top_pages(pages: list[dict[str, Any]]) -> None:
    """Print the pages with the highest rank as a table."""
    table = display.columns_table(None, ("rank", True), ("in-links", True), ("page", True), ("url", False))
    for page in pages:
        table.add_row(f"{page['rank']:.6f}", f"{page['in_links']:,}", str(page["page"]), page.get("url", ""))
    display.console().print(table)


def top_pages(web: LinkGraph, rank: NDArray[np.float64], n: int) -> list[dict[str, Any]]:
    """Return the n pages with the highest rank; ties by the lowest id."""
    in_links = web.in_degrees()
    found = []
    for page in (-rank).argsort(kind="stable")[:n]:
        row: dict[str, Any] = {"page": int(page), "rank": float(rank[page]), "in_links": int(in_links[page])}
        if web.urls is not None:
            row["url"] = web.urls[int(page)]
        found.append(row)
    return found


@command(RESEARCH, "graph convert", plugins={"--from": GRAPHS, "--to": GRAPHS})
def convert(
    source: Path = typer.Argument(help="Graph folder or file, or crawl folder."),
    target: Path = typer.Argument(help="File to write, in the format of its suffix; without a suffix, a graph folder."),
    source_format: str = typer.Option(None, "--from", help="Format of SOURCE, if not clear from its name."),
    target_format: str = typer.Option(None, "--to", help="Format of TARGET, if not clear from its name."),
    urls: bool = typer.Option(False, "--urls", help="Edge lists: write pairs of URLs instead of ids."),
    hosts: bool = typer.Option(False, "--hosts", help="Derive hosts from the URLs, if the graph has none."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Convert a graph to another format. An edge list may be larger than memory.

    Example: [bold]orienteer graph convert links.csv.gz web[/bold]
    """
    from orienteer.graph import formats
    from orienteer.graph.hosts import with_hosts
    from orienteer.graph.link_graph import LinkGraph

    chosen = target_format or formats.format_of(target).name
    if urls and chosen != "edges":
        raise InputError(f"--urls is for edge lists; {target} is written as {chosen}")
    with display.progress_bar() as progress:
        web = LinkGraph.load(source, source_format, progress=progress)
        if hosts and web.hosts is None:
            web = with_hosts(web)
        web.save(target, target_format, progress=progress, **({"urls": True} if urls else {}))
    facts = {"n_pages": web.n_pages, "n_links": web.n_links, "path": str(target), "format": chosen}
    text = f"{target}: {web.n_pages:,} pages, {web.n_links:,} links ({chosen})"
    display.print_result(facts, json, lambda: print(text))


@command(RESEARCH, "graph generate")
def generate(
    target: Path = typer.Argument(help="File to write, in the format of its suffix; without a suffix, a graph folder."),
    pages: int = typer.Option(100_000, "--pages", "-n", min=1, help="Number of pages."),
    degree: float = typer.Option(23.0, help="Mean number of links per page."),
    inter_host: float = typer.Option(0.04, help="Share of links to other hosts."),
    dangling: float = typer.Option(0.1, help="Share of pages without links."),
    rng: int = typer.Option(0, min=0, help="Random seed; the same seed gives the same graph."),
    urls: bool = typer.Option(False, "--urls", help="Give the pages URLs."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Generate a synthetic web graph with hosts, navigation, hubs, deep pages and dangling pages.

    Example: [bold]orienteer graph generate web --pages 1000000[/bold]
    """
    from orienteer.graph.synthetic import synthetic_web

    with display.progress_bar() as progress:
        web = synthetic_web(pages, degree, inter_host, dangling, rng, with_urls=urls, progress=progress)
        web.save(target, progress=progress)
    n_hosts = int(web.hosts[-1]) + 1 if web.hosts is not None else 0
    facts = {"n_pages": web.n_pages, "n_links": web.n_links, "n_hosts": n_hosts, "path": str(target)}
    text = f"{target}: {web.n_pages:,} pages, {web.n_links:,} links, {n_hosts:,} hosts"
    display.print_result(facts, json, lambda: print(text))


@command(RESEARCH, "graph survey")
@with_fields("goal", SurveyGoal)
def survey(
    graph: Path = typer.Argument(help="Graph folder or file, or crawl folder."),
    fetched: Path = typer.Option(
        ..., metavar="FILE", help="The fetched pages, an id or a URL per line, as written by simulate --order-out."
    ),
    trust: str = typer.Option(graph_options.DEFAULT_TRUST, help=graph_options.TRUST_HELP),
    damping: float = typer.Option(0.85, help="Probability that a surfer follows a link."),
    *,
    goal: dict[str, Any],
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
    from orienteer.side_crawls.survey_report import graph_survey

    wanted = SurveyGoal(**goal)
    if top < 0:
        raise InputError("--top: 0 or more")
    with display.progress_bar() as progress:
        web = loaded_web(graph, None, progress)
        pages = pages_in_file(web, fetched)
        weights = graph_options.trust_named(web, trust, progress)
        report = graph_survey(
            web, pages, weights, wanted, damping, rng=rng, source=str(fetched), n_gaps=top, progress=progress
        )
    end_with_report(report, top, json)


@command(RESEARCH, "graph estimate")
@with_fields("how", EstimateSettings)
def estimate(
    graph: Path = typer.Argument(help="Graph folder or file, or crawl folder."),
    pages: str = typer.Option(
        ..., metavar="FILE|host:NAME", help="The pages of the domain: a file of them, or all pages of a host."
    ),
    budget: str = typer.Option(
        "2n", help="Pages outside whose links may be read: a number, or a multiple of the domain's pages, such as 1n."
    ),
    *,
    how: dict[str, Any],
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
    from orienteer.graph.estimation.estimation import estimate_global_rank
    from orienteer.graph.estimation.neighborhood_view import NeighborhoodView

    graph_options.check_place(output)
    if top < 0:
        raise InputError("--top: 0 or more")
    settings = EstimateSettings(**how)
    with display.progress_bar() as progress:
        web = loaded_web(graph, None, progress)
        local = domain_named(web, pages)
        found = estimate_global_rank(
            web, local, pages_of_budget(budget, int(local.sum())), settings.rounds, settings.select, settings.method,
            settle=settings.settle, truth=True, progress=progress,
        )  # fmt: skip
        view = NeighborhoodView.of(found.estimation, top)
    if output is not None:
        write_ranks(output, view, lambda page: url_of(web, page))
    display.print_result(_facts(web, found, view, top), json, lambda: _print(web, found, view, top))


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
