"""`orienteer status`: how a crawl stands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display

if TYPE_CHECKING:
    from rich.table import Table

    from orienteer.inspect.folder_status import FolderStatus

_SEEDS_SHOWN = 3
_OUTCOMES_SHOWN = 8


def status(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show the state of a crawl: what was asked for, what is proved, what happened to the pages, host by host.

    The crawl may be running meanwhile.

    Example: [bold]orienteer status example.org-crawl[/bold]
    """
    from orienteer.inspect.folder_status import folder_status
    from orienteer.kernel import plain_at_first

    with display.progress_bar() as progress, plain_at_first():
        found = folder_status(folder, progress=progress)
    if json:
        display.print_json(found.as_dict())
    else:
        print_status(found)


def print_status(found: FolderStatus) -> None:
    """The status as people read it."""
    from rich.text import Text

    from orienteer.cli.wording import add_fact, facts_grid, plain

    out = display.console()
    out.print(Text.assemble((plain(str(found.folder)), "bold"), ": " + _running(found)), soft_wrap=True)
    rows = facts_grid()
    for name, fact in (*settings_in_words(found), *progress_in_words(found)):
        add_fact(rows, name, fact)
    out.print(rows)
    if found.epochs:
        from orienteer.cli.epoch_display import epochs_table, savings_in_words

        out.print()
        out.print(epochs_table(found.epochs))
        out.print(savings_in_words(found.epochs))
    if found.hosts:
        out.print(_hosts_table(found))
        out.print(_other_hosts(found))


def settings_in_words(found: FolderStatus) -> list[tuple[str, str]]:
    """What the crawl was asked to do."""
    from orienteer.cli.wording import counted, plain
    from orienteer.inspect.status_in_words import goal_in_words

    crawl, scope = found.plan.crawl, found.plan.scope
    seeds = ", ".join(plain(seed, 200) for seed in crawl.seeds[:_SEEDS_SHOWN])
    more = len(crawl.seeds) - _SEEDS_SHOWN
    limits = [
        scope.kind,
        f"only {', '.join(map(plain, scope.allow))}" if scope.allow else "",
        f"without {', '.join(map(plain, scope.deny))}" if scope.deny else "",
        f"at most {counted(scope.max_depth, 'link')} from a seed" if scope.max_depth is not None else "",
    ]
    return [
        ("seeds", f"{seeds} and {more:,} more" if more > 0 else seeds),
        ("goal", goal_in_words(crawl)),
        ("policy", f"{plain(crawl.policy)}, damping {crawl.damping:g}"),
        ("topic", "as in topic.toml" if crawl.topic else ""),
        ("scope", "; ".join(limit for limit in limits if limit)),
        ("access", ", ".join(plain(origin, 200) for origin in crawl.access)),
    ]


