"""`orienteer upload`: upload the archive of a crawl to an object store."""

from __future__ import annotations

import signal
from pathlib import Path

import typer

from orienteer.cli import display, interruption
from orienteer.cli.command import SERVER, command
from orienteer.cli.running import say
from orienteer.cli.settings_options import GivenSettings, with_settings
from orienteer.wording import counted, plain


@command(SERVER)
@with_settings("--archive-to")
def upload(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    *,
    given: GivenSettings,
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Upload the archive files of a crawl that are not in the object store yet (extra: storage).

    A crawl with --archive-to uploads by itself; this command is for failed uploads, and for crawls without it. It also
    permits reading the archive from --archive-to, for a folder made by another user.

    Credentials come from the environment (AWS_ACCESS_KEY_ID and so on) or from the files of AWS.

    Exit code 0: all files are uploaded; 3: some are not; 130: interrupted.

    Example: [bold]orienteer upload example.org-crawl --archive-to s3://bucket/example.org[/bold]
    """
    from orienteer.live.control import upload as uploaded

    stopped = False

    def stop(number: int, _: object) -> None:
        nonlocal stopped
        interruption.remember(number)
        stopped = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        report = uploaded(
            folder,
            settings=given.tables,
            notify=None if json else say,
            is_stopped=lambda: stopped,
        )
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    done = f"{counted(report.n_files, 'file')}, {report.n_stored:,} in {plain(report.archive_to, 200)}"
    waiting = f", {report.n_waiting:,} not uploaded" if report.n_waiting else ""
    display.print_result(report.as_dict(), json, lambda: display.console().print(done + waiting, soft_wrap=True))
    if report.n_waiting:
        raise typer.Exit(interruption.exit_code() if stopped else 3)
