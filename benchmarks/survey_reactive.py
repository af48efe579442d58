"""How often claims are wrong if a server tries to recognise the pages that walks need, and what decoys cost.

A survey assumes that the response for a page does not depend on when, in which order or for whom it is fetched. Here it
does. The server knows the program, the start pages and all its responses so far, so it knows which page the policy
`certified` values most. Any other page is requested *out of order*. The server sends false responses, with the links to
fetched pages only: to *all* requests out of order; to all *once walks seem to count*, from a coverage of 85 % of the
target on; or to *half* of them, or a *quarter*, at random. It does not know the seed, so it cannot know which walks
count.

Claims are *wrong* if the truth was below the target. The truth is the web as it was seen: fetched pages have the links
in the responses, all others those that an ordinary visitor gets. *False* is the share of all responses that were false.
Decoys are the walks that do not count; surveys of version 0.2 had none. The 160 pages of the highest PageRank are
trusted, in the generated webs 5. Those have 1,600 pages, and their pages outside lead further outside. The confidence
is 99.9 %.

*Price*: medians of fetches until an honest web is measured, and CPU time; runs with and without decoys alternate.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from benchmarks.measure import machine, table
from benchmarks.sizes import DATA, sized
from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.graph.survey.crawl_survey import SurveyStart, survey_seed
from orienteer.policies import make_policy
from orienteer.policies.policy import TrustedPages
from tests.graph.survey.reactive import Outcome, crawled, web_with_a_far_part

REAL = DATA / "graphs"
GENERATED = "generated"
WEBS = {GENERATED: 0.9, "docs-web-dev": 0.9, "wb-cs-stanford-2001": 0.9, "schools-wikipedia-articles": 0.9}
PRICED = (*list(WEBS)[1:], "hollins-2004", "webkb-dev", "polblogs-2004", "ukwa-hosts-1996", "cnr-2000-nat")
SERVERS = {  # the share of pages out of order that are answered falsely, and from which share of the target on
    "honest": (0.0, 0.0),
    "all": (1.0, 0.0),
    "all, once walks seem to count": (1.0, 0.85),
    "half": (0.5, 0.0),
    "a quarter": (0.25, 0.0),
}
RUNS, RUNS_ON_GENERATED = sized((20, 100), (1, 1))
CONFIDENCE = 0.999
SEEDS: dict[str, Callable[[bytes], str]] = {"without decoys": bytes.hex, "with decoys": survey_seed}


def run() -> str:
    with ProcessPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        webs = [name for name in WEBS if name == GENERATED or (REAL / f"{name}.npz").exists()]
        reactive = [row for rows in pool.map(_against_servers, webs) for row in rows]
        priced = list(pool.map(_price, [name for name in PRICED if (REAL / f"{name}.npz").exists()]))
    head = ["web, target", "answered falsely"]
    head += [f"{kind}: {what}" for kind in SEEDS for what in ("wrong", "truth", "false")]
    price_head = ["web, 98 %", *(f"{kind}: {what}" for kind in SEEDS for what in ("pages", "CPU s")), "pages, ratio"]
    return "\n\n".join(
        [
            machine("numpy", "numba"),
            table(head, reactive),
            "**Price**, honest webs",
            table(price_head, priced),
        ]
    )


def _against_servers(name: str) -> list[list[str]]:
    until, n_runs = WEBS[name], RUNS_ON_GENERATED if name == GENERATED else RUNS
    rows = []
    for server, (share, from_share) in SERVERS.items():
        row = [f"{name}, {until:.0%}", server]
        for seed_of in SEEDS.values():
            found = [_crawled(name, until, seed_of, share, from_share, number) for number in range(n_runs)]
            false = np.median([one.n_false / one.n_fetched for one in found])
            n_claimed, n_wrong = sum(one.is_claimed for one in found), sum(one.is_wrong for one in found)
            row += [f"{n_wrong} of {n_claimed}", f"{np.median([one.truth for one in found]):.3f}", f"{false:.1%}"]
        rows.append(row)
    return rows


def _crawled(
    name: str, until: float, seed_of: Callable[[bytes], str], share: float, from_share: float, number: int
) -> Outcome:
    graph = web_with_a_far_part(np.random.default_rng(number)) if name == GENERATED else _graph(name)
    start = SurveyStart(until, CONFIDENCE, seed_of(np.random.default_rng([3, number]).bytes(16)))
    return crawled(graph, _trusted(graph, 5 if name == GENERATED else 160), start, share, number, from_share * until)


def _price(name: str) -> list[str]:
    graph = _graph(name)
    trusted = _trusted(graph, 160)
    n_runs = RUNS if graph.n_pages < 100_000 else 5
    pages: dict[str, list[int]] = {kind: [] for kind in SEEDS}
    cpu_s = dict.fromkeys(SEEDS, np.inf)
    for number in range(n_runs):
        for kind, seed_of in SEEDS.items():
            began = time.process_time()
            start = SurveyStart(0.98, CONFIDENCE, seed_of(np.random.default_rng([4, number]).bytes(16)))
            pages[kind].append(_fetches(graph, trusted, start))
            cpu_s[kind] = min(cpu_s[kind], time.process_time() - began)
    without, with_ = (float(np.median(pages[kind])) for kind in SEEDS)
    cells = [cell for kind in SEEDS for cell in (f"{np.median(pages[kind]):,.0f}", f"{cpu_s[kind]:.2f}")]
    return [name, *cells, f"{with_ / without:.3f}"]


def _fetches(graph: LinkGraph, trusted: np.ndarray, start: SurveyStart) -> int:
    pages = TrustedPages.of(np.bincount(trusted, minlength=graph.n_pages) / len(trusted))
    crawl = Crawl(make_policy("certified"), pages, Goal(start.until, confidence=start.confidence))
    crawl.begin_survey(start)
    while (page := crawl.next()) is not None:
        crawl.fetched(page, graph.links(page))
    return len(crawl.order)


def _graph(name: str) -> LinkGraph:
    return LinkGraph.load(REAL / f"{name}.npz")


def _trusted(graph: LinkGraph, n: int) -> np.ndarray:
    return np.argsort(-pagerank(graph), kind="stable")[:n]
