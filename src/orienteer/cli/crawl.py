"""`orienteer crawl`: fetch a part of the web into a crawl folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display, interruption
from orienteer.cli.goal_option import (
    BUDGET_HELP,
    CONFIDENCE_HELP,
    OF_REACHABLE_HELP,
    PROOF_HELP,
    UNTIL_HELP,
    GoalOptions,
)
from orienteer.cli.hook_option import HOOK
from orienteer.cli.running import say, stoppable, waiting
from orienteer.cli.seeds_from import SeedsFrom, seeds_from
from orienteer.cli.settings_file import tables_in
from orienteer.errors import InputError
from orienteer.pages.stop_reason import StopReason
from orienteer.progress import silent

if TYPE_CHECKING:
    from orienteer.hooks.page_hooks import Hook
    from orienteer.inspect.figures import CrawlFigures
    from orienteer.ledger.plan import CrawlPlan

_GOAL, _SEEDS, _SCOPE, _POLITENESS, _NETWORK, _OUTPUT = "Goal", "Seeds", "Scope", "Politeness", "Network", "Output"
_RENDER = "Browser"
_ANY_PAGE = "https://example.org/"  # a placeholder until the seeds are chosen
_TOPIC_POLICY = "scent"  # the default policy of a crawl with a topic


def crawl(
    places: list[str] = typer.Argument(None, metavar="URL...|DIR", help="Start URLs, or a crawl folder to resume."),
    output: Path | None = typer.Option(None, "--output", "-o", help="The crawl folder; default: HOST-crawl."),
    until: str | None = typer.Option(None, metavar="SHARE", help=UNTIL_HELP, rich_help_panel=_GOAL),
    budget: str | None = typer.Option(None, metavar="N", help=BUDGET_HELP, rich_help_panel=_GOAL),
    of_reachable: bool | None = typer.Option(
        None, "--of-reachable/--of-everything", help=OF_REACHABLE_HELP, rich_help_panel=_GOAL
    ),
    confidence: float | None = typer.Option(None, help=CONFIDENCE_HELP, rich_help_panel=_GOAL),
    proof: bool | None = typer.Option(None, "--proof/--measured", help=PROOF_HELP, rich_help_panel=_GOAL),
    policy: str | None = typer.Option(
        None,
        "--policy",
        "-p",
        help="Crawl policy, such as fractional:inter_host_weight=20 or apprentice:model=FILE.",
        rich_help_panel=_GOAL,
    ),
    topic: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="Crawl for pages on this topic (see orienteer topic); the default policy is then scent.",
        rich_help_panel=_GOAL,
    ),
    refresh: bool = typer.Option(
        False, "--refresh", help="Refresh a crawl folder: fetch new pages, and check known ones for changes."
    ),
    by_certificate: bool | None = typer.Option(
        None, "--by-certificate", help="Stop by the certificate, not by the policy's own proof.", rich_help_panel=_GOAL
    ),
    damping: float | None = typer.Option(
        None, help="Probability that a surfer follows a link (0.85).", rich_help_panel=_GOAL
    ),
    seeds_path: Path | None = typer.Option(
        None,
        "--seeds-from",
        metavar="DIR|GRAPH",
        help="Choose start pages from another crawl, or from a graph with URLs. URLs on the command line come first; "
        "the scope covers all of them.",
        rich_help_panel=_SEEDS,
    ),
    n_seeds: int | None = typer.Option(
        None, help="Number of seeds to choose (10), with --seeds-from or --refresh.", rich_help_panel=_SEEDS
    ),
    seed_hops: int | None = typer.Option(
        None, help="Choose the seeds that cover the most within this many links (5).", rich_help_panel=_SEEDS
    ),
    seed_method: str | None = typer.Option(
        None, help="Seed method, as orienteer seeds --method (greedy).", rich_help_panel=_SEEDS
    ),
    seed_value: str | None = typer.Option(
        None,
        metavar="FILE|paper",
        help="Value of pages, as orienteer seeds --value (default: paper for a crawl, 1 each for a graph).",
        rich_help_panel=_SEEDS,
    ),
    seed_trust: str | None = typer.Option(
        None,
        help="Trust of the seeds: uniform, or in proportion to the value that each adds (value).",
        rich_help_panel=_SEEDS,
    ),
    scope: str | None = typer.Option(
        None, help="host or site of the seeds, prefix (their folders) or web.", rich_help_panel=_SCOPE
    ),
    allow: list[str] = typer.Option(
        [], help="Crawl only URLs that match this regular expression; may be repeated.", rich_help_panel=_SCOPE
    ),
    deny: list[str] = typer.Option(
        [], help="Skip URLs that match this regular expression; may be repeated.", rich_help_panel=_SCOPE
    ),
    max_depth: int | None = typer.Option(None, help="Maximum number of links from a seed.", rich_help_panel=_SCOPE),
    content_type: list[str] = typer.Option(
        [],
        help="Also store pages of this type, such as image/*, in addition to HTML, plain text, feeds and documents "
        "(PDF, Office, EPUB); may be repeated.",
        rich_help_panel=_SCOPE,
    ),
    no_documents: bool = typer.Option(
        False, "--no-documents", help="Store only HTML, and the types of --content-type.", rich_help_panel=_SCOPE
    ),
    duplicates: str | None = typer.Option(
        None, help="Exact duplicates: report, merge (into the page fetched first) or off.", rich_help_panel=_SCOPE
    ),
    near_duplicates: str | None = typer.Option(
        None, help="Pages with nearly the same text: report, merge or off.", rich_help_panel=_SCOPE
    ),
    delay: float | None = typer.Option(
        None, help="Seconds between two requests to a host (1).", rich_help_panel=_POLITENESS
    ),
    connections: int | None = typer.Option(None, help="Concurrent requests per host (1).", rich_help_panel=_POLITENESS),
    user_agent: str | None = typer.Option(
        None, help="User-Agent header; include how to contact you.", rich_help_panel=_POLITENESS
    ),
    ignore_robots: bool | None = typer.Option(
        None, "--ignore-robots", help="Ignore robots.txt; only for your own hosts.", rich_help_panel=_POLITENESS
    ),
    sitemaps: bool | None = typer.Option(
        None, help="Read the sitemaps that robots.txt names, or /sitemap.xml.", rich_help_panel=_POLITENESS
    ),
    workers: int | None = typer.Option(
        None, help="Concurrent requests, over all hosts (32).", rich_help_panel=_NETWORK
    ),
    processes: int | None = typer.Option(
        None,
        help="Worker processes, which fetch and read pages. 1: all in one process. Default: added when one is busy.",
        rich_help_panel=_NETWORK,
    ),
    cluster: str | None = typer.Option(
        None,
        metavar="local-ray|HOST:PORT",
        help="Run the workers on Ray (extra: ray): local-ray, or the cluster at HOST:PORT. For this run only.",
        rich_help_panel=_NETWORK,
    ),
    fetcher: str | None = typer.Option(
        None,
        metavar="NAME",
        help="Fetcher: libcurl, archive:path=DIR (the archive of another crawl), or a plug-in.",
        rich_help_panel=_NETWORK,
    ),
    credentials: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="TOML file with headers, cookies, certificates and logins by host, outside the crawl folder. It is not "
        "copied: name it again to resume.",
        rich_help_panel=_NETWORK,
    ),
    render: str | None = typer.Option(
        None,
        metavar="auto|never|always|PATTERN",
        help="Pages to render in a browser: auto (those that scripts build), never, always, or a URL pattern.",
        rich_help_panel=_RENDER,
    ),
    scroll: int | None = typer.Option(
        None,
        metavar="N",
        help="Scroll a rendered page, or press its button for more, up to N times (2).",
        rich_help_panel=_RENDER,
    ),
    screenshots: bool | None = typer.Option(
        None, "--screenshots", help="Store a screenshot of each rendered page.", rich_help_panel=_RENDER
    ),
    browser: Path | None = typer.Option(
        None,
        metavar="PATH",
        help="Path of the browser, any Chromium; default: the first one found. For this run only.",
        rich_help_panel=_RENDER,
    ),
    timeout: float | None = typer.Option(None, help="Timeout of a page, in seconds (30).", rich_help_panel=_NETWORK),
    max_size: int | None = typer.Option(
        None, help="Maximum size of a page, in bytes (10 MiB).", rich_help_panel=_NETWORK
    ),
    max_document_size: int | None = typer.Option(
        None, help="Maximum size of a PDF or another document, in bytes (32 MiB).", rich_help_panel=_NETWORK
    ),
    proxy: str | None = typer.Option(None, help="Proxy, such as http://localhost:3128.", rich_help_panel=_NETWORK),
    connect_to: str | None = typer.Option(
        None,
        metavar="HOST:PORT",
        help="Connect to this address for every URL, such as a test server.",
        rich_help_panel=_NETWORK,
    ),
    allow_private: bool | None = typer.Option(
        None, "--allow-private", help="Allow private, loopback and link-local addresses.", rich_help_panel=_NETWORK
    ),
    assets: bool | None = typer.Option(
        None,
        "--assets/--no-assets",
        help="Also store the assets of pages: images, styles, fonts, scripts and frames, from any host.",
        rich_help_panel=_OUTPUT,
    ),
    max_asset_size: int | None = typer.Option(
        None, help="Maximum size of an asset, in bytes (20 MiB).", rich_help_panel=_OUTPUT
    ),
    archive_to: str | None = typer.Option(
        None,
        metavar="URL",
        help="Store the archive in an object store, such as s3://bucket/prefix (extra: storage).",
        rich_help_panel=_OUTPUT,
    ),
    drop_local: bool | None = typer.Option(
        None,
        "--drop-local/--keep-local",
        help="Delete local archive files once their upload is confirmed.",
        rich_help_panel=_OUTPUT,
    ),
    hook: list[str] = HOOK,
    no_hooks: bool = typer.Option(
        False, "--no-hooks", help="Run no hooks, not even those that the crawl was started with."
    ),
    settings: Path | None = typer.Option(None, help="TOML file with any settings, as in crawl.toml."),
    index: bool = typer.Option(
        False, "--index", help="Build the search index during the crawl and at its end.", rich_help_panel=_OUTPUT
    ),
    metrics: int | None = typer.Option(
        None,
        metavar="PORT",
        help="Serve metrics for Prometheus on this port (extra: metrics).",
        rich_help_panel=_OUTPUT,
    ),
    json: bool = typer.Option(False, "--json", help="Print the report as JSON.", rich_help_panel=_OUTPUT),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print no progress.", rich_help_panel=_OUTPUT),
) -> None:
    """Crawl the web from start pages, politely, until the coverage you ask for is reached.

    With --until, the coverage is both measured by random walks and proved; the crawl stops at the first of the two.

    To resume a crawl after any kind of stop, run the same command again. Ctrl-C finishes the requests in flight; a
    second Ctrl-C stops at once.

    With --refresh, a new epoch begins, or an interrupted one continues: new seeds are chosen from the known pages, and
    pages that may have changed are requested again, conditionally if possible. Missing pages are kept for some days
    before they are removed.

    Installed hooks are stored by name, and a resumed crawl runs them again. A hook file must be named again.

    With --credentials, pages behind a login are fetched. If the crawl is logged out and cannot log in again, it pauses
    with exit code 3; the login page itself is not stored.

    Pages that scripts build are rendered in a browser without network access: the crawl fetches their resources, as
    robots.txt allows. With --render never, or without a browser, the links of these pages count as unknown.

    Exit code 0: the goal is reached (the coverage; without --until, all pages up to --budget, or all reachable pages).
    3: the crawl ended before the coverage was reached. 130: Ctrl-C or orienteer stop; 143: SIGTERM. If too much is
    blocked (robots.txt, errors) to prove the coverage, the crawl says so at once, and ends with code 3 when the
    reachable pages have that coverage. With --of-reachable, that is the goal.

    Example: [bold]orienteer crawl https://example.org --until 0.98 -o example[/bold]
    """
    from orienteer.cli.metrics_server import check_metrics

    check_metrics(metrics)
    if delay is not None and not delay >= 0:
        raise InputError("--delay: 0 or more seconds")
    goal = GoalOptions.of(until, budget)
    given: dict[str, dict[str, Any]] = {
        "crawl": {
            "policy": policy, "damping": damping, "until": goal.until, "budget": goal.budget,
            "by_certificate": by_certificate, "of_reachable": of_reachable, "confidence": confidence, "proof": proof,
            "workers": workers, "processes": processes, "sitemaps": sitemaps,
            "robots": None if ignore_robots is None else not ignore_robots,
            "duplicates": duplicates, "near_duplicates": near_duplicates, "assets": assets,
        },
        "scope": {"kind": scope, "allow": tuple(allow) or None, "deny": tuple(deny) or None, "max_depth": max_depth},
        "politeness": {"delay_s": delay, "connections": connections},
        "fetch": {
            "fetcher": fetcher, "user_agent": user_agent, "timeout_s": timeout, "max_body_bytes": max_size,
            "proxy": proxy, "connect_to": connect_to, "allow_private": allow_private,
            "content_types": _content_types(content_type, no_documents), "max_document_bytes": max_document_size,
            "max_asset_bytes": max_asset_size,
        },
        "render": {"mode": render, "scrolls": scroll, "screenshots": screenshots},
        "store": {"archive_to": archive_to, "drop_local": drop_local},
    }  # fmt: skip
    if topic is not None:
        given["crawl"] |= {"topic": True, "policy": policy or _TOPIC_POLICY}
    choice: dict[str, Any] = {"n_seeds": n_seeds, "hops": seed_hops, "method": seed_method}
    if refresh:
        given["refresh"], choice = choice, {}
        _expect_crawl(places or [], output, seeds_path)
    from orienteer.hooks.page_hooks import names_of

    hooks = _hooks(hook, no_hooks)
    given["crawl"]["hooks"] = names_of(hooks)
    start = seeds_from(
        seeds_path, choice | {"value": seed_value, "trust_by": seed_trust}, None if quiet or json else say
    )
    folder, plan = _planned(places or [], output, settings, given, start, goal)
    plan = _with_schemes(folder, plan, places or [], None if quiet or json else say)
    run(folder, plan, metrics, json, quiet, refresh, topic, index, hooks, cluster, credentials, str(browser or ""))


def run(
    folder: Path, plan: CrawlPlan, metrics: int | None = None, json: bool = False, quiet: bool = False,
    refresh: bool = False, topic: Path | None = None, index: bool = False,
    hooks: Sequence[Hook] | None = None, cluster: str | None = None, credentials: Path | None = None, browser: str = "",
) -> None:  # fmt: skip
    """Run a crawl with display, metrics and signals, and print its report."""
    from orienteer.cli.background_indexing import indexed_at_the_end, indexed_in_background, print_indexed

    is_new = not (folder / "crawl.db").exists()
    with ExitStack() as stack:
        # This comes first, so that a port in use fails before the crawl folder is opened.
        from orienteer.cli import crawl_display, metrics_server

        publish = stack.enter_context(metrics_server.serving(metrics))
        if metrics == 0:
            say(f"metrics: http://127.0.0.1:{publish.port}/metrics")
        with waiting(folder, quiet or json):
            from orienteer.credentials.credentials_file import read_credentials
            from orienteer.live import session
            from orienteer.live.seed_check import nothing_crawled

            granted = None if credentials is None else read_credentials(credentials, folder)
            with display.progress_bar() as progress:
                report_to = silent if quiet or json else progress
                opened = session.open_crawl(
                    folder, plan, refresh, None, report_to, topic, hooks, cluster, granted, browser
                )
                live = stack.enter_context(opened)
        if live.ledger.folder.upgrade is not None:
            say(live.ledger.folder.upgrade)
        if granted is not None and not quiet and not granted.covers(plan.crawl.seeds):
            say(f"--credentials: no start page is at {', '.join(granted.origins)}; http and https are different")
        stack.enter_context(stoppable(live))
        index_if_due = stack.enter_context(indexed_in_background(folder, index))
        with crawl_display.progress_display(folder, quiet) as show:

            def watch(figures: CrawlFigures) -> None:
                show(figures, live.stop_level)
                publish(figures)
                index_if_due()

            report = session.run(live, watch, None if quiet else say)
        if is_new and not report.has_pages and not report.stopped_because.is_pause:
            raise nothing_crawled(report.failed_seeds)  # the context removes the new folder
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
    places: list[str],
    output: Path | None,
    settings: Path | None,
    given: dict[str, dict[str, Any]],
    start: SeedsFrom | None,
    goal: GoalOptions,
) -> tuple[Path, CrawlPlan]:
    """Return the folder and the plan; `given` are the options as tables of crawl.toml."""
    from orienteer.ledger.plan import canonical_seeds
    from orienteer.store.folder_view import settings_of_folder

    continues = len(places) == 1 and output is None and Path(places[0]).is_dir()
    seeds = () if continues else canonical_seeds([_expect_url(place) for place in places])
    folder = Path(places[0]) if continues else output or _default_folder(seeds)
    stored = None if folder is None else settings_of_folder(folder)
    if start is not None and folder is not None and stored is not None:
        start.continued(folder, stored, seeds)
        seeds = ()
    elif start is not None and not continues:
        # Choosing seeds may take long, so the other settings are checked first.
        given["crawl"] |= {"seeds": (_ANY_PAGE,), "trust": ()}
        crawl_plan(None, None, settings, given, goal)
        chosen = start.chosen(seeds)
        seeds, given["crawl"]["trust"] = chosen.seeds, chosen.trust
        folder = folder or _default_folder(seeds)
        stored = None if folder is None else settings_of_folder(folder)
    if folder is None:
        raise InputError("where to start? Name a page, such as https://example.org, or a crawl folder to resume")
    if seeds:
        given["crawl"]["seeds"] = seeds
    return folder, crawl_plan(folder, stored, settings, given, goal)


def _with_schemes(folder: Path, plan: CrawlPlan, places: list[str], notify: Callable[[str], None] | None) -> CrawlPlan:
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


def _expect_crawl(places: list[str], output: Path | None, seeds_path: Path | None) -> None:
    """Raise InputError unless a refresh has a crawl folder, and no other seeds."""
    from orienteer.store.folder_view import settings_of_folder

    if seeds_path is not None:
        raise InputError("--refresh chooses seeds from its own crawl folder; --seeds-from is for a new crawl")
    place = output or (places[0] if places else None)
    if place is None:
        raise InputError("--refresh: which crawl? Name its folder")
    if settings_of_folder(Path(place)) is None:
        raise InputError(f"--refresh: {place} is not a crawl folder, so there is nothing to refresh")


def _default_folder(seeds: tuple[str, ...]) -> Path | None:
    """Return the default folder of a crawl from these seeds."""
    from orienteer.ledger.plan import default_folder

    return default_folder(seeds) if seeds else None


def crawl_plan(
    folder: Path | None,
    stored: str | None,
    settings: Path | None,
    given: dict[str, dict[str, Any]],
    goal: GoalOptions,
) -> CrawlPlan:
    """Merge the settings of the folder, the settings file and the options; later ones win."""
    from orienteer.ledger.permission import expect_allowed
    from orienteer.ledger.plan import CrawlPlan, tables_of
    from orienteer.settings import merged

    settings_path = (folder or Path()) / "crawl.toml"
    tables = [tables_of(stored, str(settings_path))] if stored is not None else []
    if settings is not None:
        tables.append(tables_in(settings))
    where = str(settings) if settings is not None else str(settings_path)
    merged_tables = merged(goal.remaining(merged(*tables)), given)
    if not merged_tables.get("crawl", {}).get("seeds"):
        raise InputError(f"{folder} is not a crawl folder; to begin a crawl, name the pages to start from")
    plan = CrawlPlan.of_tables(merged_tables, where)
    if folder is not None and stored is not None:
        expect_allowed(folder, CrawlPlan.parse(stored, str(settings_path)), *tables[1:], given)
    return plan


def _hooks(given: list[str], none: bool) -> tuple[Hook, ...] | None:
    """Return the hooks that the options name; None if there is no such option."""
    if given and none:
        raise InputError("--hook and --no-hooks contradict each other")
    if not given:
        return () if none else None
    from orienteer.hooks.page_hooks import hooks_from_arguments

    return hooks_from_arguments(given)


def _content_types(more: list[str], no_documents: bool) -> tuple[str, ...] | None:
    from orienteer.responses.reading import HTML_TYPES, READ_TYPES

    if no_documents:
        return (*HTML_TYPES, *more)
    return (*READ_TYPES, *more) if more else None
