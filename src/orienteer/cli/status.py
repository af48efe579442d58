"""`orienteer status`, `explain` and `changes`: the state of a crawl, of one page, and what was new in each refresh."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display
from orienteer.cli.command import INSPECT, command
from orienteer.cli.display import add_fact, facts_grid
from orienteer.errors import unknown_name
from orienteer.pages.states import PageState
from orienteer.wording import counted, moment, plain, size, tally

if TYPE_CHECKING:
    from rich.table import Table

    from orienteer.inspect.changes import Change, EpochChanges, MissingPage
    from orienteer.inspect.crawl_status import CrawlStatus
    from orienteer.inspect.explain import PageFacts

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


@command(INSPECT)
def explain(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    url: str = typer.Argument(metavar="URL", help="URL of the page."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Explain the state of a page: whether it was fetched and why not, its place in the frontier, and its in-links.

    The crawl may be running.

    Example: [bold]orienteer explain example.org-crawl https://example.org/about[/bold]
    """
    from rich.console import Console

    from orienteer.inspect.explain import page_facts

    with Console(stderr=True).status("reading the crawl"):
        facts = page_facts(folder, url)
    display.print_result(facts.as_dict(), json, lambda: print_page(facts))


def print_page(facts: PageFacts) -> None:
    """Print the facts about a page, and its in-links."""
    from rich.text import Text

    from orienteer.inspect.explain import describe_page

    out = display.console()
    out.print(Text(plain(facts.url, 3000), "bold"), soft_wrap=True)
    rows = facts_grid()
    for name, fact in describe_page(facts):
        add_fact(rows, name, fact)
    out.print(rows)
    if facts.page is None:
        return
    out.print()
    if not facts.sources:
        out.print("No page fetched so far links here.")
        return
    out.print(f"{counted(facts.n_sources, 'fetched page links', 'fetched pages link')} here:")
    for source in facts.sources:
        note = Text("  (another name of this page)" if source.is_alias else "", "dim")
        out.print(Text("  " + plain(source.url, 3000)) + note, soft_wrap=True)
    if facts.n_sources > len(facts.sources):
        out.print(f"  and {facts.n_sources - len(facts.sources):,} more")


_MAX_CHARS = 200


@command(INSPECT)
def changes(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    epoch: int | None = typer.Option(
        None, "--epoch", min=0, metavar="N", help="List only this epoch; 0 is the first crawl. Default: all."
    ),
    kind: list[str] = typer.Option(
        [], "--kind", metavar="new|changed|missing|gone", help="List only changes of this kind; may be repeated."
    ),
    limit: int = typer.Option(1000, "--limit", min=1, metavar="N", help="List the newest N."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List the pages that were new, changed, missing or gone, newest first.

    A page that returns 404 or 410 is missing at once; its last copy stays until it has been missing for long enough,
    then it is gone. Pages that are missing now come first, with the time when they were first missing. The crawl may be
    running. As a feed: orienteer export DIR --format atom.

    Example: [bold]orienteer changes example.org-crawl --epoch 3[/bold]
    """
    from orienteer.inspect import changes as recorded
    from orienteer.store.folder_view import FolderView

    for name in kind:
        if name not in recorded.KINDS:
            raise unknown_name("kind of change", name, recorded.KINDS)
    with FolderView.open(folder) as crawl:
        found = list(recorded.changes(crawl.database, epoch, kind or tuple(recorded.KINDS), limit))
        epochs = [one for one in recorded.epoch_changes(crawl.database) if epoch in (None, one.epoch)]
        missing = recorded.missing_pages(crawl.database)
    if json:
        display.print_json(
            {
                "epochs": [one.as_dict() for one in epochs],
                "missing": [page.as_dict() for page in missing],
                "changes": [one.as_dict() for one in found],
            }
        )
    else:
        with display.ignore_broken_pipe():
            _print_changes(epochs, found, missing if epoch is None and (not kind or "missing" in kind) else [])


def _print_changes(epochs: list[EpochChanges], found: list[Change], missing: list[MissingPage]) -> None:
    """Print the pages missing now, then a line for each epoch, followed by a line for each change."""
    if missing:
        print(f"{counted(len(missing), 'page is', 'pages are')} missing now; last copies are stored:")
    for page in missing:
        print(f"  {page.describe()}")
    for epoch in epochs:
        name = f"epoch {epoch.epoch}" if epoch.epoch else "first crawl"
        began = "" if epoch.began is None else f", {moment(epoch.began)}"
        print(f"{name}{began}: {_describe_counts(epoch)}")
        listed = [change for change in found if change.epoch == epoch.epoch]
        for change in listed:
            title = f"  {plain(change.title, 80)}" if change.title else ""
            why = f"  ({plain(change.outcome, 80)})" if change.kind == "missing" else ""
            print(f"  {change.kind:<8} {plain(change.url, _MAX_CHARS)}{title}{why}")


def _describe_counts(epoch: EpochChanges) -> str:
    return f"{epoch.new:,} new, {epoch.changed:,} changed, {epoch.missing:,} missing, {epoch.gone:,} gone"
