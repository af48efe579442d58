"""`orienteer simulate`: a crawl of a graph that is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display, order_file, trust_option
from orienteer.cli.web_argument import loaded_web, url_of
from orienteer.errors import InputError
from orienteer.graph.page_names import page_named

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from orienteer.crawl.goal import Goal
    from orienteer.crawl.trace import Explanation, Trace
    from orienteer.evaluate.cost import Cost
    from orienteer.frontier.politeness import Politeness
    from orienteer.graph.link_graph import LinkGraph
    from orienteer.graph.survey.measured import Measured
    from orienteer.policies.policy import Policy
    from orienteer.progress import Progress

_SOURCES_SHOWN = 10


def simulate(
    graph: Path = typer.Argument(help="Graph folder or file, or crawl folder."),
    policy: str = typer.Option(
        "certified", "--policy", "-p", help="What to fetch next, such as windowed-rankmass:window=0.05."
    ),
    settings: list[str] = typer.Option([], "--set", help="A setting of the policy, as name=value; may be repeated."),
    until: float | None = typer.Option(None, help="Stop when this coverage is proved, such as 0.98."),
    confidence: float | None = typer.Option(
        None,
        help="Also measure by random walks, with this confidence, such as 0.999; stop by what comes first.",
    ),
    rng: int = typer.Option(0, min=0, help="With --confidence: start of the random numbers of the walks."),
    budget: int | None = typer.Option(None, help="Stop after this many pages."),
    by_certificate: bool = typer.Option(
        False, "--by-certificate", help="Stop by the certificate, whatever the policy."
    ),
    trust: str = typer.Option(trust_option.DEFAULT, help=trust_option.HELP),
    damping: float = typer.Option(0.85, help="Chance that a surfer follows a link."),
    workers: int = typer.Option(1, help="Requests in flight at once."),
    delay: float | None = typer.Option(None, help="Pause of a host between two fetches, in virtual seconds."),
    latency: float = typer.Option(0.0, help="Duration of a fetch, in virtual seconds."),
    order_out: Path | None = typer.Option(None, help=order_file.HELP),
    explain: str | None = typer.Option(None, help="Say why this page (id or URL) came when it did."),
    format: str | None = typer.Option(None, help="Format of GRAPH, if the name does not give it."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Crawl a graph with a policy, and say what was proved and what is true.

    Exit code 0: the goal was reached (the coverage, or else the budget, or else all there is); 3: it was not.

    Example: [bold]orienteer simulate web.npz --policy certified --until 0.98[/bold]
    """
    from orienteer.crawl.goal import Goal
    from orienteer.evaluate.compare import warm_up
    from orienteer.frontier.politeness import Politeness
    from orienteer.policies.focused import FocusedPolicy
    from orienteer.policies.policy_spec import PolicySpec

    # What can be wrong without looking at the graph is said before it is read.
    name, _, in_name = policy.partition(":")
    spec = PolicySpec.of_texts(name, [*(part for part in in_name.split(",") if part.strip()), *settings])
    goal = Goal(until, budget, by_certificate, confidence=confidence)
    politeness = None if delay is None else Politeness(delay_s=delay)
    _check_time(workers, latency)
    order_file.check_place(order_out)
    with display.progress_bar() as progress:
        web = loaded_web(graph, format, progress)
        page = None if explain is None else page_named(web, explain)
        weights = trust_option.trust_named(web, trust, progress)
        takes_time = workers > 1 or politeness is not None or latency > 0 or confidence is not None
        warm_up(spec, damping, with_hosts=web.hosts is not None, step_by_step=takes_time)
        chosen = spec.make(damping)
        trace, cost = _run(web, chosen, weights, goal, (workers, politeness, latency), rng, progress)
        facts = {"policy": str(spec)} | _facts(trace, goal, chosen.proves, weights, progress)
        facts["cpu_s"] = round(cost.cpu_s, 4)
        if order_out is not None:
            order_file.write_order(order_out, trace.order, trace.graph.urls)
        explanation = None if page is None else trace.explain(page)
    if json:
        display.print_json(facts if explanation is None else facts | {"explain": _as_dict(web, explanation)})
    else:
        _print_facts(facts, trace.measured)
        if explanation is not None:
            _print_explanation(web, explanation, trace.n_fetched)
        if isinstance(chosen, FocusedPolicy):
            display.console().print(
                f"{spec.name} looks for a topic, and hears of none here: see orienteer compare --topic.", style="dim"
            )
    if not facts["goal_reached"]:
        raise typer.Exit(3)


