"""Each seed method in a few obvious lines: with sets, evaluating all pages every time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank


def reached(graph: LinkGraph, page: int, hops: int) -> set[int]:
    found = {page}
    edge = {page}
    for _ in range(hops):
        edge = {target for source in edge for target in graph.links(source).tolist()} - found
        found |= edge
    return found


def greedy_frame(
    graph: LinkGraph, k: int, hops: int, value: np.ndarray, best: Callable[[dict[int, float], set[int]], int | None]
) -> list[int]:
    """`best` gets the values of the pages (0 where covered) and the covered pages."""
    left = {page: float(value[page]) for page in range(graph.n_pages)}
    covered: set[int] = set()
    seeds: list[int] = []
    while len(seeds) < k:
        page = best(left, covered)
        if page is None:
            break
        new = reached(graph, page, hops) - covered
        if sum(left[x] for x in new) <= 0:
            break
        covered |= new
        left |= dict.fromkeys(new, 0.0)
        seeds.append(page)
    return seeds


def heaviest(pages: list[int], weight_of: Callable[[int], float]) -> int:
    return min(pages, key=lambda page: (-weight_of(page), page))


def all_reached(graph: LinkGraph, hops: int) -> list[set[int]]:
    return [reached(graph, page, hops) for page in range(graph.n_pages)]


def weight(near: list[set[int]], left: dict[int, float]) -> Callable[[int], float]:
    return lambda page: sum(left[x] for x in near[page])


def max_weight(graph: LinkGraph, k: int, hops: int, value: np.ndarray, depth: int) -> list[int]:
    pages, near = list(range(graph.n_pages)), all_reached(graph, min(depth, hops))
    return greedy_frame(graph, k, hops, value, lambda left, _: heaviest(pages, weight(near, left)))


def greedy(graph: LinkGraph, k: int, hops: int, value: np.ndarray, depth: int) -> list[int]:
    return max_weight(graph, k, hops, value, hops)


def max_out(graph: LinkGraph, k: int, hops: int, value: np.ndarray, depth: int) -> list[int]:
    def best(_: dict[int, float], covered: set[int]) -> int | None:
        pages = [page for page in range(graph.n_pages) if page not in covered]
        return heaviest(pages, lambda page: len(set(graph.links(page).tolist()) - covered)) if pages else None

    return greedy_frame(graph, k, hops, value, best)


def components(graph: LinkGraph) -> list[frozenset[int]]:
    everything = all_reached(graph, graph.n_pages)
    return [frozenset(x for x in everything[page] if page in everything[x]) for page in range(graph.n_pages)]


def _heaviest_component(components: list[frozenset[int]], left: dict[int, float]) -> frozenset[int] | None:
    best = min(set(components), key=lambda component: (-sum(left[x] for x in component), min(component)))
    return best if sum(left[x] for x in best) > 0 else None


def max_scc(graph: LinkGraph, k: int, hops: int, value: np.ndarray, depth: int) -> list[int]:
    component_of, near = components(graph), all_reached(graph, min(depth, hops))

    def best(left: dict[int, float], _: set[int]) -> int | None:
        component = _heaviest_component(component_of, left)
        return None if component is None else heaviest(sorted(component), weight(near, left))

    return greedy_frame(graph, k, hops, value, best)


def root_scc(graph: LinkGraph, k: int, hops: int, value: np.ndarray, depth: int) -> list[int]:
    component_of, near = components(graph), all_reached(graph, min(depth, hops))
    linked_from_outside = {
        component_of[target]
        for page in range(graph.n_pages)
        for target in graph.links(page).tolist()
        if component_of[target] != component_of[page]
    }
    roots = set(component_of) - linked_from_outside
    reach = {root: reached(graph, min(root), graph.n_pages) for root in roots}

    def best(left: dict[int, float], _: set[int]) -> int | None:
        component = _heaviest_component(component_of, left)
        if component is None:
            return None
        above = [root for root in roots if reach[root] & component]
        root = min(above, key=lambda one: (-sum(left[x] for x in one), min(one)))
        return heaviest(sorted(root), weight(near, left))

    return greedy_frame(graph, k, hops, value, best)


def out_degree(graph: LinkGraph, k: int, hops: int, value: np.ndarray, depth: int) -> list[int]:
    return sorted(range(graph.n_pages), key=lambda page: (-len(graph.links(page)), page))[:k]


def by_pagerank(graph: LinkGraph, k: int, hops: int, value: np.ndarray, depth: int) -> list[int]:
    rank = pagerank(graph, tolerance=1e-9)
    return sorted(range(graph.n_pages), key=lambda page: (-rank[page], page))[:k]


def at_random(graph: LinkGraph, k: int, hops: int, value: np.ndarray, depth: int) -> list[int]:
    return np.random.default_rng(0).permutation(graph.n_pages)[:k].tolist()


METHODS = {
    "greedy": greedy,
    "max-out": max_out,
    "max-scc": max_scc,
    "max-weight": max_weight,
    "out-degree": out_degree,
    "pagerank": by_pagerank,
    "random": at_random,
    "root-scc": root_scc,
}
