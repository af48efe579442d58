"""`orienteer export`: write a crawl in formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display
from orienteer.cli.command import EXPORTS, command
from orienteer.cli.options import PROCESSES
from orienteer.wording import counted, size

if TYPE_CHECKING:
    from orienteer.exports.export import ExportReport

FORMATS = (
    "warc|wacz|cdxj (archives), jsonl|markdown|chunks|parquet (pages with their texts), "
    "graphml|edges (links with ranks), sitemap, atom (a feed of what changed); "
    "or one of a plug-in (orienteer plugins)"
)


@command("", plugins={"--format": EXPORTS})
def export(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    format: str = typer.Option(..., "--format", "-f", metavar="FORMAT", help=FORMATS),
    out: Path = typer.Option(None, "--output", "-o", help="File or folder to write; default: named after DIR."),
    on_topic: bool = typer.Option(False, "--on-topic", help="Export only pages on the crawl's topic."),
    host: list[str] = typer.Option([], "--host", help="Export only pages of this host; may be repeated."),
    site: list[str] = typer.Option(
        [], "--site", help="Export only pages of this site, with all its hosts; may be repeated."
    ),
    all_pages: bool = typer.Option(
        False, "--all", help="Texts, sitemap: include duplicates, and pages that ask not to be indexed."
    ),
    base: str = typer.Option(None, "--base-url", help="Sitemap, atom: URL at which the file will be published."),
    limit: int = typer.Option(
        None, "--limit", help="Atom: maximum number of entries, newest first (1000).", metavar="N"
    ),
    words: int = typer.Option(None, "--chunk-words", help="Chunks: maximum number of words in one (300).", metavar="N"),
    full_text: bool = typer.Option(
        False,
        "--full-text",
        help="Texts: export the full text, with menus (jsonl, parquet: in addition to the main text, as full_text).",
    ),
    no_assets: bool = typer.Option(False, "--no-assets", help="Archives: leave out assets (images, styles, scripts)."),
    force: bool = typer.Option(False, "--force", help="Overwrite existing files."),
    processes: int | None = PROCESSES,
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Export a crawl for other tools: its current pages, their texts, or their links with URLs and ranks.

    The crawl may be running. Of duplicates and near duplicates, texts contain the first. Redirects become other names
    of pages; failed pages are left out. A file appears under its name once it is complete.

    Example: [bold]orienteer export example.org-crawl --format jsonl -o pages.jsonl.gz[/bold]
    """
    from orienteer.exports.export import export as export_crawl

    assets = False if no_assets else None
    given = {"base": base, "limit": limit, "words": words, "full_text": full_text or None, "assets": assets}
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
    display.print_result(report.as_dict(), json, lambda: print_report(report))


def print_report(report: ExportReport) -> None:
    """Print what was written, in a line or two."""
    names = " and ".join(map(str, report.files)) if len(report.files) < 3 else f"{report.files[0]} with its other files"
    links = "" if report.n_links is None else f", {counted(report.n_links, 'link')}"
    print(f"{names}: {counted(report.n_pages, 'page')}{links}, {size(report.size_bytes)} ({report.format})")
    if report.left_out:
        print("left out: " + ", ".join(f"{n:,} {why}" for why, n in report.left_out.items()))
