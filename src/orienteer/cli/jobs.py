"""`orienteer jobs`: the jobs of a library, running and finished."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display
from orienteer.cli.options import LIBRARY, chosen_library
from orienteer.cli.running import say

if TYPE_CHECKING:
    from orienteer.library.jobs import Job


_LISTED = 20


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

    from orienteer.cli.wording import moment, plain

    headings = (("job", False), ("crawl", False), ("", False), ("state", False), ("", True), ("began", False))
    table = display.columns_table(None, *headings, ("", False))
    table.columns[0].no_wrap = True  # so that it can be copied
    for job in listed:
        share = "" if job.share is None or not job.is_alive else f"{100 * job.share:.0f} %"
        cells = (job.id, job.crawl, job.kind, job.state, share, moment(job.began), plain(job.line, 120))
        table.add_row(*(Text(text) for text in cells))
    display.console().print(table)
