"""RankMass (Cho & Schonfeld, VLDB 2007): what is guaranteed, what is actual, what it costs, and how many seeds help.

Table 2 and Figures 7 and 8 are in `rankmass_orders`, Table 3 in `rankmass_time`, Figures 9 and 10 in `rankmass_seeds`.
"""

from __future__ import annotations

from dataclasses import dataclass

from experiments import rankmass_orders as orders
from experiments import rankmass_seeds as seeds
from experiments import rankmass_time as times
from experiments.experiment import Experiment
from experiments.findings import Results, span
from experiments.timed import TimedRun
from experiments.webs import Webs
from orienteer.graph.pagerank import pagerank


@dataclass(frozen=True)
class Sizes:
    """Pages of the generated webs; where Table 3 is timed, and the CPU time that one order may take there."""

    generated: tuple[int, ...]
    timed: int
    budget_s: float
    seeds_from: int  # 16,000 seeds are few only on a web of so many pages


LIMITS = (
    "What decides a verdict was settled with figures in view for Table 3 and for Figure 10: the limits there are "
    "stricter than the first ones, and how the guarantee of more seeds is measured was changed twice."
)
FULL = Sizes((1_000_000, 10_000_000), 10_000_000, 120.0, 300_000)
QUICK = Sizes((200_000,), 1_000_000, 20.0, 100_000)


def run(experiment: Experiment, webs: Webs) -> Results:
    """Claims about fetches and seeds are tried on all webs together, and only if all are at hand."""
    sizes = QUICK if webs.quick else FULL
    real = webs.graphs(experiment.data)
    graphs = real | {_generated(n): webs.generated(n) for n in sizes.generated}
    found, studies = {}, {}
    for name, graph in graphs.items():
        rank = pagerank(graph, tolerance=1e-8, progress=webs.progress)
        found[name] = orders.orders_on(graph, rank, webs.progress)
        if graph.n_pages >= sizes.seeds_from:
            studies[name] = seeds.study(graph, rank, webs.progress)
    runs = _timed(sizes, webs)
    results = Results(notes=[_certificate_note(found), LIMITS])
    about = {name: f"{graph.n_pages:,} pages, {graph.n_links:,} links" for name, graph in graphs.items()}
    timed = _generated(sizes.timed)
    results.tables = [*orders.table_2(found, about), times.table_3(timed, runs), seeds.table_of_seeds(studies)]
    drawn = max(graphs, key=lambda name: (name in real, graphs[name].n_pages))  # the largest real one, if there is any
    largest = _generated(sizes.generated[-1])
    results.plots = [
        orders.figure_7(drawn, found[drawn]),
        orders.figure_8(found),
        times.figure_of_times(timed, runs),
        seeds.figure_9(studies),
        seeds.figure_10(largest, studies[largest]),
    ]
    results.findings = times.findings(runs)
    if not webs.missing(experiment.data):
        results.findings += [*orders.findings(found), *seeds.findings(studies)]
    return results


def _timed(sizes: Sizes, webs: Webs) -> dict[str, TimedRun]:
    graph = webs.generated(sizes.timed)
    trusted = orders.top_pages(pagerank(graph, progress=webs.progress))
    return times.timed_orders(graph, trusted, sizes.budget_s, webs.progress)


def _generated(n_pages: int) -> str:
    return f"generated, {n_pages:,} pages"


def _certificate_note(found: dict[str, dict[str, orders.Ordered]]) -> str:
    """Not the paper's: what the certificate adds to RankMass's own guarantee."""
    saved = []
    for web in found.values():
        one = web["RankMass"]
        assert one.guaranteed is not None
        assert one.certified is not None
        saved.append(1 - one.certified / one.guaranteed)
    return (
        "The certificate (not in the paper) proves 0.98 of RankMass's order with "
        f"{span([100 * share for share in saved], 0)} % fewer fetches than RankMass's own guarantee does."
    )
