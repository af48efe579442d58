"""`orienteer changes`: what was new, changed and gone in a refresh."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display

if TYPE_CHECKING:
    from orienteer.inspect.changes import Change, EpochChanges

_MAX_CHARS = 200


def changes(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    epoch: int | None = typer.Option(
        None, "--epoch", min=0, metavar="N", help="Only this refresh; 0 is the first crawl. Default: all."
    ),
    kind: list[str] = typer.Option([], "--kind", metavar="new|changed|gone", help="Only these; may be repeated."),
    limit: int = typer.Option(1000, "--limit", min=1, metavar="N", help="The newest N."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List what was new, changed and gone, the newest first.

    A page that is missing is kept, and is gone when it has been missing for long enough. The crawl may be running.
    As a feed: orienteer export DIR --format atom.

    Example: [bold]orienteer changes example.org-crawl --epoch 3[/bold]
    """
    from orienteer.errors import unknown_name
    from orienteer.inspect import changes as seen
    from orienteer.store.folder_view import FolderView

    for name in kind:
        if name not in seen.KINDS:
            raise unknown_name("kind of change", name, seen.KINDS)
    with FolderView.open(folder) as crawl:
        found = list(seen.changes(crawl.database, epoch, kind or tuple(seen.KINDS), limit))
        epochs = [one for one in seen.epoch_changes(crawl.database) if epoch in (None, one.epoch)]
    if json:
        told = {"epochs": [one.as_dict() for one in epochs], "changes": [one.as_dict() for one in found]}
        display.print_json(told)
    else:
        with display.ignore_broken_pipe():
            _print(epochs, found)


def _print(epochs: list[EpochChanges], found: list[Change]) -> None:
    """A line for each epoch, and under it a line for each change."""
    from orienteer.cli.wording import moment, plain

    for epoch in epochs:
        name = f"epoch {epoch.epoch}" if epoch.epoch else "first crawl"
        began = "" if epoch.began is None else f", {moment(epoch.began)}"
        print(f"{name}{began}: {epoch.new:,} new, {epoch.changed:,} changed, {epoch.gone:,} gone")
        listed = [change for change in found if change.epoch == epoch.epoch]
        for change in listed:
            title = f"  {plain(change.title, 80)}" if change.title else ""
            print(f"  {change.kind:<8} {plain(change.url, _MAX_CHARS)}{title}")