def progress_in_words(found: FolderStatus) -> list[tuple[str, str]]:
    """What has become of it so far."""
    from orienteer.cli.wording import counted, moment, size
    from orienteer.inspect.status_in_words import (
        coverage_in_words,
        coverage_of_epoch_in_words,
        impossible_goal_in_words,
        measured_in_words,
        of_reachable_in_words,
        parts_in_words,
        rendered_in_words,
        stopped_in_words,
        supposed,
        suspect_in_words,
        unarchived_in_words,
    )
    from orienteer.pages.states import PageState

    first, last = found.first_time, found.last_time
    proved = found.library if found.epochs else found.certificate
    impossible = impossible_goal_in_words(found)
    wants_reachable = not found.epochs and (impossible or found.plan.crawl.of_reachable)
    waiting = (found.figures or {}).get("n_frontier") if found.figures_are_current else None
    frontier = f"{waiting:,} wait in the frontier; " if isinstance(waiting, int) else ""
    duplicates = [
        f"{counted(found.n_duplicates, 'page repeats', 'pages repeat')} another exactly" if found.n_duplicates else "",
        f"{found.n_near_duplicates:,} nearly" if found.n_near_duplicates else "",
    ]
    return [
        ("began", moment(first) if first is not None else "nothing has come in yet"),
        ("last page", moment(last) if last is not None else ""),
        ("stopped", stopped_in_words(found)),
        ("out of reach", impossible),
        ("coverage", coverage_in_words(found)),
        ("", "" if proved is None or not wants_reachable else of_reachable_in_words(proved)),
        ("" if not found.epochs else "in this epoch", measured_in_words(found)),
        ("assumed", "" if proved is None else supposed(proved)),
        ("in this epoch", coverage_of_epoch_in_words(found)),
        ("fetched", counted(found.n_fetched, "page")),
        ("redirects", f"{found.n_redirects:,}" if found.n_redirects else ""),
        (
            "skipped",
            counted(found.n_skipped, "file of another type", "files of other types") if found.n_skipped else "",
        ),
        ("failed", _pages(found, PageState.FAILED, found.n_failed)),
        ("blocked", _pages(found, PageState.BLOCKED, found.n_blocked)),
        ("rendered", rendered_in_words(found.rendered)),
        ("suspect", suspect_in_words(found.n_suspect)),
        ("not kept", unarchived_in_words(found.n_unarchived)),
        ("shown with", parts_in_words(found.parts)),
        ("on topic", "" if found.n_on_topic is None else counted(found.n_on_topic, "page")),
        ("known", f"{frontier}{found.n_urls:,} URLs seen, inside the scope and outside"),
        ("duplicates", ", ".join(part for part in duplicates if part)),
        ("fetching", _fetching(found)),
        ("workers", _workers(found)),
        ("archive", "" if found.stored is None else found.stored.in_words()),
        ("on disk", f"archive {size(found.archive_bytes)}, database {size(found.database_bytes)}"),
    ]


def _running(found: FolderStatus) -> str:
    if found.holder is None:
        return "not running"
    return f"running now, process {found.holder}" if found.holder else "running now"


def _fetching(found: FolderStatus) -> str:
    """What is being asked for now, while it is running."""
    from orienteer.inspect.fetching import fetching_in_words, fetching_of

    figures = found.figures or {}
    return "" if found.holder is None else fetching_in_words(fetching_of(figures), int(figures.get("n_under_way", 0)))


def _workers(found: FolderStatus) -> str:
    """While it is running."""
    from orienteer.inspect.workers_in_words import workers_in_words, workers_of

    figures = found.figures or {}
    return "" if found.holder is None else workers_in_words(workers_of(figures), int(figures.get("n_workers_died", 0)))


def _pages(found: FolderStatus, state: int, n_pages: int) -> str:
    from orienteer.cli.wording import counted, tally
    from orienteer.pages.states import PageState

    outcomes = found.outcomes(PageState(state))
    pages = counted(n_pages, "page")
    return f"{pages}: {tally(outcomes, _OUTCOMES_SHOWN)}" if outcomes else pages


def _other_hosts(found: FolderStatus) -> str:
    from orienteer.cli.wording import counted

    n_more, n_known = found.n_hosts - len(found.hosts), found.n_hosts_known - found.n_hosts
    more = f"and {counted(n_more, 'more host')} with pages" if n_more else ""
    known = f"{counted(n_known, 'host is', 'hosts are')} known by links only" if n_known else ""
    return "; ".join(part for part in (more, known) if part)


def _hosts_table(found: FolderStatus) -> Table:
    from rich.text import Text

    from orienteer.cli.wording import plain

    figures = ("fetched", "skipped", "failed", "blocked", "URLs known")
    table = display.columns_table(None, ("host", False), *((name, True) for name in figures))
    for host in found.hosts:
        counts = (host.n_fetched, host.n_skipped, host.n_failed, host.n_blocked, host.n_known)
        table.add_row(Text(plain(host.host, 60)), *(f"{n:,}" for n in counts))
    return table
