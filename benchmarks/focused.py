"""Focused crawling: harvest on real sites, with the truth and with a classifier; a hard site; what recomputing costs.

The area under the harvest curve is the mean share of the targets found, over all pages that can be reached. Every
policy scores anew after 20 pages, or 2 % more of them. The constants of `scent` were chosen by half of the tasks (and
by other subjects and hosts, for its search before the first target). The other half, *, chose none, but is not unseen:
earlier versions were run on it, too, and `excursions=40` was taken where 30 to 60 do about equally well, after a look
at all of them. The section on the search before the first target is about topics that are no task.

`context-graph` and `apprentice` learn from the training site of each task (`focused_tasks`), and so does the classifier
(multinomial naive Bayes over all words of a page); the others learn from nothing but the crawl.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from benchmarks import focused_search
from benchmarks.focused_tasks import RealTask, real_tasks
from benchmarks.measure import machine, table
from benchmarks.webs import web_folder
from orienteer.crawl.simulate import simulate
from orienteer.evaluate.hard_site import hard_site
from orienteer.evaluate.harvest import HarvestComparison, Task, compare_harvests
from orienteer.evaluate.harvest_plot import harvest_figure
from orienteer.evaluate.report import write_figure
from orienteer.graph.link_graph import LinkGraph
from orienteer.policies import make_policy
from orienteer.policies.apprentice import Apprentice
from orienteer.policies.context_graph import ContextGraph
from orienteer.policies.focused import LabelledWeb

PLOTS = Path(__file__).parent / "plots"
POLICIES = (
    "breadth-first", "fractional", "personalized-pagerank", "context-graph", "apprentice", "navigational",
    "navigational:gather=sum", "scent", "scent:excursions=0",
)  # fmt: skip
BEATEN = ("breadth-first", "personalized-pagerank", "context-graph", "apprentice")
GROUPS = ("schools", "webkb", "docs")
N_SCALE = 1_000_000
LIVE_MS = (0.83, 1.66, 2.08)  # CPU a page of a live crawl, from the section live_crawl: least, by default, real pages

# Written after the run whose figures stand below; read them again when they change.
VERDICT = """**Verdict.** *The paper's claim* holds on average with the truth: Navigational Rank is ahead of
breadth-first, personalized PageRank, context graphs and the apprentice. It does not hold everywhere. It loses to
breadth-first on three of the six university tasks, by far where the targets are many (students, 16 to 18 % of the
pages). Personalized PageRank is close behind on most sites. And the apprentice, with training pages of a similar kind
at hand, is ahead of it on 9 of 28 tasks, and on 18 of 28 where a weak classifier is all that it hears (the apprentice
reads links, and hears no classifier). A sum in step 1 (`gather=sum`) is better than the paper's mean on average, with
the truth and with the classifiers.

*Our goal for `scent`*, at least .05 over Navigational Rank on average and on no task more than .01 below, is reached
with the truth: .058 above, .049 on the tasks not used for tuning, and none more than .004 below. A third of the gain
comes from its excursions before the first target is met (`excursions=0`: .039 above). Whether one of them hits is luck
in part: with ties among untried hubs broken by chance instead of nearness the same 28 tasks gave
.047. On topics that are no task (below) the first page comes earlier on average than breadth-first has it, and at most
1 % of the site later.

