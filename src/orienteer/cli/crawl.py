"""`orienteer crawl`: fetch a part of the web into a crawl folder."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display
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
from orienteer.progress import silent

if TYPE_CHECKING:
    from orienteer.hooks.hook_names import Hook
    from orienteer.ledger.plan import CrawlPlan
    from orienteer.live.figures import Figures

_GOAL, _SEEDS, _SCOPE, _POLITE, _NET, _OUTPUT = "Goal", "Seeds", "Scope", "Politeness", "Network", "Output"
_RENDER = "Browser"
_ANY_PAGE = "https://example.org/"
_FOCUSED = "scent"  # the policy of a crawl with a topic, where none is named


def crawl(
    places: list[str] = typer.Argument(None, metavar="URL...|DIR", help="Where to start; or a crawl folder to resume."),
    output: Path | None = typer.Option(None, "--output", "-o", help="The crawl folder; default: named after the host."),
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
        help="What to fetch next, such as fractional:inter_host_weight=20 or apprentice:model=FILE.",
        rich_help_panel=_GOAL,
    ),
    topic: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="Look for the pages of this topic (see orienteer topic); policy scent, if none is named.",
        rich_help_panel=_GOAL,
    ),
    refresh: bool = typer.Option(
        False, "--refresh", help="Fetch the pages of a crawl folder again: what is new, what has changed."
    ),
    by_certificate: bool | None = typer.Option(
        None, "--by-certificate", help="Stop by the certificate, whatever the policy.", rich_help_panel=_GOAL
    ),
    damping: float | None = typer.Option(None, help="Chance that a surfer follows a link.", rich_help_panel=_GOAL),
    seeds_path: Path | None = typer.Option(
        None,
        "--seeds-from",
        metavar="DIR|GRAPH",
        help="Start from pages chosen from another crawl, or from a graph with URLs; pages that are named as well "
        "come first. The scope is that of all of them.",
        rich_help_panel=_SEEDS,
    ),
    n_seeds: int | None = typer.Option(
        None, help="How many to choose (10), with --seeds-from or --refresh.", rich_help_panel=_SEEDS
    ),
    seed_hops: int | None = typer.Option(
        None, help="Choose those that cover the most within this many links (5).", rich_help_panel=_SEEDS
    ),
    seed_method: str | None = typer.Option(
        None, help="How to choose them, as orienteer seeds --method (greedy).", rich_help_panel=_SEEDS
    ),
    seed_value: str | None = typer.Option(
        None,
        metavar="FILE|paper",
        help="What pages are worth, as orienteer seeds --value (paper for a crawl, 1 for a graph).",
        rich_help_panel=_SEEDS,
    ),
    trust_by: str | None = typer.Option(
        None,
        help="Give all seeds the same trust (uniform), or trust in proportion to the value that each adds (value).",
        rich_help_panel=_SEEDS,
    ),
    scope: str | None = typer.Option(
        None, help="host, site, prefix (the seeds' folders) or web.", rich_help_panel=_SCOPE
    ),
    allow: list[str] = typer.Option(
        [], help="Only URLs that match this pattern (a regular expression).", rich_help_panel=_SCOPE
    ),
    deny: list[str] = typer.Option(
        [], help="No URL that matches this pattern (a regular expression).", rich_help_panel=_SCOPE
    ),
    max_depth: int | None = typer.Option(
        None, help="At most this many links away from a seed.", rich_help_panel=_SCOPE
    ),
    content_type: list[str] = typer.Option(
        [],
        help="What to keep in addition to HTML, plain text, feeds and documents (PDF, Office, EPUB), such as image/*.",
        rich_help_panel=_SCOPE,
    ),
    no_documents: bool = typer.Option(
        False, "--no-documents", help="Keep HTML only, and what --content-type names.", rich_help_panel=_SCOPE
    ),
    duplicates: str | None = typer.Option(
        None, help="Exact duplicates: report, merge (into the page seen first) or off.", rich_help_panel=_SCOPE
    ),
    near_duplicates: str | None = typer.Option(
        None, help="Pages with nearly the same text: report, merge or off.", rich_help_panel=_SCOPE
    ),
    delay: float | None = typer.Option(
        None, help="Seconds between two requests to a host (1).", rich_help_panel=_POLITE
    ),
    connections: int | None = typer.Option(None, help="Requests to a host at once (1).", rich_help_panel=_POLITE),
    user_agent: str | None = typer.Option(
        None, help="The User-Agent; say how you can be reached.", rich_help_panel=_POLITE
    ),
    ignore_robots: bool | None = typer.Option(
        None, "--ignore-robots", help="Ignore robots.txt: for your own hosts only.", rich_help_panel=_POLITE
    ),
    sitemaps: bool | None = typer.Option(
        None, help="Read the sitemaps that robots.txt names, or /sitemap.xml.", rich_help_panel=_POLITE
    ),
    workers: int | None = typer.Option(None, help="Requests in flight at once (32).", rich_help_panel=_NET),
    processes: int | None = typer.Option(
        None,
        help="Processes that fetch and read pages. 1: all in one process. Default: more are started when one is busy.",
        rich_help_panel=_NET,
    ),
    on: str | None = typer.Option(
        None,
        metavar="PLACE",
        help="Where those processes run (extra: ray): local-ray, or the Ray cluster at HOST:PORT. For this run only.",
        rich_help_panel=_NET,
    ),
    fetcher: str | None = typer.Option(
        None,
        metavar="NAME",
        help="What fetches: libcurl, archive:path=DIR (what another crawl has archived), or a plug-in.",
        rich_help_panel=_NET,
    ),
    access: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="Headers, cookies, certificates and logins, by host, from a TOML file outside the crawl folder. They are "
        "kept nowhere: name it again to resume.",
        rich_help_panel=_NET,
    ),
    render: str | None = typer.Option(
        None,
        metavar="auto|never|always|PATTERN",
        help="Which pages are shown in a browser: those that scripts make (auto), never, always, or a URL pattern.",
        rich_help_panel=_RENDER,
    ),
    scroll: int | None = typer.Option(
        None,
        metavar="N",
        help="Scroll such a page up to this many times, or press its button for more (2).",
        rich_help_panel=_RENDER,
    ),
    screenshots: bool | None = typer.Option(
        None, "--screenshots", help="Keep a picture of each page that is shown.", rich_help_panel=_RENDER
    ),
    browser: Path | None = typer.Option(
        None,
        metavar="PATH",
        help="The browser, any Chromium. Default: the one that is found. For this run only.",
        rich_help_panel=_RENDER,
    ),
    timeout: float | None = typer.Option(None, help="Seconds a page may take (30).", rich_help_panel=_NET),
    max_size: int | None = typer.Option(None, help="Largest size of a page, in bytes (10 MiB).", rich_help_panel=_NET),
    max_document_size: int | None = typer.Option(
        None, help="Largest size of a PDF or another document, in bytes (32 MiB).", rich_help_panel=_NET
    ),
    proxy: str | None = typer.Option(None, help="A proxy, such as http://localhost:3128.", rich_help_panel=_NET),
    connect_to: str | None = typer.Option(
        None, metavar="HOST:PORT", help="Connect there, whatever the URL says: a web on loopback.", rich_help_panel=_NET
    ),
    allow_private: bool | None = typer.Option(
        None, "--allow-private", help="Allow private, loopback and link-local addresses.", rich_help_panel=_NET
    ),
    requisites: bool | None = typer.Option(
        None,
        "--requisites/--no-requisites",
        help="Also keep the pictures, styles, fonts, scripts and frames of pages, from any host.",
        rich_help_panel=_OUTPUT,
    ),
    max_part_size: int | None = typer.Option(
        None, help="Largest size of each of these, in bytes (20 MiB).", rich_help_panel=_OUTPUT
    ),
    archive_to: str | None = typer.Option(
        None,
        metavar="URL",
        help="Keep the archive in an object store, such as s3://bucket/prefix (extra: storage).",
        rich_help_panel=_OUTPUT,
    ),
    drop_local: bool | None = typer.Option(
        None,
        "--drop-local/--keep-local",
        help="Delete files of the archive here once their upload is confirmed.",
        rich_help_panel=_OUTPUT,
    ),
    hook: list[str] = HOOK,
    no_hooks: bool = typer.Option(False, "--no-hooks", help="Run no hooks, even if the crawl was started with some."),
    settings: Path | None = typer.Option(None, help="A TOML file with any settings, as in crawl.toml."),
    index: bool = typer.Option(
        False, "--index", help="Make it searchable, while it runs and at the end.", rich_help_panel=_OUTPUT
    ),
    metrics: int | None = typer.Option(
        None, metavar="PORT", help="Serve figures for Prometheus (extra: metrics).", rich_help_panel=_OUTPUT
    ),
    json: bool = typer.Option(False, "--json", help="Print the report as JSON.", rich_help_panel=_OUTPUT),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No display.", rich_help_panel=_OUTPUT),
) -> None:
    """Crawl the web from start pages: politely, durably, until enough is fetched.

    With --until the coverage is measured by random walks, and proved; the crawl stops by whichever comes first.

    Run the same command again to resume, after any kind of stop. Ctrl-C finishes what is under way;
    a second Ctrl-C stops at once.

    With --refresh an epoch begins, or goes on if it was interrupted: new seeds are chosen from what is known, pages
    that may have changed are asked for, and servers may say that they have not. What is missing is kept for some days.

    Hooks are kept by name: a crawl that is resumed runs those that are installed again. A file must be named again.

    With --access pages behind a login are fetched. Where the crawl is logged out and cannot log in again, it pauses
    with exit code 3, and keeps no page of the login.

    Pages that scripts make are shown in a browser that has no network of its own: what they need is fetched by the
    crawl, as robots.txt allows. With --render never, or where there is no browser, their links count as not known.

    Exit code 0: the goal was reached (the coverage, or else the budget, or else all there is); 3: it was not.
    Where too much is blocked (robots.txt, errors) to prove the coverage, the crawl says so at once, and ends with
    code 3 when the coverage holds of what is reachable. With --of-reachable that is the goal.

    Example: [bold]orienteer crawl https://example.org --until 0.98 -o example[/bold]
    """
    from orienteer.cli.metrics_server import check_metrics

    check_metrics(metrics)
    goal = GoalOptions.of(until, budget)
    given: dict[str, dict[str, Any]] = {
        "crawl": {
            "policy": policy, "damping": damping, "until": goal.until, "budget": goal.budget,
            "by_certificate": by_certificate, "of_reachable": of_reachable, "confidence": confidence, "proof": proof,
            "workers": workers, "processes": processes, "sitemaps": sitemaps,
            "robots": None if ignore_robots is None else not ignore_robots,
            "duplicates": duplicates, "near_duplicates": near_duplicates, "requisites": requisites,
        },
        "scope": {"kind": scope, "allow": tuple(allow) or None, "deny": tuple(deny) or None, "max_depth": max_depth},
        "politeness": {"delay_s": delay, "connections": connections},
        "fetch": {
            "fetcher": fetcher, "user_agent": user_agent, "timeout_s": timeout, "max_body_bytes": max_size,
            "proxy": proxy, "connect_to": connect_to, "allow_private": allow_private,
            "content_types": _content_types(content_type, no_documents), "max_document_bytes": max_document_size,
            "max_part_bytes": max_part_size,
        },
        "render": {"mode": render, "scrolls": scroll, "screenshots": screenshots},
        "store": {"archive_to": archive_to, "drop_local": drop_local},
    }  # fmt: skip
    if topic is not None:
        given["crawl"] |= {"topic": True, "policy": policy or _FOCUSED}
    choice: dict[str, Any] = {"n_seeds": n_seeds, "hops": seed_hops, "method": seed_method}
    if refresh:
        given["refresh"], choice = choice, {}
        _expect_crawl(places or [], output, seeds_path)
    from orienteer.hooks.hook_names import names_of

    hooks = _hooks(hook, no_hooks)
    given["crawl"]["hooks"] = names_of(hooks)
    start = seeds_from(seeds_path, choice | {"value": seed_value, "trust_by": trust_by}, None if quiet or json else say)
    folder, plan = _planned(places or [], output, settings, given, start, goal)
    run(folder, plan, metrics, json, quiet, refresh, topic, index, hooks, on, access, str(browser or ""))


def run(
    folder: Path, plan: CrawlPlan, metrics: int | None = None, json: bool = False, quiet: bool = False,
    refresh: bool = False, topic: Path | None = None, index: bool = False,
    hooks: Sequence[Hook] | None = None, on: str | None = None, access: Path | None = None, browser: str = "",
) -> None:  # fmt: skip
    """Run a crawl with display, metrics and signals, and tell what came of it."""
    from orienteer.cli.indexing_beside import indexed_at_the_end, indexed_beside, print_indexed

    is_new = not (folder / "crawl.db").exists()
    with ExitStack() as stack:
        # Before anything is opened: a port that is taken is known at once.
        from orienteer.cli import crawl_display, metrics_server

        publish = stack.enter_context(metrics_server.serving(metrics))
        if metrics == 0:
            say(f"metrics: http://127.0.0.1:{publish.port}/metrics")
        with waiting(folder, quiet or json):
            from orienteer.access.access_file import read_access
            from orienteer.live import session
            from orienteer.live.seed_check import nothing_crawled

            granted = None if access is None else read_access(access, folder)
            with display.progress_bar() as progress:
                shown = silent if quiet or json else progress
                opened = session.opened(folder, plan, refresh, None, shown, topic, hooks, on, granted, browser)
                live = stack.enter_context(opened)
        if live.ledger.folder.upgrade is not None:
            say(live.ledger.folder.upgrade)
        if granted is not None and not quiet and not granted.concerns(plan.crawl.seeds):
            say(f"--access: no start page is at {', '.join(granted.origins)}; http and https are different")
        stack.enter_context(stoppable(live))
        index_if_due = stack.enter_context(indexed_beside(folder, index))
        with crawl_display.shown(folder, quiet) as show:

            def watch(figures: Figures) -> None:
                show(figures, live.stop_wanted)
                publish(figures)
                index_if_due()

            report = session.run(live, watch, None if quiet else say)
        if is_new and not report.has_pages and not report.stopped_because.is_pause:
            raise nothing_crawled(report.lost_seeds)  # the folder is removed with it
    is_over = not report.stopped_because.is_pause
    indexed = indexed_at_the_end(folder, quiet or json, plan.crawl.processes or None) if index and is_over else None
    with display.ignore_broken_pipe():
        if json:
            display.print_json(report.as_dict() | ({} if indexed is None else {"index": indexed.as_dict()}))
        else:
            crawl_display.print_report(report, quiet, is_indexed=index)
            if index:
                print_indexed(folder, indexed)
    if not report.goal_reached:
        raise typer.Exit(3)


def _planned(
    places: list[str],
    output: Path | None,
    settings: Path | None,
    given: dict[str, dict[str, Any]],
    start: SeedsFrom | None,
    goal: GoalOptions,
) -> tuple[Path, CrawlPlan]:
    """The folder and the plan; `given` are the options."""
    from orienteer.ledger.plan import canonical_seeds
    from orienteer.store.folder_files import settings_of_folder

    continues = len(places) == 1 and output is None and Path(places[0]).is_dir()
    seeds = () if continues else canonical_seeds([_expect_url(place) for place in places])
    folder = Path(places[0]) if continues else output or _named_after(seeds)
    stored = None if folder is None else settings_of_folder(folder)
    if start is not None and folder is not None and stored is not None:
        start.continued(folder, stored, seeds)
        seeds = ()
    elif start is not None and not continues:
        # It may take long to choose seeds: what is wrong with the other settings is said before.
        given["crawl"] |= {"seeds": (_ANY_PAGE,), "trust": ()}
        crawl_plan(None, None, settings, given, goal)
        chosen = start.chosen(seeds)
        seeds, given["crawl"]["trust"] = chosen.seeds, chosen.trust
        folder = folder or _named_after(seeds)
        stored = None if folder is None else settings_of_folder(folder)
    if folder is None:
        raise InputError("where to start? Name a page, such as https://example.org, or a crawl folder to resume")
    if seeds:
        given["crawl"]["seeds"] = seeds
    return folder, crawl_plan(folder, stored, settings, given, goal)


def _expect_url(place: str) -> str:
    """A page as somebody typed it; what looks like the name of a folder is none.

    `localhost:8000` and addresses of this machine are asked by http, where no scheme says otherwise.
    """
    if "://" in place:
        return place
    host = place.partition("/")[0]
    if place.startswith(("/", ".", "~")) or not ("." in host or ":" in host or host == "localhost"):
        raise InputError(f"{place}: no such crawl folder; to begin a crawl, name a page, such as https://example.org")
    is_this_machine = host.partition(":")[0] == "localhost" or host.startswith(("127.", "[::1]"))
    return f"http://{place}" if is_this_machine else place


def _expect_crawl(places: list[str], output: Path | None, seeds_path: Path | None) -> None:
    """What a refresh needs is a crawl folder, and nothing else to start from."""
    from orienteer.store.folder_files import settings_of_folder

    if seeds_path is not None:
        raise InputError("--refresh chooses seeds from its own crawl folder; --seeds-from is for a new crawl")
    place = output or (places[0] if places else None)
    if place is None:
        raise InputError("--refresh: which crawl? Name its folder")
    if settings_of_folder(Path(place)) is None:
        raise InputError(f"--refresh: {place} is not a crawl folder, so there is nothing to refresh")


def _named_after(seeds: tuple[str, ...]) -> Path | None:
    """The folder of a crawl from these pages, where no other is named."""
    from orienteer.url import host_of

    return Path(host_of(seeds[0]).replace(":", "-") + "-crawl") if seeds else None


def crawl_plan(
    folder: Path | None,
    stored: str | None,
    settings: Path | None,
    given: dict[str, dict[str, Any]],
    goal: GoalOptions,
) -> CrawlPlan:
    """What the folder was made with, the settings file over it, the options over both."""
    from orienteer.ledger.permission import expect_allowed
    from orienteer.ledger.plan import CrawlPlan, tables_of
    from orienteer.settings import merged

    settings_path = (folder or Path()) / "crawl.toml"
    tables = [tables_of(stored, str(settings_path))] if stored is not None else []
    if settings is not None:
        tables.append(tables_in(settings))
    where = str(settings) if settings is not None else str(settings_path)
    merged_tables = merged(goal.kept(merged(*tables)), given)
    if not merged_tables.get("crawl", {}).get("seeds"):
        raise InputError(f"{folder} is not a crawl folder; to begin a crawl, name the pages to start from")
    plan = CrawlPlan.of_tables(merged_tables, where)
    if folder is not None and stored is not None:
        expect_allowed(folder, CrawlPlan.parse(stored, str(settings_path)), *tables[1:], given)
    return plan


def _hooks(given: list[str], none: bool) -> tuple[Hook, ...] | None:
    """The hooks that the options name; None where they say nothing."""
    if given and none:
        raise InputError("--hook and --no-hooks contradict each other")
    if not given:
        return () if none else None
    from orienteer.hooks.hook_names import hooks_given

    return hooks_given(given)


def _content_types(more: list[str], no_documents: bool) -> tuple[str, ...] | None:
    from orienteer.answers.reading import HTML_TYPES, READ_TYPES

    if no_documents:
        return (*HTML_TYPES, *more)
    return (*READ_TYPES, *more) if more else None
