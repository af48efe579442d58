"""`orienteer compare` and `topic compare`: compare policies on one graph, focused ones by the relevant pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from orienteer.cli import display, graph_options
from orienteer.cli.command import GRAPHS, POLICIES, RESEARCH, command
from orienteer.cli.graph_options import loaded_web
from orienteer.cli.options import PROCESSES
from orienteer.errors import InputError
from orienteer.graph.defaults import DAMPING
from orienteer.wording import counted

if TYPE_CHECKING:
    from orienteer.evaluate.harvest import HarvestComparison, Task
    from orienteer.focus.topic_web import TopicWeb
    from orienteer.graph.link_graph import LinkGraph
    from orienteer.policies.policy import Policy
    from orienteer.policies.policy_spec import PolicySpec
    from orienteer.progress import Progress

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


class HarvestTask(NamedTuple):
    """The graph to compare on, and its relevant pages by labels, by a topic, or by both."""

    web: Path
    labels: Path | None
    topic: Path | None
    start: str | None
    format: str | None
    processes: int | None = None  # to read pages in


@command(RESEARCH, "topic compare")
def compare_on_topic(
    web: Path = typer.Argument(metavar="GRAPH", help="Graph folder or file, crawl folder, or WARC files."),
    labels: Path | None = typer.Option(
        None, help="File of lines PAGE RELEVANCE (0 to 1; other pages: 0), as a truth, and without --topic as scores."
    ),
    topic: Path | None = typer.Option(
        None, metavar="FILE", help="Topic file (see orienteer topic): the policies see its scores of the pages."
    ),
    policies: str | None = typer.Option(None, help="Policies to compare, such as scent,apprentice; default: all."),
    model: list[Path] = typer.Option(
        [],
        metavar="FILE",
        help="With --topic: a trained context-graph or apprentice (orienteer topic train-policy); may be repeated.",
    ),
    start: str | None = typer.Option(
        None,
        help="The start page, an id or a URL; default: the seeds of the crawl (--topic), or else the most linking one.",
    ),
    plot: list[Path] = typer.Option([], help="Write the curves to this .png or .svg; may be repeated."),
    format: str | None = typer.Option(None, help="Format of GRAPH, if not clear from its name."),
    processes: int | None = PROCESSES,
    json: bool = typer.Option(False, "--json", help="Print JSON, with the curves."),
) -> None:
    """Count the pages that focused policies fetch until the relevant pages are found, by labels or by a topic.

    With --topic on a crawl folder or a WARC file, the policies also see the words of pages and links; pages that were
    not fetched are left out.

    Example: [bold]orienteer topic compare example-crawl --topic courses.toml[/bold]
    """
    if labels is None and topic is None:
        raise InputError("which pages are relevant? Give --topic, --labels or both")
    if topic is None and model:
        raise InputError("--model goes with --topic: without a topic, policies see no words")
    if topic is None and processes is not None:
        raise InputError("--processes goes with --topic: without a topic, no page is read")
    from orienteer.evaluate import harvest, report

    options, specs = HarvestTask(web, labels, topic, start, format, processes), policies_named(policies)
    for path in plot:
        report.checked_target(path)
    trained = _trained(model, specs)
    with display.progress_bar() as progress:
        facts: dict[str, Any] = {}
        if topic is None:
            task = _labelled_task(options, progress)
        else:
            names = [spec.name for spec in specs] or harvest.harvest_policies()
            task, facts = _topic_task(options, topic, names, progress)
        found = harvest.compare_harvests(task, specs, trained, progress=progress)
        written = [str(harvest.write_harvest_plot(found, path)) for path in plot]
    if json:
        display.print_json(found.as_dict() | facts | {"plots": written})
        return
    _print_harvests(found, facts)
    for name in written:
        print(name)


def _trained(models: list[Path], specs: list[PolicySpec]) -> dict[str, Policy]:
    """Return the policies in the model files, by name."""
    from orienteer.policies.trained import trained_policy

    trained: dict[str, Policy] = {}
    for path in models:
        policy = trained_policy(path)
        if policy.name in trained:
            raise InputError(f"--model {path}: there is another model of {policy.name} already")
        if specs and policy.name not in map(str, specs):
            raise InputError(f"--model {path}: {policy.name} is not among the policies compared")
        trained[policy.name] = policy
    return trained


def _labelled_task(options: HarvestTask, progress: Progress) -> Task:
    """Return a task whose labels are both the truth and the relevance that policies see."""
    from orienteer.evaluate.harvest import Task
    from orienteer.graph.page_names import page_named
    from orienteer.seeds.value import values_in_file

    assert options.labels is not None
    web = loaded_web(options.web, options.format, progress)
    relevance = values_in_file(web, options.labels, unnamed=0.0)
    start = _most_linking(web) if options.start is None else page_named(web, options.start)
    return Task.of(web, start, relevance, name=options.labels.name)


def _topic_task(
    options: HarvestTask, path: Path, policies: list[str], progress: Progress
) -> tuple[Task, dict[str, Any]]:
    """Return a task where policies see the scores of the topic, the truth unless there are labels; and facts."""
    from orienteer.evaluate.harvest import TARGET, Task
    from orienteer.focus.topic_web import topic_web
    from orienteer.ledger.topic_reading import LoadedTopic
    from orienteer.policies.policy import POLICIES
    from orienteer.seeds.value import values_in_file

    kinds = [POLICIES.find(name) for name in policies]
    known = topic_web(
        options.web,
        LoadedTopic(path),
        format=options.format,
        reads_links=any(getattr(kind, "reads_links", False) for kind in kinds),
        reads_pages=any(getattr(kind, "reads_pages", False) for kind in kinds),
        processes=options.processes,
        progress=progress,
    )
    graph, scores, text = known.web
    start = (
        known.seeds.tolist() or [_most_linking(graph)] if options.start is None else [known.page_named(options.start)]
    )
    facts: dict[str, Any] = {"n_left_out": known.n_left_out, "has_words": text is not None}
    if options.labels is None:
        return Task.of(graph, start, known.relevance, scores, text, path.name, known.threshold), facts
    truth = values_in_file(known.whole, options.labels, unnamed=0.0)[known.pages]
    task = Task.of(graph, start, truth, scores, text, options.labels.name)
    return task, facts | _quality(known, truth >= TARGET)


def _most_linking(web: LinkGraph) -> int:
    return int(web.out_degrees().argmax()) if web.n_pages else 0


def _quality(known: TopicWeb, is_target: Any) -> dict[str, Any]:
    """Return precision and recall of the topic against the labels."""
    found = known.relevance >= known.threshold
    n_right, n_found, n_targets = int((found & is_target).sum()), int(found.sum()), int(is_target.sum())
    return {
        "precision": round(n_right / n_found, 4) if n_found else None,
        "recall": round(n_right / n_targets, 4) if n_targets else None,
    }


def _print_harvests(found: HarvestComparison, facts: dict[str, Any]) -> None:
    out = display.console()
    out.print(
        f"{found.n_targets:,} relevant pages among the {found.n_reached:,} that can be reached "
        f"({found.n_pages:,} in all)."
    )
    for line in _remarks(facts):
        out.print(line)
    headings = [("policy", False), ("area", True), ("pages to 50 %", True), ("pages to 90 %", True), ("CPU s", True)]
    table = display.columns_table(None, *headings)
    for result in found.results:
        counts = (f"{count:,}" for count in result.pages_until)
        name = result.policy + (" (untrained)" if result.is_untrained else "")
        table.add_row(name, f"{result.area:.3f}", *counts, f"{result.cpu_s:.2f}")
    out.print(table)
    out.print(
        f"area: mean share of the relevant pages found, over all pages fetched; the best there can be is "
        f"{found.best_area:.3f}."
    )
    if any(result.is_untrained for result in found.results):
        out.print("untrained: not trained on other sites (see orienteer topic train-policy), so it is breadth-first.")


def _remarks(facts: dict[str, Any]) -> list[str]:
    """Return lines about the topic: pages left out, missing texts, precision and recall."""
    lines = []
    if facts.get("n_left_out"):
        lines.append(f"Left out: {counted(facts['n_left_out'], 'page')} that were not fetched.")
    if facts.get("has_words") is False:
        lines.append("There are no texts, so the policies see no words.")
    if "precision" in facts:
        percents = ["–" if facts[name] is None else f"{100 * facts[name]:.0f} %" for name in ("precision", "recall")]
        lines.append(f"The policies see the topic, with precision {percents[0]} and recall {percents[1]}.")
    return lines
