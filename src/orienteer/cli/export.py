"""`orienteer export`: a crawl for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display
from orienteer.cli.processes_option import PROCESSES

if TYPE_CHECKING:
    from orienteer.exports.export import ExportReport

FORMATS = (
    "warc|wacz|cdxj (archives), jsonl|markdown|chunks|parquet (pages with their texts), "
    "graphml|gexf|networkx|edges (links with ranks), sitemap, atom (a feed of what changed); "
    "or one of a plug-in (orienteer plugins)"
)


def export(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    format: str = typer.Option(..., "--format", "-f", metavar="FORMAT", help=FORMATS),
    out: Path = typer.Option(None, "--out", "-o", help="What to write; default: named after DIR."),
    on_topic: bool = typer.Option(False, "--on-topic", help="Only pages on the crawl's topic."),
    host: list[str] = typer.Option([], "--host", help="Only pages of this host; may be repeated."),
    site: list[str] = typer.Option([], "--site", help="Only pages of this site, with all its hosts."),
    all_pages: bool = typer.Option(
        False, "--all", help="Texts, sitemap: include pages that repeat another one or ask not to be indexed."
    ),
    base: str = typer.Option(None, "--base", help="Sitemap, atom: the URL at which it will be found."),
    limit: int = typer.Option(None, "--limit", help="Atom: the newest N entries (1000).", metavar="N"),
    words: int = typer.Option(None, "--words", help="Chunks: the most words in one (300).", metavar="N"),
    full_text: bool = typer.Option(
        False,
        "--full-text",
        help="Texts: everything on a page, menus included (jsonl, parquet: besides the main text, as full_text).",
    ),
    no_requisites: bool = typer.Option(
        False, "--no-requisites", help="Archives: leave out the pictures, styles and scripts of pages."
    ),
    force: bool = typer.Option(False, "--force", help="Replace what is there already."),
    processes: int | None = PROCESSES,
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Write a crawl for other tools: its pages as they are now, their texts, or their links with URLs and ranks.

    The crawl may be running meanwhile. Of pages that say the same, or nearly, texts hold the first. Redirects are other
    names of pages; what failed is left out. A file appears under its name when it is complete.

    Example: [bold]orienteer export example.org-crawl --format jsonl -o pages.jsonl.gz[/bold]
    """
    from orienteer.exports.export import export as export_crawl

    requisites = False if no_requisites else None
    given = {"base": base, "limit": limit, "words": words, "full_text": full_text or None, "requisites": requisites}
    settings = {name: value for name, value in given.items() if value is not None}
    with display.progress_bar() as progress:
        report = export_crawl(
            folder,
            format,
            out,
            on_topic=on_topic,
            hosts=host,
            sites=site,
            all_pages=all_pages,
            force=force,
            processes=processes,
            progress=progress,
            **settings,
        )
    if json:
        display.print_json(report.as_dict())
    else:
        print_report(report)


def print_report(report: ExportReport) -> None:
    """What was written, in a line or two."""
    from orienteer.cli.wording import counted, size

    names = " and ".join(map(str, report.files)) if len(report.files) < 3 else f"{report.files[0]} and its parts"
    links = "" if report.n_links is None else f", {counted(report.n_links, 'link')}"
    print(f"{names}: {counted(report.n_pages, 'page')}{links}, {size(report.size_bytes)} ({report.format})")
    if report.left_out:
        print("left out: " + ", ".join(f"{n:,} {why}" for why, n in report.left_out.items()))
