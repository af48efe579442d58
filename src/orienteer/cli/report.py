"""`orienteer report`: the problems of a site, for its owner."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display
from orienteer.cli.command import INSPECT, command
from orienteer.cli.options import PROCESSES
from orienteer.errors import InputError
from orienteer.wording import plain, share_text

if TYPE_CHECKING:
    from orienteer.report.finding import SiteReport

KINDS = (
    "broken|hosts|chains|redirects|blocked|mixed|scripts|slow|deep|untitled|titles|undescribed|duplicates|orphans|"
    "sitemap, several with commas; or any"
)
_LISTED = 3  # findings of a kind


@command(INSPECT)
def report(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    format: str | None = typer.Option(
        None, "--format", "-f", metavar="FORMAT", help="html|csv|json; default: by the suffix of -o."
    ),
    out: Path | None = typer.Option(None, "--output", "-o", help="File to write; default: print the report."),
    fail_on: str | None = typer.Option(
        None, "--fail-on", metavar="KINDS", help=f"Exit code 3 if there are findings of these kinds: {KINDS}."
    ),
    host: list[str] = typer.Option([], "--host", help="Report only on pages of this host; may be repeated."),
    places: int = typer.Option(20, "--max-places", metavar="N", help="Places to list for each finding; 0: all."),
    deep: int = typer.Option(
        5, "--deep-after", metavar="N", help="A page is deep if it is more than N links from the start."
    ),
    slow: float = typer.Option(
        3.0, "--slow-after", metavar="S", help="A page is slow if it takes more than S seconds."
    ),
    force: bool = typer.Option(False, "--force", help="Overwrite an existing file."),
    processes: int | None = PROCESSES,
    json: bool = typer.Option(False, "--json", help="Print JSON; with -o, without the findings."),
) -> None:
    """Report the problems of a crawled site: broken links with their text and pages, redirect chains, old addresses,
    orphan pages, duplicate or missing titles, and more. The most costly for visitors come first.

    The crawl may be running. Only links inside its scope are checked. Exit code 0: the report was written; 3: it has
    findings of the kinds in --fail-on.

    Example: [bold]orienteer report example.org-crawl -o report.html --fail-on broken,chains[/bold]
    """
    from orienteer.report.finding import checked_faults
    from orienteer.report.site_report import site_report
    from orienteer.report.writing import expect_free, format_of, save_report, write_report

    if json and out is None and format not in (None, "json"):
        raise InputError(f"--json and --format {format}: choose one of them")
    chosen = format_of(out, "json" if json and out is None else format)
    faults = checked_faults([name.strip() for name in fail_on.split(",")]) if fail_on is not None else ()
    if out is not None:
        expect_free(out, folder, force)
    with display.progress_bar() as progress:
        found = site_report(
            folder, hosts=host, deep=deep, slow_s=slow, max_places=places or None, processes=processes,
            progress=progress,
        )  # fmt: skip
    if out is not None and chosen is not None:
        save_report(found, chosen, out, folder, force)
        display.print_result(found.head() | {"file": str(out)}, json, lambda: print_summary(found, out))
    elif chosen is not None:
        with display.ignore_broken_pipe():
            write_report(found, chosen, sys.stdout)
    else:
        print_summary(found, None)
    end(found, faults)


def end(found: SiteReport, faults: tuple[str, ...]) -> None:
    """Exit with code 3 if the report has findings of these kinds, with a line that lists them."""
    there = {kind: found.counts[kind] for kind in faults if found.counts[kind]}
    if there:
        counts = ", ".join(f"{n:,} {kind}" for kind, n in there.items())
        print(f"orienteer: the report has {counts} (--fail-on)", file=sys.stderr)
        raise typer.Exit(3)


def print_summary(found: SiteReport, out: Path | None) -> None:
    """Print the counts and the file of the report; without a file, also the costliest findings."""
    from rich.text import Text

    from orienteer.report.finding import CLICKS, KINDS
    from orienteer.report.writing import headline

    console = display.console()
    console.print(Text(headline(found), "bold"), soft_wrap=True)
    table = display.columns_table(None, ("found", True), ("", False), ("the costliest", False))
    for kind, findings in found.findings.items():
        for place, one in enumerate(findings[: _LISTED if out is None else 1]):
            share = f"{share_text(one.cost)} of {'clicks' if KINDS[kind].cost == CLICKS else 'visits'}"
            words = f"{share}  {plain(one.url, 110)}  {plain(one.why, 60)}".rstrip()
            first = place == 0
            table.add_row(f"{len(findings):,}" if first else "", KINDS[kind].title if first else "", Text(words))
    if any(found.findings.values()):
        console.print(table)
    if out is not None:
        print(f"written to {out}")
