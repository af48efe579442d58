"""`orienteer stop`: stop a crawl that runs in another process."""

from __future__ import annotations

from pathlib import Path

import typer

from orienteer.cli import display
from orienteer.cli.options import LIBRARY, chosen_library


def stop(
    folder: Path = typer.Argument(metavar="DIR|NAME", help="Crawl folder, or the name of a crawl in the library."),
    library: Path | None = LIBRARY,
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Stop the crawl that is running in a folder, even if it was started in another terminal or in the browser.

    It finishes the requests in flight, as with Ctrl-C; no page is lost. To resume it: orienteer crawl DIR. If there is
    no such folder, all jobs on the crawl of that name in the library are stopped.

    Example: [bold]orienteer stop example.org-crawl[/bold]
    """
    from orienteer.live.control import ask_to_stop
    from orienteer.store.folder_files import expect_crawl

    if not folder.exists() and _stopped_in_library(str(folder), library, json):
        return
    expect_crawl(folder)
    _print(folder, ask_to_stop(folder), json)


def _stopped_in_library(name: str, path: Path | None, json: bool) -> bool:
    """Stop the jobs on the crawl of this name in the library; return whether there is such a crawl."""
    from orienteer.library.jobs import Jobs
    from orienteer.library.library import is_plain_name
    from orienteer.live.control import ask_to_stop

    library = chosen_library(path)
    if not is_plain_name(name):
        return False
    jobs = Jobs(library)
    alive = [job for job in jobs.of(name) if job.is_alive]
    for job in alive:
        jobs.stop(job.id)
    if not alive and name not in library.names():
        return False
    processes = [job.process or 0 for job in alive] or [ask_to_stop(library.path_of(name))]
    _print(library.path / name, processes[0], json)
    return True


def _print(folder: Path, process: int, json: bool) -> None:
    if json:
        display.print_json({"folder": str(folder), "process": process})
    else:
        print(f"{folder}: process {process} was asked to stop; it finishes the requests in flight.")
