"""`orienteer index`: build or update the search index of a crawl."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display
from orienteer.cli.options import PROCESSES

if TYPE_CHECKING:
    from orienteer.search.indexing import IndexReport


def index(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    rebuild: bool = typer.Option(False, "--rebuild", help="Build the index from scratch."),
    on_topic: bool = typer.Option(False, "--on-topic", help="Index only pages on the crawl's topic."),
    processes: int | None = PROCESSES,
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Build the search index of a crawl, or update it: only changed pages are read again.

    The crawl may be running. Pages that ask not to be indexed are left out.

    Example: [bold]orienteer index example.org-crawl[/bold]
    """
    from orienteer.search.indexing import update_index

    with display.progress_bar() as progress:
        report = update_index(folder, rebuild=rebuild, on_topic=on_topic, processes=processes, progress=progress)
    if json:
        display.print_json(report.as_dict())
    else:
        print_report(report)


def print_report(report: IndexReport) -> None:
    """Print what was indexed, in a few lines."""
    from orienteer.cli.wording import add_fact, counted, duration, facts_grid, size

    out = display.console()
    changed = report.n_added or report.n_replaced or report.n_removed
    out.print(f"{counted(report.n_pages, 'page')} can be searched." + ("" if changed else " Nothing has changed."))
    rows = facts_grid()
    if changed:
        kinds = (("added", report.n_added), ("replaced", report.n_replaced), ("removed", report.n_removed))
        add_fact(rows, "changes", ", ".join(f"{n:,} {kind}" for kind, n in kinds if n))
    if report.n_skipped:
        add_fact(rows, "skipped", f"{counted(report.n_skipped, 'page')} that could not be read")
    if report.n_read:
        speed = f", {report.pages_per_cpu_s:,.0f} pages per CPU-second"
        add_fact(rows, "time", f"{duration(report.elapsed_s)}{speed}")
    add_fact(rows, "size", size(report.size_bytes))
    global_rank = "estimated" if report.has_global_rank else f"unknown (orienteer estimate {report.folder})"
    add_fact(rows, "global rank", global_rank)
    out.print(rows)
    out.print(f'Search with: orienteer search {report.folder} "words"', markup=False, soft_wrap=True)
