"""`orienteer repair`: repair a damaged crawl folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display
from orienteer.cli.command import INSPECT, command
from orienteer.cli.display import add_fact, facts_grid
from orienteer.wording import counted, plain

if TYPE_CHECKING:
    from orienteer.repair.repair import RepairReport

_MAX_LISTED = 10


@command(INSPECT)
def repair(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Repair a damaged crawl folder: missing, truncated or corrupt files, or an outdated database.

    Intact data stays as it is, pages found only in the archive are added to the database, and lost pages return to the
    frontier, to be fetched when the crawl is resumed. Changed files are backed up in before-repair-N, and losses are
    listed in repair.json, both in the folder. An intact folder is not changed.

    Example: [bold]orienteer repair example.org-crawl[/bold]
    """
    from orienteer.repair.repair import repair as repaired

    with display.progress_bar() as progress:
        report = repaired(folder, progress)
    display.print_result(report.as_dict(), json, lambda: print_report(report))


def print_report(report: RepairReport) -> None:
    """Print the damage and the repairs, in a few lines."""
    from orienteer.repair.repair import REPORT

    out = display.console()
    if report.n_digests:
        out.print(f"{counted(report.n_digests, 'record')} of rendered pages: the payload digest is corrected.")
    if report.n_digests_left:
        where = "in object storage, or larger when corrected"
        out.print(f"{counted(report.n_digests_left, 'record')} with a wrong payload digest left as before: {where}.")
    if not report.was_damaged:
        if not report.n_digests:
            out.print("This folder is intact; nothing was changed.")
        return
    rows = facts_grid()
    add_fact(rows, "pages", f"{counted(report.n_pages, 'page')} intact")
    if report.n_added:
        add_fact(rows, "added", f"{counted(report.n_added, 'page')} from the archive, missing in the database")
    if report.lost:
        add_fact(rows, "lost", f"{counted(len(report.lost), 'page')}, to be fetched again (see {REPORT})")
    if report.n_urls_lost:
        add_fact(rows, "URLs lost", f"{report.n_urls_lost:,}")
    for damage in report.damage[:_MAX_LISTED]:
        add_fact(rows, "damaged", plain(damage))
    if report.moved:
        add_fact(rows, "moved to backup", ", ".join(report.moved))
    if report.backup is not None:
        add_fact(rows, "backup", plain(str(report.backup)))
    out.print(rows)
    out.print(f"Continue with: orienteer crawl {report.folder}", markup=False, soft_wrap=True)
