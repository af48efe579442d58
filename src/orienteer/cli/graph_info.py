"""`orienteer graph info`: basic figures of a graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from orienteer.graph.link_graph import LinkGraph


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
