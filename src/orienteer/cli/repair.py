"""`orienteer repair`: make the best of a damaged crawl folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display

if TYPE_CHECKING:
    from orienteer.repair.repair import RepairReport

_MAX_SHOWN = 10


def repair(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Make the best of a damaged crawl folder: files that are missing, cut off or garbled, a database that is too old.

    What is whole stays, pages that are in the archive alone are taken in, and pages that are lost go back to the
    frontier: the crawl fetches them when it goes on. What is changed is kept in before-repair-N, and what is lost is
    listed in repair.json, both in the folder. A folder that is whole stays as it is.

    Example: [bold]orienteer repair example.org-crawl[/bold]
    """
    from orienteer.repair.repair import repair as repaired

    with display.progress_bar() as progress:
        report = repaired(folder, progress)
    if json:
        display.print_json(report.as_dict())
    else:
        print_report(report)


def print_report(report: RepairReport) -> None:
    """What was found and done, in a few lines."""
    from orienteer.cli.wording import add_fact, counted, facts_grid, plain
    from orienteer.repair.repair import REPORT

    out = display.console()
    if not report.was_damaged:
        out.print("Nothing is wrong with this folder: it stays as it is.")
        return
    rows = facts_grid()
    add_fact(rows, "pages", f"{counted(report.n_pages, 'page')} known and whole")
    if report.n_taken:
        add_fact(rows, "taken in", f"{counted(report.n_taken, 'page')} from the archive, unknown to the database")
    if report.lost:
        add_fact(rows, "lost", f"{counted(len(report.lost), 'page')}, to be fetched again (see {REPORT})")
    if report.n_urls_lost:
        add_fact(rows, "URLs lost", f"{report.n_urls_lost:,}")
    for damage in report.damage[:_MAX_SHOWN]:
        add_fact(rows, "damaged", plain(damage))
    if report.set_aside:
        add_fact(rows, "set aside", ", ".join(report.set_aside))
    if report.backup is not None:
        add_fact(rows, "kept", plain(str(report.backup)))
    out.print(rows)
    out.print(f"Continue with: orienteer crawl {report.folder}", markup=False, soft_wrap=True)
