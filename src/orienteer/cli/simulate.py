"""`orienteer simulate` and `replay`: a crawl of a known graph, or of an archive, with any policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display, graph_options
from orienteer.cli.command import GRAPHS, POLICIES, RESEARCH, command
from orienteer.cli.graph_options import loaded_web, url_of
from orienteer.cli.options import GRAPH_GOAL, with_fields
from orienteer.errors import InputError
from orienteer.graph.defaults import DAMPING, POLICY
from orienteer.graph.page_names import page_named
from orienteer.ledger.settings import CrawlSettings
from orienteer.pages.stop_reason import StopReason
from orienteer.wording import goal_share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from orienteer.crawl.goal import Goal
    from orienteer.crawl.politeness import Politeness
    from orienteer.crawl.simulate import Explanation, Trace
    from orienteer.evaluate.metrics import Cost
    from orienteer.graph.link_graph import LinkGraph
    from orienteer.graph.survey.measured import Measured
    from orienteer.policies.policy import Policy
    from orienteer.progress import Progress

_SOURCES_LISTED = 10


@command(RESEARCH, plugins={"--policy": POLICIES, "--format": GRAPHS})
@with_fields("goal", CrawlSettings, "until", "budget", "stop_when", defaults=GRAPH_GOAL)
def simulate(
    graph: Path = typer.Argument(help="Graph folder or file, or crawl folder."),
    policy: str = typer.Option(POLICY, "--policy", "-p", help="Crawl policy, such as windowed-rankmass:window=0.05."),
    settings: list[str] = typer.Option([], "--set", help="Setting of the policy, as name=value; may be repeated."),
    *,
    goal: dict[str, Any],
    rng: int = typer.Option(0, min=0, help="Random seed of the walks that measure."),
    trust: str = typer.Option(graph_options.DEFAULT_TRUST, help=graph_options.TRUST_HELP),
    damping: float = typer.Option(DAMPING, help="Probability that a surfer follows a link."),
    workers: int = typer.Option(1, help="Concurrent requests."),
    delay: float | None = typer.Option(None, help="Delay between two requests to a host, in virtual seconds."),
    latency: float = typer.Option(0.0, help="Duration of a fetch, in virtual seconds."),
    order_out: Path | None = typer.Option(None, help=graph_options.ORDER_HELP),
    explain: str | None = typer.Option(None, help="Explain the position of this page (id or URL) in the crawl order."),
    format: str | None = typer.Option(None, help="Format of GRAPH, if not clear from its name."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Simulate a crawl of a graph with a policy; compare the proved coverage with the true one.

    Exit code 0: the goal is reached (the coverage; without one, the budget, or all pages); 3: it is not.

    Example: [bold]orienteer simulate web.npz --policy certified --until 0.98[/bold]
    """
    from orienteer.crawl.goal import Goal
    from orienteer.crawl.politeness import Politeness
    from orienteer.evaluate.compare import warm_up
    from orienteer.policies.focused import FocusedPolicy
    from orienteer.policies.policy_spec import PolicySpec

    # Check everything that does not need the graph before reading it.
    name, _, in_name = policy.partition(":")
    spec = PolicySpec.of_texts(name, [*(part for part in in_name.split(",") if part.strip()), *settings])
    wanted = Goal.parse(**goal)
    politeness = None if delay is None else Politeness(delay_s=delay)
    _check_time(workers, latency)
    graph_options.check_place(order_out)
    with display.progress_bar() as progress:
        web = loaded_web(graph, format, progress)
        page = None if explain is None else page_named(web, explain)
        weights = graph_options.trust_named(web, trust, progress)
        takes_time = workers > 1 or politeness is not None or latency > 0 or wanted.confidence is not None
        warm_up(spec, damping, with_hosts=web.hosts is not None, step_by_step=takes_time)
        chosen = spec.make(damping)
        trace, cost = _run(web, chosen, weights, wanted, (workers, politeness, latency), rng, progress)
        facts = {"policy": str(spec)} | _facts(trace, wanted, chosen.proves, weights, progress)
        facts["cpu_s"] = round(cost.cpu_s, 4)
        if order_out is not None:
            graph_options.write_order(order_out, trace.order, trace.graph.urls)
        explanation = None if page is None else trace.explain(page)
    if json:
        display.print_json(facts if explanation is None else facts | {"explain": _as_dict(web, explanation)})
    else:
        _print_facts(facts, trace.measured)
        if explanation is not None:
            _print_explanation(web, explanation, trace.n_fetched)
        if isinstance(chosen, FocusedPolicy):
            display.console().print(
                f"{spec.name} is a focused policy, and this simulation has no topic: see orienteer topic compare.",
                style="dim",
            )
    if not facts["ending"].is_success:
        raise typer.Exit(3)


def _check_time(workers: int, latency: float) -> None:
    if workers < 1:
        raise InputError("--workers: 1 or more")
    if not 0 <= latency < float("inf"):
        raise InputError("--latency: 0 or more seconds")


def _run(
    web: LinkGraph,
    policy: Policy,
    trust: NDArray[np.float64],
    goal: Goal,
    time: tuple[int, Politeness | None, float],
    rng: int,
    progress: Progress,
) -> tuple[Trace, Cost]:
    """Simulate the crawl, and measure its cost."""
    from orienteer.crawl.simulate import simulate as simulated
    from orienteer.evaluate.metrics import measured

    workers, politeness, latency = time
    by_certificate = goal.by_certificate or goal.of_reachable  # all pages of a graph are reachable
    with measured() as cost:
        trace = simulated(
            web, policy, trust, goal.until, goal.budget, by_certificate=by_certificate, workers=workers,
            politeness=politeness, latency_s=latency, confidence=goal.confidence, rng=rng, progress=progress,
        )  # fmt: skip
    return trace, cost


