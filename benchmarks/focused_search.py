"""How soon is the first page of a topic met, before anything is known of it?"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np

from benchmarks.focused_tasks import DOCS, SUBJECTS
from benchmarks.focused_webs import graph_of, subjects, urls_of
from benchmarks.measure import table
from orienteer.crawl.simulate import simulate
from orienteer.graph.link_graph import LinkGraph

ABOUT = """Topics that are no task above: every subject of 8 to 163 articles, from the article about Wikipedia and from
three articles drawn at random, and every folder of 5 to 199 pages of a documentation host, from its main page. Nothing
is judged relevant, so that one crawl serves all topics of a site."""
POLICIES = ("breadth-first", "random", "fractional", "scent")


class _Search(NamedTuple):
    kind: str
    graph: LinkGraph
    start: int
    topics: list[list[int]]


def searches() -> str:
    found: dict[str, dict[str, list[np.ndarray]]] = defaultdict(lambda: defaultdict(list))
    for search in [*_schools(), *_docs()]:
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
    heads = [
        "",
        "",
        "pages before the first of the topic, mean of the starts",
        "later than breadth-first, mean",
        "most",
    ]
    return table(heads, rows)


def _first_met(search: _Search, policy: str) -> np.ndarray:
    relevance = np.zeros(search.graph.n_pages)
    order = simulate(search.graph, policy, [search.start], relevance=relevance).order
    place = np.full(search.graph.n_pages, len(order))
    place[order] = np.arange(len(order))
    return np.array([place[topic].min() for topic in search.topics]) / len(order)


def _schools() -> list[_Search]:
    graph, urls = graph_of("schools-wikipedia-articles"), urls_of("schools-wikipedia-articles")
    pages = defaultdict(list)
    for page, names in subjects().items():
        for name in names:
            pages[name].append(page)
    topics = [members for name, members in sorted(pages.items()) if name not in SUBJECTS and 8 <= len(members) < 164]
    main = urls.index("http://schools-wikipedia.org/wp/w/Wikipedia.htm")
    others = np.random.default_rng(3).choice(np.flatnonzero(graph.out_degrees() > 0), 3, replace=False)
    return [_Search("schools", graph, start, topics) for start in (main, *others.tolist())]


def _docs() -> list[_Search]:
    graph, urls = graph_of("docs-web-dev"), urls_of("docs-web-dev")
    tasks = {target.rstrip("/") for _, target, _ in DOCS}
    folders = defaultdict(list)
    for page, url in enumerate(urls):
        parts = url.split("/")
        for depth in range(4, len(parts)):
            folders["/".join(parts[2:depth])].append(page)
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
