"""`orienteer import`: start from archives, graphs or lists of URLs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display
from orienteer.cli.command import HOOKS, command
from orienteer.cli.display import add_fact, facts_grid
from orienteer.cli.options import HOOK, PROCESSES, GivenSettings, describe_failures, with_settings
from orienteer.wording import counted, duration, plain

if TYPE_CHECKING:
    from orienteer.imports.import_crawl import ImportReport

_SEEDS_LISTED = 3


@command("", plugins={"--hook": HOOKS})
@with_settings("--scope")
def import_(
    sources: list[Path] = typer.Argument(metavar="SOURCE...", help="Files or folders; several become one crawl."),
    output: Path = typer.Option(..., "--output", "-o", help="The crawl folder or graph folder to create."),
    seed: list[str] = typer.Option(
        [], help="Seed of the crawl; default: as stated in SOURCE, or one page per host. May be repeated."
    ),
    kind: str | None = typer.Option(
        None, "--from", help="Kind of SOURCE, if not clear from its name: archive, graph, urls or jobdir."
    ),
    hook: list[str] = HOOK,
    processes: int | None = PROCESSES,
    *,
    given: GivenSettings,
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Import archived pages, graphs or lists of URLs, without fetching anything.

    WARC and WACZ files (also those of Common Crawl), or a folder of them, become a crawl folder. All commands work on
    it: status, explain, index, search, serve, seeds, estimate, replay, compare; orienteer crawl DIR continues it.

    WAT files become a crawl folder without texts, which cannot be searched. Edge lists, GraphML and other graphs become
    a graph folder (as orienteer graph convert), for graph info, seeds, simulate and compare.

    Sitemaps, lists with a URL per line, and the JOBDIR of a Scrapy spider become URLs to fetch with orienteer crawl
    DIR. They may be combined with WARC files.

    If a URL was recorded more than once, the newest record counts. Damaged records are skipped and counted, and so are
    pages outside the scope.

    Example: [bold]orienteer import collection.wacz more.warc.gz -o example[/bold]
    """
    from orienteer.imports.import_crawl import import_crawl

    with display.progress_bar() as progress:
        report = import_crawl(
            sources, output, seeds=seed, kind=kind, hooks=hook or None, settings=given.tables,
            processes=processes, progress=progress,
        )  # fmt: skip
    display.print_result(report.as_dict(), json, lambda: print_report(report))


def print_report(report: ImportReport) -> None:
    """Print what was imported, and the next commands."""
    out = display.console()
    if report.made == "graph":
        made = f"{report.folder}: a graph of {report.n_known:,} pages, {report.n_links:,} links."
        out.print(made, markup=False, soft_wrap=True)
        out.print(f"Inspect it with: orienteer graph info {report.folder}", markup=False, soft_wrap=True)
        return
    rows = facts_grid()
    for name, fact in _facts(report):
        add_fact(rows, name, fact)
    out.print(rows)
    for line in _next_steps(report):
        out.print(line, markup=False, soft_wrap=True)


def _facts(report: ImportReport) -> list[tuple[str, Any]]:
    from orienteer.inspect.status_text import describe_certificate

    more = len(report.seeds) - _SEEDS_LISTED
    seeds = ", ".join(plain(seed, 200) for seed in report.seeds[:_SEEDS_LISTED]) + (
        f" and {more:,} more" if more > 0 else ""
    )
    unlinked = f", {report.n_unlinked:,} of them without in-links" if report.n_unlinked else ""
    pages = [
        f"{counted(report.n_fetched, 'page')} fetched{unlinked}",
        f"{report.n_failed:,} failed" if report.n_failed else "",
        f"{report.n_skipped:,} skipped" if report.n_skipped else "",
        f"{report.n_blocked:,} blocked" if report.n_blocked else "",
    ]
    waiting = [
        f"{report.n_frontier:,} in the frontier",
        f"{report.n_listed:,} of them from lists" if report.n_listed else "",
        f"{counted(report.n_temporary, 'response was a temporary error', 'responses were temporary errors')}"
        if report.n_temporary
        else "",
        f"{report.n_unresolved:,} unchanged since a record that is missing here" if report.n_unresolved else "",
    ]
    assets = f"{report.n_assets:,} images, styles, scripts and frames, stored with them" if report.n_assets else ""
    speed = f", {report.pages_per_cpu_s:,.0f} pages per CPU-second" if report.n_done else ""
    return [
        ("seeds", f"{seeds} ({'guessed; name them with --seed' if report.seeds_are_guessed else 'as stated'})"),
        ("records", counted(report.n_records, "record") + " read" if report.n_records else ""),
        ("damaged", _damage(report)),
        ("pages", ", ".join(filter(None, pages)) if report.n_records else ""),
        ("assets", assets),
        ("waiting", "; ".join(filter(None, waiting))),
        ("outside", f"{counted(report.n_outside, 'page')} outside the scope, left out" if report.n_outside else ""),
        ("coverage", describe_certificate(report.certificate) if report.certificate and report.n_done else ""),
        *(("hook failed", line) for line in describe_failures(report.hook_failures)),
        ("time", f"{duration(report.elapsed_s)}{speed}"),
        *(("note", plain(note)) for note in report.notes),
    ]


def _damage(report: ImportReport) -> str:
    too_large = f"{counted(report.n_too_large, 'record')} too large" if report.n_too_large else ""
    if not report.n_damaged:
        return too_large
    places = counted(report.n_damaged, "place", "places")
    text = f"{places} could not be read, the first {plain(report.first_damage)}; the rest was imported"
    return f"{text}; {too_large}" if too_large else text


def _next_steps(report: ImportReport) -> list[str]:
    if not report.n_done:
        return [f"Fetch them with: orienteer crawl {report.folder}"]
    if not report.has_texts:
        return [
            "A WAT file contains no texts, so these pages cannot be searched; links, ranks and seeds are available.",
            f"Inspect it with: orienteer status {report.folder}",
        ]
    return [f"Make it searchable with: orienteer index {report.folder}"]