def _facts(trace: Trace, goal: Goal, proves: bool, trust: NDArray[np.float64], progress: Progress) -> dict[str, Any]:
    """Return the facts about a crawl, with the true coverage, computed here."""
    from orienteer.graph.pagerank import pagerank

    rank = pagerank(trace.graph, trust, trace.damping, 1e-9, progress=progress)
    bounds, ending = trace.certificate, goal.ending(trace.stopped_because)
    facts = {
        "n_pages": trace.graph.n_pages,
        "n_links": trace.graph.n_links,
        "n_trusted": int((trust > 0).sum()),
        "damping": trace.damping,
        "until": goal.until,
        "budget": goal.budget,
        "n_fetched": trace.n_fetched,
        "stopped_because": trace.stopped_because,
        "ending": ending,
        "goal_reached": ending.goal_reached,
        "own_guarantee": _own_guarantee(trace, proves, goal),
        "certificate": {"lower": bounds.lower, "upper": bounds.upper, "text": str(bounds)},
        "measured": None if trace.measured is None else trace.measured.as_dict(),
        "true_coverage": float(rank[trace.order].sum()),
        "n_pushes": trace.n_pushes,
        "n_links_read": trace.n_links_read,
    }
    if trace.times_s is not None:
        facts["virtual_s"] = float(trace.times_s[-1]) if trace.n_fetched else 0.0
    return facts


def _own_guarantee(trace: Trace, proves: bool, goal: Goal) -> float | None:
    if not proves or trace.n_fetched == 0:
        return None
    if trace.guarantees is not None:
        return float(trace.guarantees[-1])
    # A step-by-step crawl stores only the guarantee that it was stopped by.
    return None if goal.by_certificate else trace.proved


def _print_facts(facts: dict[str, Any], measured: Measured | None) -> None:
    """Print the figures as a table."""
    from rich.table import Table

    from orienteer.graph.proved import percent
    from orienteer.inspect.survey_progress import describe_measured

    own, claimed = facts["own_guarantee"], ""
    if facts["stopped_because"] == StopReason.MEASURED:
        claimed = goal_share(facts["until"])
    share = display.share(facts["n_fetched"], facts["n_pages"])
    rows = {
        "policy": facts["policy"],
        "trusted pages": f"{facts['n_trusted']:,}",
        "pages fetched": f"{facts['n_fetched']:,} ({share} of the graph)",
        "stopped because": facts["stopped_because"] + ("" if facts["ending"].is_success else ", before its goal"),
        "policy's own proof": "" if own is None else f"at least {percent(own)}, while it crawled",
        "certificate": f"{facts['certificate']['text']} of all rank: the best that the links prove",
        "measured": "" if measured is None else describe_measured(measured, claimed),
        "true coverage": f"{100 * facts['true_coverage']:.2f} % (known in a simulation only)",
        "pushes": f"{facts['n_pushes']:,}, which read {facts['n_links_read']:,} links" if facts["n_pushes"] else "",
        "CPU time": f"{facts['cpu_s']:.2f} s",
        "virtual time": f"{facts['virtual_s']:,.1f} s" if facts.get("virtual_s") else "",
    }
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    for name, figure in rows.items():
        if figure:
            table.add_row(name, figure)
    display.console().print(table)


def _as_dict(web: LinkGraph, explanation: Explanation) -> dict[str, Any]:
    return {
        "page": explanation.page,
        "url": url_of(web, explanation.page),
        "position": explanation.position,
        "frontier_position": explanation.frontier_position,
        "trust": explanation.trust,
        "mass": explanation.mass,
        "sources": [{"page": page, "url": url_of(web, page), "share": share} for page, share in explanation.sources],
    }


def _print_explanation(web: LinkGraph, explanation: Explanation, n_fetched: int) -> None:
    out = display.console()
    url = url_of(web, explanation.page)
    out.print(f"\n[bold]Page {explanation.page}[/bold]", end="")
    out.print(f" {url}" if url else "", markup=False)
    if explanation.position is not None:
        out.print(f"It was fetched as number {explanation.position + 1:,} of {n_fetched:,}.")
    elif explanation.frontier_position is not None:
        out.print(
            f"It was not fetched: by mass {explanation.frontier_position:,} pages of the frontier come before it."
        )
    else:
        out.print("It was not fetched: no fetched page links to it.")
    when = "when it was fetched" if explanation.position is not None else "when the crawl ended"
    out.print(f"Its mass {when}: {explanation.mass:.3g}, of which {explanation.trust:.3g} is its own trust.")
    if explanation.sources:
        table = display.columns_table(None, ("share of its mass", True), ("from page", True), ("url", False))
        for page, share in explanation.sources[:_SOURCES_LISTED]:
            table.add_row(display.share(share, 1.0), str(page), _plain(url_of(web, page)))
        out.print(table)
        if len(explanation.sources) > _SOURCES_LISTED:
            out.print(f"and {len(explanation.sources) - _SOURCES_LISTED:,} more fetched pages that link to it")


def _plain(url: str | None) -> str:
    from rich.markup import escape

    return escape(url or "")


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
