"""`orienteer graph generate`: a synthetic web."""

from __future__ import annotations

from pathlib import Path

import typer

from orienteer.cli import display


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
    if json:
        facts = {"n_pages": web.n_pages, "n_links": web.n_links, "n_hosts": n_hosts, "path": str(target)}
        display.print_json(facts)
    else:
        print(f"{target}: {web.n_pages:,} pages, {web.n_links:,} links, {n_hosts:,} hosts")
