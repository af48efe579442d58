"""`orienteer export` and `upload`: write a crawl in formats of other tools; copy its archive to an object store."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display, interruption
from orienteer.cli.command import EXPORTS, SERVER, command
from orienteer.cli.options import PROCESSES, GivenSettings, with_settings
from orienteer.cli.running import say
from orienteer.wording import counted, plain, size

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


@command(SERVER)
@with_settings("--archive-to")
def upload(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    *,
    given: GivenSettings,
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Upload the archive files of a crawl that are not in the object store yet (extra: storage).

    A crawl with --archive-to uploads by itself; this command is for failed uploads, and for crawls without it. It also
    permits reading the archive from --archive-to, for a folder made by another user.

    Credentials come from the environment (AWS_ACCESS_KEY_ID and so on) or from the files of AWS.

    Exit code 0: all files are uploaded; 3: some are not; 130: interrupted.

    Example: [bold]orienteer upload example.org-crawl --archive-to s3://bucket/example.org[/bold]
    """
    from orienteer.live.control import upload as uploaded

    stopped = False

    def stop(number: int, _: object) -> None:
        nonlocal stopped
        interruption.remember(number)
        stopped = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        report = uploaded(
            folder,
            settings=given.tables,
            notify=None if json else say,
            is_stopped=lambda: stopped,
        )
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    done = f"{counted(report.n_files, 'file')}, {report.n_stored:,} in {plain(report.archive_to, 200)}"
    waiting = f", {report.n_waiting:,} not uploaded" if report.n_waiting else ""
    display.print_result(report.as_dict(), json, lambda: display.console().print(done + waiting, soft_wrap=True))
    if report.n_waiting:
        raise typer.Exit(interruption.exit_code() if stopped else 3)
