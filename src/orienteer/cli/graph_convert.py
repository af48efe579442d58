"""`orienteer graph convert`: convert between graph formats."""

from __future__ import annotations

from pathlib import Path

import typer

from orienteer.cli import display


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
    from orienteer.errors import InputError
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
    if json:
        display.print_json({"n_pages": web.n_pages, "n_links": web.n_links, "path": str(target), "format": chosen})
    else:
        print(f"{target}: {web.n_pages:,} pages, {web.n_links:,} links ({chosen})")
