"""`orienteer compare`: compare policies on one graph."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display, graph_options
from orienteer.cli.command import GRAPHS, POLICIES, RESEARCH, command
from orienteer.cli.graph_options import loaded_web
from orienteer.errors import InputError
from orienteer.graph.defaults import DAMPING

if TYPE_CHECKING:
    from rich.table import Table

    from orienteer.evaluate.compare import Comparison, PolicyResult
    from orienteer.policies.policy_spec import PolicySpec

    # A column: its heading, and its cell for a policy.
    Column = tuple[str, Callable[[PolicyResult], str]]

_NEVER = "–"


@command(RESEARCH, plugins={"--policies": POLICIES, "--format": GRAPHS})
def compare(
    graph: Path = typer.Argument(help="Graph folder or file, or crawl folder."),
    policies: str | None = typer.Option(
        None, help="Policies to compare, such as rankmass,windowed-rankmass:window=0.05; default: all."
    ),
    trust: str = typer.Option(graph_options.DEFAULT_TRUST, help=graph_options.TRUST_HELP),
    damping: float = typer.Option(DAMPING, help="Probability that a surfer follows a link."),
    budget: int | None = typer.Option(None, help="Stop each policy after this many pages."),
    levels: str = typer.Option("0.9,0.98,0.99", help="Coverages at which to count the fetches."),
    whole: bool = typer.Option(False, "--full-run", help="Continue after the highest level is proved; can be slow."),
    uniform: bool = typer.Option(False, "--uniform", help="Also count by uniform PageRank; see --full-run."),
    confidence: float | None = typer.Option(
        None,
        help="Also count until random walks have measured the coverage with this confidence, such as 0.999. Slow on "
        "large graphs.",
    ),
    rng: int = typer.Option(0, min=0, help="With --confidence: random seed of the walks."),
    plot: list[Path] = typer.Option(
        [],
        help="NAME.png or NAME.svg: write plots NAME-coverage and NAME-guarantee; may be repeated.",
    ),
    format: str | None = typer.Option(None, help="Format of GRAPH, if not clear from its name."),
    json: bool = typer.Option(False, "--json", help="Print JSON, with the curves."),
) -> None:
    """Count the pages each policy fetches until a share of the rank is covered, and until that is proved.

    For focused policies there is [bold]orienteer topic compare[/bold].

    Example: [bold]orienteer compare web.npz --policies certified,rankmass,breadth-first --plot policies.png[/bold]
    """
    from orienteer.crawl.goal import Goal
    from orienteer.evaluate import compare as comparing

    # Check everything that does not need the graph before reading it.
    specs = policies_named(policies)
    shares = comparing.checked_levels(_numbers(levels))
    Goal(None, budget, confidence=confidence)
    if plot:
        from orienteer.evaluate import report

        for path in plot:
            report.checked_target(path)
    with display.progress_bar() as progress:
        web = loaded_web(graph, format, progress)
        weights = graph_options.trust_named(web, trust, progress)
        found = comparing.compare(
            web, specs, weights, damping=damping, levels=shares, budget=budget, whole=whole, uniform=uniform,
            confidence=confidence, rng=rng, progress=progress,
        )  # fmt: skip
        written = [str(new) for path in plot for new in report.write_plots(found, path)]
    if json:
        display.print_json(found.as_dict() | {"plots": written})
    else:
        _print(found)
        for name in written:
            print(name)


def policies_named(text: str | None) -> list[PolicySpec]:
    """Return the policies of `--policies`; none if it is not given."""
    from orienteer.policies.policy_spec import PolicySpec, split_specs

    if text is None:
        return []
    specs = [PolicySpec.parse(one) for one in split_specs(text)]
    if not specs:
        raise InputError("--policies names no policy; write a,b,c")
    return specs


def _numbers(text: str) -> list[float]:
    try:
        return [float(level) for level in text.split(",") if level.strip()]
    except ValueError:
        raise InputError(f"--levels {text!r}: these must be numbers between 0 and 1, such as 0.9,0.98") from None


def _print(found: Comparison) -> None:
    """Print one table, or one per level if that is too wide."""
    out = display.console()
    groups = [_level_columns(found, k) for k in range(len(found.levels))]
    costs: list[Column] = [
        ("fetched", lambda result: f"{result.n_fetched:,}"),
        ("CPU s", lambda result: f"{result.cost.cpu_s:.2f}"),
        ("MB", lambda result: f"{result.cost.memory_bytes / 1e6:,.1f}"),
    ]
    out.print(
        f"Pages fetched until a share of the rank is reached; {found.n_pages:,} pages, {found.n_trusted:,} trusted."
    )
    one = _table(found, [column for group in [*groups, costs] for column in group])
    if out.measure(one, options=out.options.update(width=1000)).maximum <= out.width:
        out.print(one)
    else:
        for group in [*groups, costs]:
            out.print(_table(found, group))
    is_measured = "measured" in found.measures
    walked = " measured: by random walks, or by the certificate, whichever was first." if is_measured else ""
    out.print(
        "actual: by the true rank of the pages fetched; own: by what the policy itself proves; cert.: by the "
        f"certificate.{walked} {_NEVER}: not in this run, or it proves nothing. CPU and memory are those of the whole "
        "run."
    )


def _level_columns(found: Comparison, k: int) -> list[Column]:
    """Return the columns of one level, one per measure."""

    def column(measure: str) -> Column:
        heading = "cert." if measure == "certified" else measure
        return f"{100 * found.levels[k]:.6g} %\n{heading}", lambda result: _count(result.fetches[measure][k])

    return [column(measure) for measure in found.measures]


def _table(found: Comparison, columns: list[Column]) -> Table:
    table = display.columns_table(None, ("policy", False), *((heading, True) for heading, _ in columns))
    for result in found.results:
        table.add_row(result.policy, *(cell(result) for _, cell in columns))
    return table


def _count(n_fetched: int | None) -> str:
    return _NEVER if n_fetched is None else f"{n_fetched:,}"
