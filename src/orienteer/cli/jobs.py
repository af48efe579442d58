"""`orienteer jobs`, `stop` and `schedule`: the jobs of a library, running crawls, and when crawls are refreshed."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display
from orienteer.cli.command import SERVER, command
from orienteer.cli.options import LIBRARY, chosen_library, with_fields
from orienteer.cli.running import say
from orienteer.errors import InputError, OrienteerError
from orienteer.library.schedule import Schedule, describe_due, due_at
from orienteer.settings import stated
from orienteer.wording import moment, plain

if TYPE_CHECKING:
    from orienteer.library.jobs import Job
    from orienteer.library.schedules import Schedules

_LISTED = 20
_OFF = "never"  # removes a schedule


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
        line = f"{job.crawl}: job {job.id} ({job.kind}) was asked to stop."
        display.print_result(job.as_dict(), json, lambda: print(line))
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
    line = f"{folder}: process {process} was asked to stop; it finishes the requests in flight."
    display.print_result({"folder": str(folder), "process": process}, json, lambda: print(line))


@command(SERVER)
@with_fields("changes", Schedule)
def schedule(
    name: str = typer.Argument(None, metavar="[NAME]", help="A crawl of the library; default: list all of them."),
    library: Path | None = LIBRARY,
    every: str | None = typer.Option(
        None,
        "--every",
        metavar="day|week|pays|never",
        help="How often to refresh the crawl; never: remove the schedule.",
    ),
    *,
    changes: dict[str, Any],
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List the refresh schedules of a library, or set the schedule of one crawl.

    A running server (orienteer serve) follows the schedules. Without one, let cron run orienteer refresh --library DIR
    --due. Each webhook has its own signing secret, which is printed when it is set.

    Example: [bold]orienteer schedule example.org --every week --on sunday[/bold]
    """
    from orienteer.library.schedules import Schedules

    schedules = Schedules(chosen_library(library))
    changes |= stated(every=every)
    if changes and name is None:
        raise InputError("no crawl given; name one of the library to set its schedule")
    if changes.get("every") == _OFF:
        schedules.remove(str(name))
    elif changes:
        schedules.set(str(name), replace(schedules.get(str(name)) or Schedule(), **changes))
    rows, n_damaged = [], 0
    for one in [name] if name else schedules.names():
        try:
            rows.append(_row(schedules, one))
        except OrienteerError as error:  # continue with the others
            if name:
                raise
            n_damaged += 1
            say(f"orienteer: {error}")
    if json:
        display.print_json({"schedules": rows})
    elif rows or n_damaged:
        _print_schedules(rows, name is not None)
    else:
        print("No crawl has a schedule.")
    if n_damaged:
        raise typer.Exit(2)


def _print_schedules(rows: list[dict[str, Any]], with_secret: bool) -> None:
    with display.ignore_broken_pipe():
        for row in rows:
            print(f"{row['crawl']}: {row['line']}")
            if row["webhook"] and with_secret:
                print(f"  webhook {row['webhook']}\n  secret  {row['secret']}")


def _row(schedules: Schedules, name: str) -> dict[str, Any]:
    found = schedules.get(name)
    if found is None:
        return {"crawl": name, "line": "no schedule", "webhook": "", "secret": "", "schedule": None, "due": None}
    try:
        now = time.time()
        state = schedules.state(name).at(now)
        when, due = describe_due(found, state, now), due_at(found, state)
    except OrienteerError as error:
        when, due = str(error), None
    return {
        "crawl": name,
        "line": f"{found.describe()}; {when}",
        "webhook": found.webhook,
        "secret": schedules.secret(name) if found.webhook else "",
        "schedule": asdict(found),
        "due": due,
    }
