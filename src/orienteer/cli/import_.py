"""`orienteer import`: start from what others have crawled or listed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display
from orienteer.cli.hook_option import HOOK, failures_in_words
from orienteer.cli.processes_option import PROCESSES
from orienteer.cli.settings_file import tables_in

if TYPE_CHECKING:
    from orienteer.imports.import_report import ImportReport

_SEEDS_SHOWN = 3


def import_(
    sources: list[Path] = typer.Argument(metavar="SOURCE...", help="Files or folders; several make one crawl."),
    output: Path = typer.Option(..., "--output", "-o", help="The folder to make: of a crawl, or of a graph."),
    seed: list[str] = typer.Option(
        [], help="Where the crawl started; default: what SOURCE says, or one page of each host."
    ),
    scope: str | None = typer.Option(None, help="host (of the seeds), site, prefix (their folders) or web."),
    kind: str | None = typer.Option(
        None, "--from", help="What SOURCE is, if its name does not say: archive, graph, urls or jobdir."
    ),
    hook: list[str] = HOOK,
    settings: Path | None = typer.Option(None, help="A TOML file with any settings, as in crawl.toml."),
    processes: int | None = PROCESSES,
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Import pages, graphs or URLs that others have collected, without fetching anything.

    WARC and WACZ files, Common Crawl's too, or a folder of them: a crawl folder with everything. All commands work on
    it: status, explain, index, search, serve, seeds, estimate, replay, compare; and orienteer crawl DIR goes on.

    WAT files: the same without texts, so nothing can be searched. Edge lists, GraphML and other graphs: a graph folder
    (as orienteer graph convert), for graph info, seeds, simulate and compare.

    Sitemaps, lists with a URL a line, and the JOBDIR of a Scrapy spider: URLs that are known and not fetched, for
    orienteer crawl DIR. They may stand beside WARC files.

    Where a URL was recorded more than once, the newest record counts. What is damaged is passed over and counted. Pages
    outside the scope are left out, and counted too.

    Example: [bold]orienteer import collection.wacz more.warc.gz -o example[/bold]
    """
    from orienteer.imports.import_crawl import import_crawl

    with display.progress_bar() as progress:
        report = import_crawl(
            sources, output, seeds=seed, scope=scope, kind=kind, hooks=hook or None, settings=tables_in(settings),
            processes=processes, progress=progress,
        )  # fmt: skip
    if json:
        display.print_json(report.as_dict())
    else:
        print_report(report)


def print_report(report: ImportReport) -> None:
    """What was found, and what can be done with it."""
    from orienteer.cli.wording import add_fact, facts_grid

    out = display.console()
    if report.made == "graph":
        made = f"{report.folder}: a graph of {report.n_known:,} pages, {report.n_links:,} links."
        out.print(made, markup=False, soft_wrap=True)
        out.print(f"Look at it with: orienteer graph info {report.folder}", markup=False, soft_wrap=True)
        return
    rows = facts_grid()
    for name, fact in _facts(report):
        add_fact(rows, name, fact)
    out.print(rows)
    for line in _next_steps(report):
        out.print(line, markup=False, soft_wrap=True)


def _facts(report: ImportReport) -> list[tuple[str, Any]]:
    from orienteer.cli.wording import counted, duration, plain
    from orienteer.inspect.status_in_words import certificate_in_words

    more = len(report.seeds) - _SEEDS_SHOWN
    seeds = ", ".join(plain(seed, 200) for seed in report.seeds[:_SEEDS_SHOWN]) + (
        f" and {more:,} more" if more > 0 else ""
    )
    unlinked = f", {report.n_unlinked:,} of them linked to by none" if report.n_unlinked else ""
    pages = [
        f"{counted(report.n_fetched, 'page')} fetched{unlinked}",
        f"{report.n_failed:,} failed" if report.n_failed else "",
        f"{report.n_skipped:,} skipped" if report.n_skipped else "",
        f"{report.n_blocked:,} blocked" if report.n_blocked else "",
    ]
    waiting = [
        f"{report.n_frontier:,} in the frontier",
        f"{report.n_listed:,} of them from lists" if report.n_listed else "",
        f"{counted(report.n_passing, 'answer was an error that passes', 'answers were errors that pass')}"
        if report.n_passing
        else "",
        f"{report.n_unresolved:,} said to be as before, which is not here" if report.n_unresolved else "",
    ]
    parts = f"{report.n_parts:,} pictures, styles, scripts and frames kept beside them" if report.n_parts else ""
    speed = f", {report.pages_per_cpu_s:,.0f} pages per CPU-second" if report.n_done else ""
    return [
        ("seeds", f"{seeds} ({'guessed; name them with --seed' if report.seeds_are_guessed else 'as stated'})"),
        ("records", counted(report.n_records, "record") + " read" if report.n_records else ""),
        ("damaged", _damage(report)),
        ("pages", ", ".join(part for part in pages if part) if report.n_records else ""),
        ("parts", parts),
        ("waiting", "; ".join(part for part in waiting if part)),
        ("outside", f"{counted(report.n_outside, 'page')} left out, outside the scope" if report.n_outside else ""),
        ("coverage", certificate_in_words(report.certificate) if report.certificate and report.n_done else ""),
        *(("hook failed", line) for line in failures_in_words(report.hook_failures)),
        ("time", f"{duration(report.elapsed_s)}{speed}"),
        *(("note", plain(note)) for note in report.notes),
    ]


def _damage(report: ImportReport) -> str:
    from orienteer.cli.wording import counted, plain

    too_large = f"{counted(report.n_too_large, 'record')} too large" if report.n_too_large else ""
    if not report.n_damaged:
        return too_large
    places = counted(report.n_damaged, "place could", "places could")
    text = f"{places} not be read, the first {plain(report.first_damage)}; all else was"
    return f"{text}; {too_large}" if too_large else text


def _next_steps(report: ImportReport) -> list[str]:
    if not report.n_done:
        return [f"Fetch them with: orienteer crawl {report.folder}"]
    if not report.has_texts:
        return [
            "A WAT file holds no texts, so these pages cannot be searched; links, ranks and seeds are all there.",
            f"Look at it with: orienteer status {report.folder}",
        ]
    return [f"Make it searchable with: orienteer index {report.folder}"]
