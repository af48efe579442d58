"""`orienteer crawl`: fetch a part of the web into a crawl folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display, interruption
from orienteer.cli.command import FETCHERS, HOOKS, METHODS, POLICIES, command
from orienteer.cli.options import GivenSettings, with_fields, with_settings
from orienteer.cli.running import run_crawl, say, waiting
from orienteer.errors import InputError
from orienteer.ledger.settings import StartSettings
from orienteer.pages.stop_reason import StopReason
from orienteer.progress import silent
from orienteer.settings import fields_of
from orienteer.wording import counted, plain

if TYPE_CHECKING:
    from orienteer.inspect.figures import CrawlFigures
    from orienteer.ledger.plan import CrawlPlan
    from orienteer.live.start_pages import StartPages

_SEEDS, _OUTPUT = "Seeds", "Output"
_ANY_PAGE = "https://example.org/"  # a placeholder until the seeds are chosen
_TOPIC_POLICY = "scent"  # the default policy of a crawl with a topic
_SEEDS_NAMED = 3  # in the one line about them
_URL_CHARS = 80

Say = Callable[[str], None]


@command("", plugins={"--policy": POLICIES, "--seed-method": METHODS, "--fetcher": FETCHERS, "--hook": HOOKS})
@with_fields("choice", StartSettings, hidden=True)
@with_settings(runs=True)
def crawl(
    places: list[str] = typer.Argument(None, metavar="URL...|DIR", help="Start URLs, or a crawl folder to resume."),
    output: Path | None = typer.Option(None, "--output", "-o", help="The crawl folder; default: HOST-crawl."),
    *,
    given: GivenSettings,
    topic: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="Crawl for pages on this topic (see orienteer topic); the default policy is then scent.",
        rich_help_panel="Goal",
    ),
    seeds_path: Path | None = typer.Option(
        None,
        "--seeds-from",
        metavar="DIR|GRAPH",
        help="Choose start pages from another crawl, or from a graph with URLs. URLs on the command line come first; "
        "the scope covers all of them.",
        rich_help_panel=_SEEDS,
    ),
    choice: dict[str, Any],
    index: bool = typer.Option(
        False, "--index", help="Build the search index during the crawl and at its end.", rich_help_panel=_OUTPUT
    ),
    metrics: int | None = typer.Option(
        None,
        metavar="PORT",
        hidden=True,
        help="Serve metrics for Prometheus on this port (extra: metrics).",
        rich_help_panel=_OUTPUT,
    ),
    json: bool = typer.Option(False, "--json", help="Print the report as JSON.", rich_help_panel=_OUTPUT),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print no progress.", rich_help_panel=_OUTPUT),
) -> None:
    """Crawl the web from start pages, politely, until the coverage you ask for is reached.

    With --until, the coverage is both measured by random walks and proved; the crawl stops at the first of the two.

    To resume a crawl after any kind of stop, run the same command again; to fetch new and changed pages, use orienteer
    refresh. Ctrl-C finishes the requests in flight; a second Ctrl-C stops at once.

    Installed hooks are stored by name, and a resumed crawl runs them again. A hook file must be named again.

    With --credentials, pages behind a login are fetched. If the crawl is logged out and cannot log in again, it pauses
    with exit code 3; the login page itself is not stored.

    Pages that scripts build are rendered in a browser without network access: the crawl fetches their resources, as
    robots.txt allows. With --render never, or without a browser, the links of these pages count as unknown.

    Exit code 0: the goal is reached (the coverage; without --until, all pages up to --budget, or all reachable pages).
    3: the crawl ended before the coverage was reached. 130: Ctrl-C or orienteer stop; 143: SIGTERM. If too much is
    blocked (robots.txt, errors) to prove the coverage, the crawl says so at once, and ends with code 3 when the
    reachable pages have that coverage. With --stop-when measured,reachable that is the goal.

    Example: [bold]orienteer crawl https://example.org --until 98% -o example[/bold]
    """
    from orienteer.cli.metrics_server import check_metrics

    check_metrics(metrics)
    if topic is not None:
        given.tables["crawl"] = {"policy": _TOPIC_POLICY} | given.tables["crawl"] | {"topic": True}
    notify = None if quiet or json else say
    if choice and seeds_path is None:
        raise InputError(f"{fields_of(StartSettings)[next(iter(choice))].about.option} goes with --seeds-from only")
    start = None if seeds_path is None else _SeedsFrom(seeds_path, choice, notify)
    folder, plan = _planned(places or [], output, given, start)
    plan = _with_schemes(folder, plan, places or [], notify)
    _run(folder, plan, given, topic, metrics, index, json, quiet)


def _run(
    folder: Path, plan: CrawlPlan, given: GivenSettings, topic: Path | None, metrics: int | None, index: bool,
    json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Run a crawl with metrics and its index, and print its report."""
    from orienteer.cli import crawl_display, metrics_server
    from orienteer.cli.index import indexed_at_the_end, indexed_in_background, print_indexed

    # Metrics come first, so that a port in use fails before the crawl folder is opened.
    with metrics_server.serving(metrics) as publish, indexed_in_background(folder, index) as index_if_due:
        if metrics == 0:
            say(f"metrics: http://127.0.0.1:{publish.port}/metrics")

        def watch(figures: CrawlFigures) -> None:
            publish(figures)
            index_if_due()

        report = run_crawl(folder, plan, given, topic=topic, watch=watch, quiet=quiet, json=json)
    has_ended = not report.stopped_because.is_pause
    indexed = indexed_at_the_end(folder, quiet or json, plan.crawl.processes or None) if index and has_ended else None
    with display.ignore_broken_pipe():
        if json:
            display.print_json(report.as_dict() | ({} if indexed is None else {"index": indexed.as_dict()}))
        else:
            crawl_display.print_report(report, quiet, with_index=index)
            if index:
                print_indexed(folder, indexed)
    if report.stopped_because is StopReason.INTERRUPTED:
        raise typer.Exit(interruption.exit_code())
    if not report.ending.is_success:
        raise typer.Exit(3)


