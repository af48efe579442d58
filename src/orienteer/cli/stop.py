"""`orienteer stop`: ask a crawl that runs elsewhere to end."""

from __future__ import annotations

from pathlib import Path

import typer

from orienteer.cli import display
from orienteer.cli.library_option import LIBRARY, chosen_library


def stop(
    folder: Path = typer.Argument(metavar="DIR|NAME", help="Crawl folder; or the name of a crawl in the library."),
    library: Path | None = LIBRARY,
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Stop the crawl that is running in a folder, wherever it was started: in another terminal, or in the browser.

    It finishes the requests in flight, as with Ctrl-C; nothing is lost. To resume it: orienteer crawl DIR. Where there
    is no such folder, all that is running on the crawl of that name in the library is stopped.

    Example: [bold]orienteer stop example.org-crawl[/bold]
    """
    from orienteer.live.control import ask_to_stop
    from orienteer.store.folder_files import expect_crawl

    if not folder.exists() and _stopped_in_library(str(folder), library, json):
        return
    expect_crawl(folder)
    _tell(folder, ask_to_stop(folder), json)


def _stopped_in_library(name: str, path: Path | None, json: bool) -> bool:
    """Whether there is something of this name, which was asked to stop."""
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
    _tell(library.path / name, processes[0], json)
    return True


def _tell(folder: Path, process: int, json: bool) -> None:
    if json:
        display.print_json({"folder": str(folder), "process": process})
    else:
        print(f"{folder}: process {process} was asked to stop; it finishes the requests in flight.")
