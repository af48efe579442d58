"""`orienteer stop`: ask a crawl that runs elsewhere to end."""

from __future__ import annotations

from pathlib import Path

import typer

from orienteer.cli import display


def stop(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Stop the crawl that is running in a folder, wherever it was started: in another terminal, or in the browser.

    It finishes the requests in flight, as with Ctrl-C; nothing is lost. To resume it: orienteer crawl DIR.

    Example: [bold]orienteer stop example.org-crawl[/bold]
    """
    from orienteer.live.control import ask_to_stop
    from orienteer.store.folder_files import expect_crawl

    expect_crawl(folder)
    process = ask_to_stop(folder)
    if json:
        display.print_json({"folder": str(folder), "process": process})
    else:
        print(f"{folder}: process {process} was asked to stop; it finishes the requests in flight.")