*The classifiers* trained elsewhere are weak (precision and recall in the table), on the documentation hosts often
useless: there the figures say what policies do when they are misled. `scent` is .061 above Navigational Rank on
average, but six tasks are more than .01 below, one by far: where nearly all that the classifier calls relevant is not,
who follows it best is led astray most. `gather=sum` suffers least on these hosts. *The hard site*: Navigational Rank is
ahead of all that it was published to beat on four sites of five, and on average; on the fifth the targets come last in
breadth-first order, and nobody who waits for the first of them can win. *The cost*: less than 20 % of a live crawl,
also of one that does the least."""

Results = dict[str, HarvestComparison]


def run() -> str:
    tasks = real_tasks()
    true: Results = {}
    told: Results = {}
    quality = []
    for task in tasks:
        trained = _trained(task.training)
        heard = task.heard()
        quality.append(_quality(task, heard))
        true[task.name] = _compared(task, None, trained)
        told[task.name] = _compared(task, heard, trained)
        print(task.name, flush=True)
    _plot(tasks, true, told)
    parts = [
        machine("scikit-learn"),
        VERDICT,
        "**With the truth**", _areas(tasks, true), _levels(tasks, true), _verdict(tasks, true),
        "**With a classifier trained elsewhere**", _areas(tasks, told, quality), _levels(tasks, told),
        _verdict(tasks, told),
        "![Harvest curves](plots/focused.png)",
        f"**Before the first target is met.** {focused_search.ABOUT}",
        focused_search.searches(),
        "**A site built to be hard** (five of them, each trained on another)", _hard(),
        f"**Recomputing Navigational Rank on a crawl of {N_SCALE:,} pages**", _scale(),
    ]  # fmt: skip
    return "\n\n".join(parts)


def _trained(site: LabelledWeb) -> dict[str, ContextGraph | Apprentice]:
    trained: dict[str, ContextGraph | Apprentice] = {"context-graph": ContextGraph(), "apprentice": Apprentice()}
    for policy in trained.values():
        policy.train([site])
    return trained


def _compared(task: RealTask, heard: np.ndarray | None, trained: dict) -> HarvestComparison:
    assert task.web.relevance is not None
    made = Task.of(task.web.graph, task.start, task.web.relevance, heard, task.web.text, task.name)
    return compare_harvests(made, POLICIES, trained)


def _quality(task: RealTask, heard: np.ndarray) -> str:
    truth, said = task.web.relevance >= 0.5, heard >= 0.5
    right = (truth & said).sum()
    return f"{right / max(said.sum(), 1):.2f} / {right / truth.sum():.2f}"


def _area(found: HarvestComparison, policy: str) -> float:
    return next(result.area for result in found.results if result.policy == policy)


def _areas(tasks: list[RealTask], results: Results, quality: list[str] | None = None) -> str:
    rows = []
    for k, task in enumerate(tasks):
        found = results[task.name]
        rows.append([
            f"{task.group}: {task.name}{'' if task.is_tuning else ' *'}",
            f"{found.n_targets} / {found.n_reached}",
            *([quality[k]] if quality else []),
            *(f"{_area(found, policy):.3f}" for policy in POLICIES),
        ])  # fmt: skip
    for label, chosen in _subsets(tasks).items():
        means = [np.mean([_area(results[task.name], policy) for task in chosen]) for policy in POLICIES]
        rows.append([f"mean, {label} ({len(chosen)})", "", *([""] if quality else []), *(f"{x:.3f}" for x in means)])
    heads = ["area; *: not used for tuning", "targets / pages", *(["precision / recall"] if quality else []), *POLICIES]
    return table(heads, rows)


def _subsets(tasks: list[RealTask]) -> dict[str, list[RealTask]]:
    groups = {group: [task for task in tasks if task.group == group] for group in GROUPS}
    tuning = [task for task in tasks if task.is_tuning]
    held_out = [task for task in tasks if not task.is_tuning]
    return groups | {"used for tuning": tuning, "not used": held_out, "all": tasks}


def _levels(tasks: list[RealTask], results: Results) -> str:
    """Mean share of the pages until 50 % and 90 % of the targets."""
    rows = []
    for k, level in enumerate(("50 %", "90 %")):
        cells = []
        for policy in POLICIES:
            shares = [
                result.pages_until[k] / result.n_fetched
                for task in tasks
                for result in results[task.name].results
                if result.policy == policy
            ]
            cells.append(f"{100 * np.mean(shares):.1f} %")
        rows.append([f"pages until {level} of the targets", *cells])
    return table(["mean of all tasks, of the pages that can be reached", *POLICIES], rows)


def _verdict(tasks: list[RealTask], results: Results) -> str:
    def gains(policy: str, other: str, chosen: list[RealTask]) -> np.ndarray:
        return np.array([_area(results[t.name], policy) - _area(results[t.name], other) for t in chosen])

    claims = []
    for other in BEATEN:
        gain = gains("navigational", other, tasks)
        claims.append(
            f"{other} on {(gain > 0.0005).sum()} of {len(gain)} (mean {gain.mean():+.3f}, least {gain.min():+.3f})"
        )
    lines = ["`navigational` has the larger area than " + "; ".join(claims) + "."]
    for policy in ("scent", "scent:excursions=0"):
        parts = []
        for label, chosen in list(_subsets(tasks).items())[3:]:
            gain = gains(policy, "navigational", chosen)
            worse = [f"{task.name} {g:+.3f}" for task, g in zip(chosen, gain, strict=True) if g < -0.01]
            below = f", below by more than .01 on {', '.join(worse)}" if worse and label == "all" else ""
            parts.append(f"{label} {gain.mean():+.3f} (least {gain.min():+.3f}{below})")
        lines.append(f"`{policy}` over `navigational`: " + "; ".join(parts) + ".")
    return "\n\n".join(lines)


def _plot(tasks: list[RealTask], true: Results, told: Results) -> None:
    PLOTS.mkdir(exist_ok=True)
    rows = [
        [(f"{group}, {label}", [results[task.name] for task in tasks if task.group == group]) for group in GROUPS]
        for label, results in (("with the truth", true), ("with a classifier", told))
    ]
    write_figure(harvest_figure(rows, "Targets found, mean of the tasks of each kind"), PLOTS / "focused.png")


def _hard() -> str:
    found = []
    for number in range(1, 6):
        site = hard_site(number)
        assert site.relevance is not None
        task = Task.of(site.graph, 0, site.relevance, text=site.text)
        found.append(compare_harvests(task, POLICIES, _trained(hard_site(10 + number))))
    rows = []
    for policy in POLICIES:
        areas = [_area(one, policy) for one in found]
        rows.append([policy, *(f"{area:.3f}" for area in areas), f"{np.mean(areas):.3f}"])
    return table(["area", *(f"site {k}" for k in range(1, 6)), "mean"], rows)


def _scale() -> str:
    """Crawl a generated web step by step; whole hosts are relevant, as a topic would be."""
    web = LinkGraph.load(web_folder(3 * N_SCALE))
    assert web.hosts is not None
    generator = np.random.default_rng(1)
    chosen = generator.random(int(web.hosts.max()) + 1) < 0.01
    relevance = (chosen[web.hosts] & (generator.random(web.n_pages) < 0.7)).astype(float)
    start = [int(np.argmax(web.out_degrees()))]
    rows = []
    least = 0.0
    for policy in ("breadth-first", "navigational"):
        simulate(web, make_policy(policy), start, budget=300, relevance=relevance, step_by_step=True)
        began = time.process_time()
        trace = simulate(web, make_policy(policy), start, budget=N_SCALE, relevance=relevance, step_by_step=True)
        cost_ms = 1e3 * (time.process_time() - began) / trace.n_fetched
        least = least or cost_ms
        shares = [f"{100 * (cost_ms - least) / live:.0f} %" for live in LIVE_MS]
        found = int(relevance[trace.order].sum())
        rows.append([policy, f"{trace.n_fetched:,}", f"{found:,}", f"{cost_ms:.3f}", *shares])
    heads = ["step by step", "pages", "targets found", "CPU ms a page",
             *(f"beyond breadth-first, of a live page's {live} ms" for live in LIVE_MS)]  # fmt: skip
    return table(heads, rows)
