"""Focused crawling: how soon the first page of a topic is met, and what recomputing Navigational Rank costs.

Which policy finds the pages of a topic soonest is in `experiments/navigational`.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np

from benchmarks.measure import machine, table
from benchmarks.sizes import DATA, IS_TINY, sized
from experiments.papers import experiments_named
from experiments.real_data import DOCS, SCHOOLS, RealData
from experiments.topic_tasks import ENCYCLOPEDIA, SECTIONS, SUBJECTS, urls_of
from experiments.webs import Webs, web_folder
from orienteer.crawl.simulate import simulate
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.synthetic import synthetic_web
from orienteer.policies import make_policy

ABOUT = """**Before the first target is met.** Topics that are no task of the experiment: every subject of 8 to 163
articles, from the article about Wikipedia and from three articles drawn at random, and every folder of 5 to 199 pages
of a documentation host, from its main page. Nothing is judged relevant, so a single crawl serves all topics of a site.
"""
POLICIES = ("breadth-first", "random", "fractional", "scent")
N_SCALE = sized(1_000_000, 300)
LIVE_MS = (0.83, 1.66, 2.08)  # CPU a page of a live crawl, from the section live_crawl: least, by default, real pages


class _Search(NamedTuple):
    kind: str
    graph: LinkGraph
    start: int
    topics: list[list[int]]


def run() -> str:
    cost = f"**Recomputing Navigational Rank on a crawl of {N_SCALE:,} pages**\n"
    return "\n".join([machine("numba", "numpy") + "\n", ABOUT, _searches(_real_searches()), cost, _scale()])


def _real_searches() -> list[_Search]:
    if IS_TINY:
        return [_Search("generated", synthetic_web(200), 0, [[1, 2], [3]])]
    data = RealData(experiments_named("navigational")[0], Webs(DATA, quick=False))
    return [*_schools(data), *_docs(data)]


def _searches(searches: list[_Search]) -> str:
    found: dict[str, dict[str, list[np.ndarray]]] = defaultdict(lambda: defaultdict(list))
    for search in searches:
        for policy in POLICIES:
            found[search.kind][policy].append(_first_met(search, policy))
    rows = []
    for kind, by_policy in found.items():
        for policy, met in by_policy.items():
            later = np.concatenate(met) - np.concatenate(by_policy["breadth-first"])
            rows.append([
                f"{kind} ({len(later)} topics)", policy, f"{100 * np.mean([one.mean() for one in met]):.1f} %",
                f"{100 * np.maximum(later, 0).mean():.1f} %", f"{100 * later.max():.1f} %",
            ])  # fmt: skip
    return table(
        ["", "", "pages before the first of a topic, mean of starts", "later than breadth-first, mean", "most"], rows
    )


def _first_met(search: _Search, policy: str) -> np.ndarray:
    relevance = np.zeros(search.graph.n_pages)
    order = simulate(search.graph, policy, [search.start], relevance=relevance).order
    place = np.full(search.graph.n_pages, len(order))
    place[order] = np.arange(len(order))
    return np.array([place[topic].min() for topic in search.topics]) / len(order)


def _schools(data: RealData) -> list[_Search]:
    graph = data.graph(SCHOOLS)
    topics = [pages for name, pages in data.subjects.items() if name not in SUBJECTS and 8 <= len(pages) < 164]
    main = urls_of(graph).index(ENCYCLOPEDIA)
    others = np.random.default_rng(3).choice(np.flatnonzero(graph.out_degrees() > 0), 3, replace=False)
    return [_Search("schools", graph, start, topics) for start in (main, *others.tolist())]


def _docs(data: RealData) -> list[_Search]:
    graph = data.graph(DOCS)
    urls = urls_of(graph)
    tasks = {target.rstrip("/") for _, target, _ in SECTIONS}
    folders = defaultdict(list)
    for page, url in enumerate(urls):
        segments = url.split("/")
        for depth in range(4, len(segments)):
            folders["/".join(segments[2:depth])].append(page)
    found = []
    for host, _ in Counter(url.split("/")[2] for url in urls).most_common():
        mains = [page for page, url in enumerate(urls) if url.split("/")[2] == host and url.endswith("/index.html")]
        if not mains:
            continue
        main = min(mains, key=lambda page: len(urls[page]))
        topics = [
            pages for name, pages in folders.items()
            if name.startswith(f"{host}/") and name not in tasks and 5 <= len(pages) < 200 and main not in pages
        ]  # fmt: skip
        if len(topics) >= 2:
            found.append(_Search("documentation", graph, main, topics))
    return found


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
