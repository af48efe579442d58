"""`orienteer compare GRAPH --labels FILE`: how soon focused policies find the relevant pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from orienteer.cli import display
from orienteer.cli.web_argument import loaded_web

if TYPE_CHECKING:
    from orienteer.evaluate.harvest import HarvestComparison
    from orienteer.graph.link_graph import LinkGraph
    from orienteer.policies.policy_spec import PolicySpec


def compare(
    graph: Path,
    labels: Path,
    start: str | None,
    specs: list[PolicySpec],
    plots: list[Path],
    format: str | None,
    json: bool,
) -> None:
    """Read, crawl, print."""
    from orienteer.evaluate import harvest, harvest_plot, report
    from orienteer.seeds.value import values_in_file

    for path in plots:
        report.checked_target(path)
    with display.progress_bar() as progress:
        web = loaded_web(graph, format, progress)
        relevance = values_in_file(web, labels, unnamed=0.0)
        task = harvest.Task.of(web, _start_page(web, start), relevance, name=labels.name)
        found = harvest.compare_harvests(task, specs, progress=progress)
        written = [str(harvest_plot.write_harvest_plot(found, path)) for path in plots]
    if json:
        display.print_json(found.as_dict() | {"plots": written})
        return
    _print(found)
    for name in written:
        print(name)


def _start_page(web: LinkGraph, start: str | None) -> int:
    """The page named, or the one with the most links."""
    from orienteer.graph.page_names import page_named

    return int(web.out_degrees().argmax()) if start is None else page_named(web, start)


def _print(found: HarvestComparison) -> None:
    out = display.console()
    out.print(
        f"{found.n_targets:,} relevant pages among the {found.n_reached:,} that can be reached "
        f"({found.n_pages:,} in all)."
    )
    headings = [("policy", False), ("area", True), ("pages to 50 %", True), ("pages to 90 %", True), ("CPU s", True)]
    table = display.columns_table(None, *headings)
    for result in found.results:
        counts = (f"{count:,}" for count in result.pages_until)
        table.add_row(result.policy, f"{result.area:.3f}", *counts, f"{result.cpu_s:.2f}")
    out.print(table)
    out.print(
        f"area: mean share of the relevant pages found, over all pages fetched; the best there can be is "
        f"{found.best_area:.3f}. context-graph and apprentice have learned on no other site here: breadth-first."
    )
