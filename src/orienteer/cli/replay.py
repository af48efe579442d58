"""`orienteer replay`: crawl an archive with another policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from orienteer.cli import display, graph_options
from orienteer.cli.command import POLICIES, RESEARCH, command
from orienteer.cli.options import GRAPH_GOAL
from orienteer.cli.settings_options import with_fields
from orienteer.ledger.settings import CrawlSettings
from orienteer.pages.stop_reason import StopReason
from orienteer.wording import goal_share


@command(RESEARCH, plugins={"--policy": POLICIES})
@with_fields("goal", CrawlSettings, "until", "budget", "stop_when", defaults=GRAPH_GOAL)
def replay(
    source: Path = typer.Argument(help="A crawl folder, a WARC or WACZ file, or a folder of them."),
    policy: str | None = typer.Option(None, "--policy", "-p", help="Crawl policy; default: as in the crawl."),
    *,
    goal: dict[str, Any],
    rng: int = typer.Option(0, min=0, help="Random seed of the walks that measure."),
    seed: list[str] = typer.Option([], help="Start URL, for archives without a crawl folder; may be repeated."),
    order_out: Path | None = typer.Option(None, help=graph_options.ORDER_HELP),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Replay a crawl from its archive, without network access, to see what another policy would have fetched.

    Pages that are missing in the archive are skipped, and count as not fetched.

    Exit code 0: the goal is reached; 3: the replay ended before the coverage was reached.

    Example: [bold]orienteer replay example-crawl --policy fractional --until 0.95[/bold]
    """
    from orienteer.crawl.goal import Goal
    from orienteer.inspect.replay import replay as replayed
    from orienteer.inspect.survey_progress import describe_measured

    graph_options.check_place(order_out)
    wanted = Goal.parse(**goal)
    with display.progress_bar() as progress:
        result = replayed(
            source, policy, wanted.until, wanted.budget, by_certificate=wanted.by_certificate,
            of_reachable=wanted.of_reachable, confidence=wanted.confidence, rng=rng, seeds=seed, progress=progress,
        )  # fmt: skip
        if order_out is not None:
            graph_options.write_order(order_out, result.order, result.urls)
    facts = {
        "policy": result.policy,
        "n_fetched": len(result.order),
        "n_missing": result.n_missing,
        "n_blocked": result.n_blocked,
        "stopped_because": result.stopped_because,
        "ending": result.ending,
        "goal_reached": result.ending.goal_reached,
        "certificate": result.certificate.as_dict(),
        "measured": None if result.measured is None else result.measured.as_dict(),
    }
    if json:
        display.print_json(facts)
    else:
        table = display.facts_table()
        table.add_row("policy", result.policy)
        table.add_row("pages done", f"{len(result.order):,}")
        table.add_row("never fetched", f"{result.n_missing - result.n_blocked:,}")
        table.add_row("blocked in the crawl", f"{result.n_blocked:,}")
        before = "" if result.ending.is_success else ", before its goal"
        table.add_row("stopped because", result.stopped_because + before)
        table.add_row("certificate", str(result.certificate))
        if wanted.until is not None and result.measured is not None and result.stopped_because == StopReason.MEASURED:
            table.add_row("measured", describe_measured(result.measured, goal_share(wanted.until)))
        display.console().print(table)
    if not result.ending.is_success:
        raise typer.Exit(3)
