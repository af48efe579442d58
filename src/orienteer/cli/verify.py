"""`orienteer verify`: whether what a crawl folder claims follows from what it holds."""

from __future__ import annotations

from pathlib import Path

import typer

from orienteer.cli import display


def verify(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Check that the coverage a crawl claims follows from its folder: the certificate, and the survey's walks.

    Everything is recomputed from the pages and the seed of the walks; no page is fetched, and nothing is written.

    Exit code 0: it is as the folder says; 1: it is not, and each difference is a line.

    Example: [bold]orienteer verify example.org-crawl[/bold]
    """
    from orienteer.inspect.verify import verify as verified

    with display.progress_bar() as progress:
        found = verified(folder, progress)
    if json:
        display.print_json(found.as_dict())
    else:
        for line in found.problems or (str(found),):
            display.console().print(line[:1].upper() + line[1:] + ".", soft_wrap=True, markup=False, highlight=False)
    if not found.holds:
        raise typer.Exit(1)
