"""`orienteer status`: the state of a crawl."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display
from orienteer.cli.command import command
from orienteer.cli.display import add_fact, facts_grid
from orienteer.pages.states import PageState
from orienteer.wording import counted, moment, plain, size, tally

if TYPE_CHECKING:
    from rich.table import Table

    from orienteer.inspect.crawl_status import CrawlStatus

_SEEDS_LISTED = 3
_OUTCOMES_LISTED = 8


@command("")
def status(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show the state of a crawl: its goal, the coverage, the outcomes of pages, and its hosts.

    The crawl may be running.

    Example: [bold]orienteer status example.org-crawl[/bold]
    """
    from orienteer.inspect.crawl_status import crawl_status
    from orienteer.kernel import plain_at_first

    with display.progress_bar() as progress, plain_at_first():
        found = crawl_status(folder, progress=progress)
    display.print_result(found.as_dict(), json, lambda: print_status(found))


def print_status(found: CrawlStatus) -> None:
    """Print the status as text."""
    from rich.text import Text

    out = display.console()
    out.print(Text.assemble((plain(str(found.folder)), "bold"), ": " + _running(found)), soft_wrap=True)
    rows = facts_grid()
    for name, fact in (*describe_settings(found), *describe_progress(found)):
        add_fact(rows, name, fact)
    out.print(rows)
    if found.epochs:
        from orienteer.cli.epoch_display import describe_savings, epochs_table

        out.print()
        out.print(epochs_table(found.epochs))
        out.print(describe_savings(found.epochs))
    if found.hosts:
        out.print(_hosts_table(found))
        out.print(_other_hosts(found))


def describe_settings(found: CrawlStatus) -> list[tuple[str, str]]:
    """Return the settings of the crawl, as (name, text)."""
    from orienteer.inspect.status_text import describe_goal

    crawl, scope = found.plan.crawl, found.plan.scope
    seeds = ", ".join(plain(seed, 200) for seed in crawl.seeds[:_SEEDS_LISTED])
    more = len(crawl.seeds) - _SEEDS_LISTED
    limits = [
        scope.kind,
        f"only {', '.join(map(plain, scope.allow))}" if scope.allow else "",
        f"without {', '.join(map(plain, scope.deny))}" if scope.deny else "",
        f"at most {counted(scope.max_depth, 'link')} from a seed" if scope.max_depth is not None else "",
    ]
    return [
        ("seeds", f"{seeds} and {more:,} more" if more > 0 else seeds),
        ("goal", describe_goal(crawl)),
        ("policy", f"{plain(crawl.policy)}, damping {crawl.damping:g}"),
        ("topic", "as in topic.toml" if crawl.topic else ""),
        ("scope", "; ".join(limit for limit in limits if limit)),
        ("credentials", ", ".join(plain(origin, 200) for origin in crawl.access)),
    ]


def describe_progress(found: CrawlStatus) -> list[tuple[str, str]]:
    """Return the progress of the crawl, as (name, text)."""
    from orienteer.inspect.status_text import (
        describe_assets,
        describe_coverage,
        describe_epoch_coverage,
        describe_impossible_goal,
        describe_measured,
        describe_reachable,
        describe_rendered,
        describe_stopped,
        describe_suspect,
        describe_unarchived,
        supposed,
    )

    first, last = found.first_time, found.last_time
    proved = found.proved
    impossible = describe_impossible_goal(found)
    has_reachable_goal = not found.epochs and (impossible or found.plan.goal().of_reachable)
    figures = found.figures if found.figures_are_current else None
    frontier = "" if figures is None else f"{figures.n_frontier:,} wait in the frontier; "
    duplicates = [
        f"{counted(found.n_duplicates, 'page repeats', 'pages repeat')} another exactly" if found.n_duplicates else "",
        f"{found.n_near_duplicates:,} nearly" if found.n_near_duplicates else "",
    ]
    return [
        ("began", moment(first) if first is not None else "no response yet"),
        ("last page", moment(last) if last is not None else ""),
        ("result", describe_stopped(found)),
        ("unreachable", impossible),
        ("coverage", describe_coverage(found)),
        ("", "" if proved is None or not has_reachable_goal else describe_reachable(proved)),
        ("" if not found.epochs else "in this epoch", describe_measured(found)),
        ("assumed", "" if proved is None else supposed(proved)),
        ("in this epoch", describe_epoch_coverage(found)),
        ("fetched", counted(found.n_fetched, "page")),
        ("redirects", f"{found.n_redirects:,}" if found.n_redirects else ""),
        (
            "skipped",
            counted(found.n_skipped, "file of another type", "files of other types") if found.n_skipped else "",
        ),
        ("failed", _pages(found, PageState.FAILED, found.n_failed)),
        ("blocked", _pages(found, PageState.BLOCKED, found.n_blocked)),
        ("rendered", describe_rendered(found.rendered)),
        ("suspect", describe_suspect(found.n_suspect)),
        ("not archived", describe_unarchived(found.n_unarchived)),
        ("assets", describe_assets(found.assets)),
        ("on topic", "" if found.n_on_topic is None else counted(found.n_on_topic, "page")),
        ("known", frontier + _known(found)),
        ("duplicates", ", ".join(filter(None, duplicates))),
        *_describe_running(found),
        ("archive", "" if found.stored is None else found.stored.describe()),
        ("on disk", _size(found)),
    ]


def _describe_running(found: CrawlStatus) -> list[tuple[str, str]]:
    """Describe the requests in flight and the workers, while the crawl runs."""
    from orienteer.inspect.figures import describe_fetching, describe_workers

    figures = found.figures
    if figures is None or not found.is_running:
        return []
    return [
        ("fetching", describe_fetching(figures.fetching, figures.n_in_flight)),
        ("workers", describe_workers(figures.workers, figures.n_workers_crashed)),
    ]


def _size(found: CrawlStatus) -> str:
    parts = f"archive {size(found.archive_bytes)}, database {size(found.database_bytes)}"
    return f"{size(found.folder_bytes)} ({parts})"


def _known(found: CrawlStatus) -> str:
    outside = f"; {counted(found.n_urls_outside, 'URL')} outside" if found.n_urls_outside else ""
    return f"{counted(found.n_urls, 'URL')} in scope{outside}"


def _running(found: CrawlStatus) -> str:
    if found.holder is None:
        return "not running"
    return f"running now, process {found.holder}" if found.holder else "running now"


def _pages(found: CrawlStatus, state: int, n_pages: int) -> str:
    outcomes = found.outcomes(PageState(state))
    pages = counted(n_pages, "page")
    return f"{pages}: {tally(outcomes, _OUTCOMES_LISTED)}" if outcomes else pages


def _other_hosts(found: CrawlStatus) -> str:
    n_more, n_known = found.n_hosts - len(found.hosts), found.n_hosts_known - found.n_hosts
    more = f"and {counted(n_more, 'more host')} with pages" if n_more else ""
    known = f"{counted(n_known, 'host is', 'hosts are')} known by links only" if n_known else ""
    return "; ".join(filter(None, (more, known)))


def _hosts_table(found: CrawlStatus) -> Table:
    from rich.text import Text

    figures = ("fetched", "skipped", "failed", "blocked", "URLs known")
    table = display.columns_table(None, ("host", False), *((name, True) for name in figures))
    for host in found.hosts:
        counts = (host.n_fetched, host.n_skipped, host.n_failed, host.n_blocked, host.n_known)
        table.add_row(Text(plain(host.host, 60)), *(f"{n:,}" for n in counts))
    return table
