"""`orienteer upload`: send the archive of a crawl to an object store."""

from __future__ import annotations

import signal
from pathlib import Path

import typer

from orienteer.cli import display
from orienteer.cli.running import say
from orienteer.cli.settings_file import tables_in


def upload(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    archive_to: str | None = typer.Option(
        None, metavar="URL", help="Where to, such as s3://bucket/prefix; default: as in crawl.toml."
    ),
    drop_local: bool | None = typer.Option(
        None, "--drop-local/--keep-local", help="Delete files here once their upload is confirmed."
    ),
    settings: Path | None = typer.Option(None, help="A TOML file with settings, as in crawl.toml: [store]."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Send the archive of a crawl to an object store, or what of it is not there yet (extra: storage).

    A crawl with --archive-to does this by itself; this command is for what could not be sent, and for crawls that were
    made without. It also allows to read an archive from the place that is named, for a folder that somebody else made.

    Credentials come from the environment (AWS_ACCESS_KEY_ID and so on) or from the files of AWS.

    Exit code 0: all of it is there; 3: it is not.

    Example: [bold]orienteer upload example.org-crawl --archive-to s3://bucket/example.org[/bold]
    """
    from orienteer.live.upload import upload as uploaded

    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        report = uploaded(
            folder,
            archive_to=archive_to,
            drop_local=drop_local,
            settings=tables_in(settings),
            tell=None if json else say,
            is_stopped=lambda: stopped,
        )
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if json:
        display.print_json(report.as_dict())
    else:
        from orienteer.cli.wording import counted, plain

        done = f"{counted(report.n_files, 'file')}, {report.n_stored:,} in {plain(report.archive_to, 200)}"
        rest = f", {report.n_waiting:,} not uploaded" if report.n_waiting else ""
        display.console().print(f"{done}{rest}", soft_wrap=True)
    if report.n_waiting:
        raise typer.Exit(3)