def _planned(
    places: list[str], output: Path | None, given: GivenSettings, start: _SeedsFrom | None
) -> tuple[Path, CrawlPlan]:
    """Return the folder and the plan of the crawl."""
    from orienteer.ledger.plan import default_folder
    from orienteer.ledger.settings import canonical_seeds
    from orienteer.store.folder_view import settings_of_folder

    continues = len(places) == 1 and output is None and Path(places[0]).is_dir()
    seeds = () if continues else canonical_seeds([_expect_url(place) for place in places])
    folder = Path(places[0]) if continues else output or (default_folder(seeds) if seeds else None)
    stored = None if folder is None else settings_of_folder(folder)
    crawl = given.tables["crawl"]
    if start is not None and folder is not None and stored is not None:
        start.continued(folder, stored, seeds)
        seeds = ()
    elif start is not None and not continues:
        # Choosing seeds may take long, so the other settings are checked first.
        crawl |= {"seeds": (_ANY_PAGE,), "trust": ()}
        given.plan(None, None)
        chosen = start.chosen(seeds)
        seeds, crawl["trust"] = chosen.seeds, chosen.trust
        folder = folder or default_folder(seeds)
        stored = settings_of_folder(folder)
    if folder is None:
        raise InputError("where to start? Name a page, such as https://example.org, or a crawl folder to resume")
    if seeds:
        crawl["seeds"] = seeds
    return folder, given.plan(folder, stored)


def _with_schemes(folder: Path, plan: CrawlPlan, places: list[str], notify: Say | None) -> CrawlPlan:
    """Return the plan with http for start pages typed without a scheme whose hosts do not support https."""
    if all("://" in place or Path(place).is_dir() for place in places):
        return plan
    from orienteer.live.seed_check import resolve_schemes

    with waiting(folder, notify is None):
        return resolve_schemes(plan, [place for place in places if not Path(place).is_dir()], folder, notify)


def _expect_url(place: str) -> str:
    """Return a start page as typed; raise InputError for what looks like a folder."""
    if "://" in place:
        return place
    host = place.partition("/")[0]
    if place.startswith(("/", ".", "~")) or not ("." in host or ":" in host or host == "localhost"):
        raise InputError(f"{place}: no such crawl folder; to begin a crawl, name a page, such as https://example.org")
    return place


class _SeedsFrom:
    """Where and how to choose seeds (--seeds-from); invalid options are refused at once."""

    def __init__(self, path: Path, choice: dict[str, Any], say: Say | None) -> None:
        self.path = path
        self.settings = StartSettings(**choice)
        self._say = say

    def chosen(self, named: Sequence[str]) -> StartPages:
        """Choose the seeds, after the named ones; report them and their coverage in one line."""
        from orienteer.live.start_pages import start_pages

        with display.progress_bar() as progress:
            start = start_pages(self.path, self.settings, progress if self._say else silent)
        if self._say:
            self._say(self._describe(start))
        return start.behind(named)

    def continued(self, folder: Path, text: str, named: Sequence[str]) -> None:
        """Check that an existing crawl with these settings starts with the named pages, and report its seeds."""
        from orienteer.ledger.plan import CrawlPlan

        seeds = CrawlPlan.parse(text, str(folder / "crawl.toml")).crawl.seeds
        first = seeds[: len(named)]
        if first != tuple(named):
            raise InputError(
                f"{folder}: this crawl was begun with seeds {', '.join(first)}, not {', '.join(named)}; choose another "
                "-o for a new crawl"
            )
        if self._say:
            self._say(
                f"{folder} holds a crawl: it is resumed from its {counted(len(seeds), 'seed')}, none is chosen again"
            )

    def _describe(self, start: StartPages) -> str:
        found = start.selection
        urls = [plain(url, _URL_CHARS) for url in start.seeds]
        n_more = len(urls) - _SEEDS_NAMED
        listed = ", ".join(urls[:_SEEDS_NAMED]) + f" and {n_more:,} more" * (n_more > 0)
        covered = f"{found.n_covered:,} of {counted(found.n_pages, 'page')}"
        return (
            f"{counted(len(urls), 'seed')} by {found.method}: {listed}; within {counted(found.hops, 'hop')} they cover "
            f"{covered} of {self.path} ({display.share(found.value, found.total_value)} of the value)"
        )
