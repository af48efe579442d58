"""`orienteer jobs` and `orienteer stop`: the jobs of a library, and crawls that run in other processes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display
from orienteer.cli.command import SERVER, command
from orienteer.cli.options import LIBRARY, chosen_library
from orienteer.cli.running import say

if TYPE_CHECKING:
    from orienteer.library.jobs import Job

_LISTED = 20


@command(SERVER)
def jobs(
    library: Path | None = LIBRARY,
    stop: str | None = typer.Option(None, "--stop", metavar="ID", help="Stop this job, as by Ctrl-C."),
    all_jobs: bool = typer.Option(False, "--all", help="List all finished jobs, not only the latest."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List the jobs of a library, running and finished, which were started in the browser or by a schedule.

    A job is an ordinary command in a separate process. It continues when the server ends.

    Example: [bold]orienteer jobs[/bold]
    """
    from orienteer.library.jobs import Jobs

    found = Jobs(chosen_library(library))
    if stop is not None:
        found.stop(stop)
        job = found.get(stop)
        if json:
            display.print_json(job.as_dict())
        else:
            print(f"{job.crawl}: job {job.id} ({job.kind}) was asked to stop.")
        return
    listed = found.all()
    if json:
        display.print_json({"library": str(found.library.path), "jobs": [job.as_dict() for job in listed]})
    elif not listed:
        print(f"no jobs in {found.library.path}")
    else:
        _print_table(listed if all_jobs else listed[:_LISTED])
        if len(listed) > _LISTED and not all_jobs:
            print(f"and {len(listed) - _LISTED:,} more (--all)")
    damaged = found.library.job_folder.damaged()
    for path in damaged:
        say(f"orienteer: {path}: damaged job file; it can be deleted")
    if damaged:
        raise typer.Exit(2)


def _print_table(listed: list[Job]) -> None:
    from rich.text import Text

    from orienteer.wording import moment, plain

    headings = (("job", False), ("crawl", False), ("", False), ("state", False), ("", True), ("began", False))
    table = display.columns_table(None, *headings, ("", False))
    table.columns[0].no_wrap = True  # so that it can be copied
    for job in listed:
        share = "" if job.share is None or not job.is_alive else f"{100 * job.share:.0f} %"
        cells = (job.id, job.crawl, job.kind, job.state, share, moment(job.began), plain(job.line, 120))
        table.add_row(*(Text(text) for text in cells))
    display.console().print(table)


@command(SERVER)
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
    from orienteer.store.folder_view import expect_crawl

    if not folder.exists() and _stopped_in_library(str(folder), library, json):
        return
    expect_crawl(folder)
    _print_stopped(folder, ask_to_stop(folder), json)


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
    _print_stopped(library.path / name, processes[0], json)
    return True


def _print_stopped(folder: Path, process: int, json: bool) -> None:
    if json:
        display.print_json({"folder": str(folder), "process": process})
    else:
        print(f"{folder}: process {process} was asked to stop; it finishes the requests in flight.")
