"""`orienteer report`: what is wrong with a site, for who owns it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display
from orienteer.cli.processes_option import PROCESSES

if TYPE_CHECKING:
    from orienteer.report.finding import SiteReport

KINDS = (
    "broken|hosts|chains|redirects|blocked|mixed|scripts|slow|deep|untitled|titles|undescribed|duplicates|orphans|"
    "sitemap, several with commas; or any"
)
_SHOWN = 3  # findings of a kind


def report(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    format: str | None = typer.Option(
        None, "--format", "-f", metavar="FORMAT", help="html|csv|json; or by the name of -o."
    ),
    out: Path | None = typer.Option(None, "--out", "-o", help="What to write; without it, the report is printed."),
    fail_on: str | None = typer.Option(
        None, "--fail-on", metavar="KINDS", help=f"Exit code 3 where there is any: {KINDS}."
    ),
    host: list[str] = typer.Option([], "--host", help="Only pages of this host; may be repeated."),
    places: int = typer.Option(20, "--places", metavar="N", help="Places listed for each finding; 0: all of them."),
    deep: int = typer.Option(5, "--deep", metavar="N", help="Links from the start, beyond which a page is deep."),
    slow: float = typer.Option(3.0, "--slow", metavar="S", help="Seconds, beyond which a page is slow."),
    force: bool = typer.Option(False, "--force", help="Replace what is there already."),
    processes: int | None = PROCESSES,
    json: bool = typer.Option(False, "--json", help="Print JSON; with -o, all but the findings."),
) -> None:
    """Report what is wrong with a crawled site: broken links with their words and where they are, redirect chains,
    old addresses, pages nothing links to, shared or missing titles, and more. What costs visitors most comes first.

    The crawl may be running meanwhile. Only links inside its scope are checked. Exit code 0: the report was made; 3: it
    has what --fail-on names.

    Example: [bold]orienteer report example.org-crawl -o report.html --fail-on broken,chains[/bold]
    """
    from orienteer.errors import InputError
    from orienteer.report.kinds import checked_faults
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
            folder, hosts=host, deep=deep, slow_s=slow, most_places=places or None, processes=processes,
            progress=progress,
        )  # fmt: skip
    if out is not None and chosen is not None:
        save_report(found, chosen, out, folder, force)
        if json:
            display.print_json(found.head() | {"file": str(out)})
        else:
            print_summary(found, out)
    elif chosen is not None:
        with display.ignore_broken_pipe():
            write_report(found, chosen, sys.stdout)
    else:
        print_summary(found, None)
    end(found, faults)


def end(found: SiteReport, faults: tuple[str, ...]) -> None:
    """Exit code 3 where the report has one of these kinds, with a line that says which."""
    there = {kind: found.counts[kind] for kind in faults if found.counts[kind]}
    if there:
        said = ", ".join(f"{n:,} {kind}" for kind, n in there.items())
        print(f"orienteer: the report has {said} (--fail-on)", file=sys.stderr)
        raise typer.Exit(3)


def print_summary(found: SiteReport, out: Path | None) -> None:
    """The report in a few lines: the counts, and where it is; without a file, the costliest findings, too."""
    from rich.text import Text

    from orienteer.report.html_file import headline
    from orienteer.report.kinds import CLICKS, KINDS
    from orienteer.wording import plain, share_text

    console = display.console()
    console.print(Text(headline(found), "bold"), soft_wrap=True)
    table = display.columns_table(None, ("found", True), ("", False), ("the costliest", False))
    for kind, findings in found.findings.items():
        for place, one in enumerate(findings[: _SHOWN if out is None else 1]):
            share = f"{share_text(one.cost)} of {'clicks' if KINDS[kind].cost == CLICKS else 'visits'}"
            words = f"{share}  {plain(one.url, 110)}  {plain(one.why, 60)}".rstrip()
            first = place == 0
            table.add_row(f"{len(findings):,}" if first else "", KINDS[kind].title if first else "", Text(words))
    if any(found.findings.values()):
        console.print(table)
    if out is not None:
        print(f"written to {out}")
