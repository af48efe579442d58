"""Graph-based seed selection (Zheng et al., CIKM 2009): the improvement over random seeds, Figures 2 to 5.

k = 1..10 seeds at h = 5 hops, and h = 1..5 at k = 5; there on 2,000 sites, here on the hosts of docs-web-dev with at
least 100 pages (the mean of them), and on three whole webs. `greedy` is exact; it and `sketched-greedy` are ours, and
no methods of the paper.

Seeds are chosen by value: a page is worth 1, spam -10, clicked 10, and P_uniq for each link to a page not crawled. Our
graphs know nothing of that, so a crawl is made up: half of each web, breadth-first (`evaluate/partial_crawl`). P_uniq
is 1. What is measured is the *value* covered, as a share of all value above 0, and the *pages* that the same seeds
cover, as in the paper. There are two more settings: all *pages worth 1* on the whole graph, and a crawl that
began at *one entry*: all of it then hangs from that page (unless it ran dry), which is the root that root-scc looks
for, and a gift to that method.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from experiments import seed_claims
from experiments.drawing import png
from experiments.experiment import Experiment
from experiments.findings import Finding, Plot, Results, Table, graded
from experiments.partial_crawl import ENTRY_SHARE, made_up_value, partial_crawl
from experiments.real_data import RealData
from experiments.verdict import FAILS, HOLDS, VERDICTS
from experiments.webs import Webs
from orienteer.evaluate.seed_compare import (
    MIN_PAGES,
    RANDOM,
    PlotRow,
    SeedComparison,
    Web,
    compare_seeds_on,
    figure_of_rows,
)
from orienteer.graph.link_graph import LinkGraph
from orienteer.progress import Progress, silent
from orienteer.seeds.select import Division, groups_of

ABOUT = (
    "The paper chose seeds on 2,000 sites, by the value of their pages. Here they are hosts or whole webs, and the "
    "values are made up: half of each web is crawled, breadth-first from 4 % of its pages; a page is worth 1, and 1 "
    "more for each link to a page not crawled; 5 % are clicked (10) and 2 % are spam (-10), at random. A claim holds "
    "if it does on all webs, and holds in shape if it does, at least in shape, on more than half of them."
)
K, HOPS = 10, 5
PAGES, VALUE, WORTH_1, ONE_ENTRY = "pages", "value", "pages worth 1", "value, one entry"
CLAIMS: dict[str, tuple[seed_claims.Claim, str]] = {
    "random-pages": (seed_claims.BEATS_RANDOM, PAGES),
    "random-value": (seed_claims.BEATS_RANDOM, VALUE),
    "fewer-seeds-pages": (seed_claims.FALLS_WITH_SEEDS, PAGES),
    "fewer-seeds-value": (seed_claims.FALLS_WITH_SEEDS, VALUE),
    "pagerank-pages": (seed_claims.PAGERANK_POOR, PAGES),
    "pagerank-value": (seed_claims.PAGERANK_POOR, VALUE),
    "graph-based-pages": (seed_claims.BEATS_HEURISTICS, PAGES),
    "graph-based-value": (seed_claims.BEATS_HEURISTICS, VALUE),
    "max-out-pages": (seed_claims.MAX_OUT_BEST, PAGES),
    "max-weight-value": (seed_claims.MAX_WEIGHT_BEST, VALUE),
    "root-scc-value": (seed_claims.ROOT_SCC_POOR, VALUE),
    "depth-2-pages": (seed_claims.DEPTH_2_ENOUGH, PAGES),
    "depth-2-value": (seed_claims.DEPTH_2_ENOUGH, VALUE),
    "hops-pages": (seed_claims.GROWS_WITH_HOPS, PAGES),
    "hops-value": (seed_claims.GROWS_WITH_HOPS, VALUE),
}
_OTHER_SETTINGS = {PAGES: WORTH_1, VALUE: ONE_ENTRY}
_REAL: dict[str, str | None] = {
    "docs-web-dev": "host",
    "cnr-2000-nat": None,
    "schools-wikipedia-articles": None,
    "hollins-2004": None,
}
_QUICK_PAGES = 5_000
_DPI = 100


class Effort(NamedTuple):
    """Crawls made up of each web, and random seeds drawn in all."""

    n_crawls: int
    n_draws: int


FULL, QUICK = Effort(5, 1_000), Effort(1, 50)


class Figures(NamedTuple):
    """A web in figures: half crawled and by value, as in the paper; from one entry; and whole, all pages worth 1."""

    name: str
    about: str
    crawled: SeedComparison
    from_one_entry: SeedComparison
    whole: SeedComparison

    def of(self, measure: str) -> tuple[SeedComparison, str]:
        """The comparison, and what is measured in it."""
        if measure == WORTH_1:
            return self.whole, "pages"
        return self.from_one_entry if measure == ONE_ENTRY else self.crawled, "pages" if measure == PAGES else "value"


def run(experiment: Experiment, webs: Webs) -> Results:
    data = RealData(experiment, webs)
    if webs.quick:
        web = webs.generated(_QUICK_PAGES)
        found = [
            figures("hosts of a generated web", web, "host", QUICK, webs.progress),
            figures("generated web", web, None, QUICK, webs.progress),
        ]
    else:
        found = [
            figures(name, data.graph(name), per, FULL, webs.progress)
            for name, per in _REAL.items()
            if data.has_graph(name)
        ]
    results = Results(notes=[ABOUT])
    if found and not webs.missing(experiment.data):
        results.findings = [finding(name, *CLAIMS[name], found) for name in CLAIMS]
    if found:
        results.tables = [_verdicts(found), *map(_improvements, found)]
        results.plots = [_plot(one) for one in found]
    return results


def figures(name: str, web: LinkGraph, per: str | None, effort: Effort, progress: Progress = silent) -> Figures:
    """All comparisons on a web, or the mean of those on its hosts."""
    sites = [web] if per is None else [group.graph for group in groups_of(web, Division.of(web, per))]
    sites = [site for site in sites if site.n_pages >= MIN_PAGES]
    about = f"{web.n_pages:,} pages" if per is None else f"mean of {len(sites)} {per}s"

    def report(what: str, done: int, total: int) -> None:
        progress(f"{name}: {what}", done, total)

    def compared(webs: list[Web], n_draws: int) -> SeedComparison:
        return compare_seeds_on(webs, K, HOPS, n_draws=n_draws, progress=report)

    crawled, from_one_entry = (
        compared(_half_crawled(sites, share, effort), effort.n_draws // effort.n_crawls) for share in (ENTRY_SHARE, 0.0)
    )
    whole = compared([Web(site, np.ones(site.n_pages)) for site in sites], effort.n_draws)
    return Figures(name, about, crawled, from_one_entry, whole)


def _half_crawled(sites: list[LinkGraph], entry_share: float, effort: Effort) -> list[Web]:
    halves = []
    for rng in range(effort.n_crawls):
        for site in sites:
            crawl = partial_crawl(site, 0.5, rng, entry_share)
            halves.append(Web(crawl.graph, made_up_value(crawl, rng)))
    return halves


def finding(name: str, claim: seed_claims.Claim, measure: str, all_found: Sequence[Figures]) -> Finding:
    """A claim holds if it does on all webs, and in shape if it does, at least in shape, on more than half of them."""
    each = [claim.held_against(*found.of(measure)) for found in all_found]
    counts = Counter(one.verdict for one in each)
    share = 1 - counts[FAILS] / len(each)
    verdict = graded(counts[HOLDS] == len(each), share > 0.5)
    detail = ", ".join(f"{one} on {counts[one]}" for one in VERDICTS if counts[one])
    return Finding(name, verdict, share, f"{detail} of {len(each)} webs; {all_found[0].name}: {each[0].detail}")


def _verdicts(all_found: list[Figures]) -> Table:
    """A row for each claim and each setting."""
    rows = []
    for claim, measure in CLAIMS.values():
        for setting in (measure, _OTHER_SETTINGS[measure]):
            each = [claim.held_against(*found.of(setting)) for found in all_found]
            rows.append([claim.text, setting, *(f"{one.verdict}: {one.detail}" for one in each)])
    return Table(
        "What holds on which web",
        ["the paper says", "of", *(found.name for found in all_found)],
        rows,
        "`a 0.420 of b, h=1` says that a covers 0.42 of what b does at 5 seeds and one hop; `k=1..10` is the mean of a "
        "curve. A claim holds if it does at every point of both curves and for every pair of methods, and in shape if "
        "it does by the mean of either curve, or misses that by less than 1 %. As good as another is who covers 0.97 "
        f"of it. {PAGES} and {VALUE} are the paper's setting, {WORTH_1} and {ONE_ENTRY} are ours.",
    )


def _improvements(found: Figures) -> Table:
    """At some k and h, with the share of greedy; k = 5 is also h = 5."""
    rows = []
    for measure in (PAGES, VALUE, WORTH_1):
        comparison, what = found.of(measure)
        covered = {name: series.of(what)[4] for name, series in comparison.by_seeds.items()}
        rows += [
            [f"{measure}: {name}", *_cells(found, name, measure)]
            for name in sorted(covered, key=covered.__getitem__, reverse=True)
        ]
    reach = f"one random seed covers {100 * found.whole.by_seeds[RANDOM].at(1)[0]:.1f} % of the pages in {HOPS} hops"
    return Table(
        f"{found.name}: {found.about}",
        ["over random", "k=1", "k=5 (h=5)", "k=10", "h=1", "h=3", "of greedy, k=5"],
        rows,
        f"Of the whole web {reach}. ( ) is what random covers.",
    )


def _cells(found: Figures, name: str, measure: str) -> list[str]:
    comparison, what = found.of(measure)
    by_seeds, by_hops = comparison.by_seeds, comparison.by_hops
    if name == RANDOM:
        shares = [*by_seeds[name].of(what)[[0, 4, 9]], *by_hops[name].of(what)[[0, 2]]]
        cells = [f"({100 * share:.1f} %)" for share in shares]
    else:
        over = comparison.improvement(by_seeds, name, what)[[0, 4, 9]]
        over_by_hops = comparison.improvement(by_hops, name, what)[[0, 2]]
        cells = [seed_claims.over_random(one) for one in [*over, *over_by_hops]]
    return [*cells, f"{comparison.of_reference(by_seeds, name, what)[4]:.3f}"]


def _plot(found: Figures) -> Plot:
    titles = {
        PAGES: "pages covered, half crawled (Fig. 2, 4)",
        VALUE: "value covered, half crawled (Fig. 3, 5)",
        WORTH_1: "pages covered, all worth 1",
    }
    rows = [PlotRow(title, *found.of(measure)) for measure, title in titles.items()]
    figure = figure_of_rows(f"{found.name} ({found.about}): improvement over random seeds", rows, _DPI)
    shows = f"Figures 2 to 5 on {found.name}, and with all pages worth the same"
    return Plot(found.name.replace(" ", "-"), shows, png(figure))