def _check_time(workers: int, latency: float) -> None:
    if workers < 1:
        raise InputError(f"--workers is {workers}; a crawl needs at least one")
    if not 0 <= latency < float("inf"):
        raise InputError(f"--latency is {latency}; it must be 0 or more seconds")


def _run(
    web: LinkGraph,
    policy: Policy,
    trust: NDArray[np.float64],
    goal: Goal,
    time: tuple[int, Politeness | None, float],
    rng: int,
    progress: Progress,
) -> tuple[Trace, Cost]:
    """Simulate, and measure what it cost."""
    from orienteer.crawl.simulate import simulate as simulated
    from orienteer.evaluate.cost import measured

    workers, politeness, latency = time
    with measured() as cost:
        trace = simulated(
            web, policy, trust, goal.until, goal.budget, by_certificate=goal.by_certificate, workers=workers,
            politeness=politeness, latency_s=latency, confidence=goal.confidence, rng=rng, progress=progress,
        )  # fmt: skip
    return trace, cost


def _facts(trace: Trace, goal: Goal, proves: bool, trust: NDArray[np.float64], progress: Progress) -> dict[str, Any]:
    """What is told of a crawl; the truth beside it is computed here."""
    from orienteer.graph.pagerank import pagerank

    rank = pagerank(trace.graph, trust, trace.damping, 1e-9, progress=progress)
    bounds = trace.certificate
    facts = {
        "n_pages": trace.graph.n_pages,
        "n_links": trace.graph.n_links,
        "n_trusted": int((trust > 0).sum()),
        "damping": trace.damping,
        "until": goal.until,
        "budget": goal.budget,
        "n_fetched": trace.n_fetched,
        "stopped_because": trace.stopped_because,
        "goal_reached": goal.is_reached(trace.stopped_because, trace.n_fetched),
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
    # Step by step only the guarantee that the crawl was stopped by is kept.
    return None if goal.by_certificate else trace.proved


def _print_facts(facts: dict[str, Any], measured: Measured | None) -> None:
    """The figures as people read them."""
    from rich.table import Table

    from orienteer.graph.proved import percent
    from orienteer.inspect.surveyed import measured_in_words
    from orienteer.pages.stop_reason import StopReason
    from orienteer.wording import goal_share

    own, claimed = facts["own_guarantee"], ""
    if facts["stopped_because"] == StopReason.MEASURED:
        claimed = goal_share(facts["until"])
    share = display.share(facts["n_fetched"], facts["n_pages"])
    rows = {
        "policy": facts["policy"],
        "trusted pages": f"{facts['n_trusted']:,}",
        "pages fetched": f"{facts['n_fetched']:,} ({share} of the graph)",
        "stopped because": facts["stopped_because"] + ("" if facts["goal_reached"] else ", before its goal"),
        "policy's own proof": "" if own is None else f"at least {percent(own)}, while it crawled",
        "certificate": f"{facts['certificate']['text']} of all rank: the best that the links prove",
        "measured": "" if measured is None else measured_in_words(measured, claimed),
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


def _as_dict(web: LinkGraph, told: Explanation) -> dict[str, Any]:
    return {
        "page": told.page,
        "url": url_of(web, told.page),
        "position": told.position,
        "frontier_position": told.frontier_position,
        "trust": told.trust,
        "mass": told.mass,
        "sources": [{"page": page, "url": url_of(web, page), "share": share} for page, share in told.sources],
    }


def _print_explanation(web: LinkGraph, told: Explanation, n_fetched: int) -> None:
    out = display.console()
    url = url_of(web, told.page)
    out.print(f"\n[bold]Page {told.page}[/bold]", end="")
    out.print(f" {url}" if url else "", markup=False)
    if told.position is not None:
        out.print(f"It was fetched as number {told.position + 1:,} of {n_fetched:,}.")
    elif told.frontier_position is not None:
        out.print(f"It was not fetched: by mass {told.frontier_position:,} pages of the frontier come before it.")
    else:
        out.print("It was not fetched: no fetched page links to it.")
    when = "when it was fetched" if told.position is not None else "when the crawl ended"
    out.print(f"Its mass {when}: {told.mass:.3g}, of which {told.trust:.3g} is its own trust.")
    if told.sources:
        table = display.columns_table(None, ("share of its mass", True), ("from page", True), ("url", False))
        for page, share in told.sources[:_SOURCES_SHOWN]:
            table.add_row(display.share(share, 1.0), str(page), _plain(url_of(web, page)))
        out.print(table)
        if len(told.sources) > _SOURCES_SHOWN:
            out.print(f"and {len(told.sources) - _SOURCES_SHOWN:,} more fetched pages that link to it")


def _plain(url: str | None) -> str:
    from rich.markup import escape

    return escape(url or "")
