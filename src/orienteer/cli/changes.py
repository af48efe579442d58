"""`orienteer changes`: pages that were new, changed, missing or gone in a refresh."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display
from orienteer.cli.command import INSPECT, command
from orienteer.errors import unknown_name
from orienteer.wording import counted, moment, plain

if TYPE_CHECKING:
    from orienteer.inspect.changes import Change, EpochChanges, MissingPage

_MAX_CHARS = 200


@command(INSPECT)
def changes(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    epoch: int | None = typer.Option(
        None, "--epoch", min=0, metavar="N", help="List only this epoch; 0 is the first crawl. Default: all."
    ),
    kind: list[str] = typer.Option(
        [], "--kind", metavar="new|changed|missing|gone", help="List only changes of this kind; may be repeated."
    ),
    limit: int = typer.Option(1000, "--limit", min=1, metavar="N", help="List the newest N."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List the pages that were new, changed, missing or gone, newest first.

    A page that returns 404 or 410 is missing at once; its last copy stays until it has been missing for long enough,
    then it is gone. Pages that are missing now come first, with the time when they were first missing. The crawl may be
    running. As a feed: orienteer export DIR --format atom.

    Example: [bold]orienteer changes example.org-crawl --epoch 3[/bold]
    """
    from orienteer.inspect import changes as recorded
    from orienteer.store.folder_view import FolderView

    for name in kind:
        if name not in recorded.KINDS:
            raise unknown_name("kind of change", name, recorded.KINDS)
    with FolderView.open(folder) as crawl:
        found = list(recorded.changes(crawl.database, epoch, kind or tuple(recorded.KINDS), limit))
        epochs = [one for one in recorded.epoch_changes(crawl.database) if epoch in (None, one.epoch)]
        missing = recorded.missing_pages(crawl.database)
    if json:
        display.print_json(
            {
                "epochs": [one.as_dict() for one in epochs],
                "missing": [page.as_dict() for page in missing],
                "changes": [one.as_dict() for one in found],
            }
        )
    else:
        with display.ignore_broken_pipe():
            _print(epochs, found, missing if epoch is None and (not kind or "missing" in kind) else [])


def _print(epochs: list[EpochChanges], found: list[Change], missing: list[MissingPage]) -> None:
    """Print the pages missing now, then a line for each epoch, followed by a line for each change."""
    if missing:
        print(f"{counted(len(missing), 'page is', 'pages are')} missing now; last copies are stored:")
    for page in missing:
        print(f"  {page.describe()}")
    for epoch in epochs:
        name = f"epoch {epoch.epoch}" if epoch.epoch else "first crawl"
        began = "" if epoch.began is None else f", {moment(epoch.began)}"
        print(f"{name}{began}: {_counts(epoch)}")
        listed = [change for change in found if change.epoch == epoch.epoch]
        for change in listed:
            title = f"  {plain(change.title, 80)}" if change.title else ""
            why = f"  ({plain(change.outcome, 80)})" if change.kind == "missing" else ""
            print(f"  {change.kind:<8} {plain(change.url, _MAX_CHARS)}{title}{why}")


def _counts(epoch: EpochChanges) -> str:
    return f"{epoch.new:,} new, {epoch.changed:,} changed, {epoch.missing:,} missing, {epoch.gone:,} gone"
