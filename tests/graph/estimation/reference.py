"""Slow reference: the paper's FindGlobalPR, its scores, and frontier return, on dense matrices."""

from __future__ import annotations

import numpy as np

from orienteer.graph.estimation.estimator import AT_HOME, CAUTION, LOCAL
from orienteer.graph.link_graph import LinkGraph
from tests.graph.reference import dense_links

DAMPING = 0.85


def dense_rank(links: np.ndarray) -> np.ndarray:
    """PageRank of a matrix of links ([i, j] where i links to j), uniform jump, dangling pages lead anywhere."""
    n = len(links)
    degrees = links.sum(axis=1, keepdims=True)
    step = np.where(degrees > 0, links / np.maximum(degrees, 1), 1 / n).T
    return np.linalg.solve(np.eye(n) - DAMPING * step, np.full(n, (1 - DAMPING) / n))


def dense_change(links: np.ndarray, crawled: np.ndarray, page: int) -> np.ndarray:
    """S f - f on the crawled pages, S the stochastic complement of them with `page`, whose links are as links go."""
    inside = links[np.ix_(crawled, crawled)].astype(float)
    size = len(crawled)
    spread = inside.sum(axis=0) / inside.sum() if inside.sum() else np.full(size, 1 / size)
    grown = np.zeros((size + 1, size + 1))
    grown[:size, :size] = inside
    grown[:size, size] = links[crawled, page]
    degrees = grown.sum(axis=1, keepdims=True)
    rows = np.where(degrees > 0, grown / np.maximum(degrees, 1), 1 / (size + 1))
    rows[size] = [*spread, 0]
    step = DAMPING * rows.T + (1 - DAMPING) / (size + 1)
    complement = step[:size, :size] + np.outer(step[:size, size], step[size, :size]) / (1 - step[size, size])
    rank = dense_rank(inside)
    return complement @ rank - rank


def exact_influence(links: np.ndarray, crawled: np.ndarray, n_local: int, page: int) -> float:
    """The L1 change of the local pages' rank when `page` is added, with average links, and the web is ranked again."""
    inside = links[np.ix_(crawled, crawled)].astype(float)
    grown = np.zeros((len(crawled) + 1, len(crawled) + 1))
    grown[:-1, :-1] = inside
    grown[:-1, -1] = links[crawled, page]
    grown[-1, :-1] = inside.sum(axis=0) if inside.any() else 1
    after = dense_rank(grown)[:-1]
    return float(np.abs(after / after.sum() - dense_rank(inside))[:n_local].sum())


def frontier_of(links: np.ndarray, crawled: np.ndarray) -> np.ndarray:
    known = links[crawled].any(axis=0)
    known[crawled] = False
    return np.flatnonzero(known)


def dense_scores(links: np.ndarray, crawled: np.ndarray, n_local: int, select: str) -> np.ndarray:
    frontier = frontier_of(links, crawled)
    if select == "stochastic-complement":
        return np.array([np.abs(dense_change(links, crawled, j)[:n_local]).sum() for j in frontier])
    if select == "outlink-count":
        return links[np.ix_(crawled, frontier)].sum(axis=0).astype(float)
    inside = links[np.ix_(crawled, crawled)]
    return (dense_rank(inside) / (inside.sum(axis=1) + 1)) @ links[np.ix_(crawled, frontier)]


def dense_find_global(graph: LinkGraph, local: np.ndarray, quotas: list[int], select: str) -> tuple[np.ndarray, list]:
    """FindGlobalPR: (the estimate by the paper's method, the pages in the order they were fetched)."""
    links = dense_links(graph)
    crawled = local
    for k in quotas:
        frontier = frontier_of(links, crawled)
        scores = dense_scores(links, crawled, len(local), select)
        crawled = np.append(crawled, frontier[np.argsort(-scores.round(12), kind="stable")[:k]])
    rank = dense_rank(links[np.ix_(crawled, crawled)])[: len(local)]
    return rank / rank.sum(), crawled[len(local) :].tolist()


def dense_frontier_return(graph: LinkGraph, local: np.ndarray, crawled: np.ndarray) -> np.ndarray:
    """Every page of the frontier has the mean row of its substitutes; solved as a linear system."""
    links = dense_links(graph).astype(float)
    frontier = frontier_of(links.astype(bool), crawled)
    n, size = len(local), len(crawled)
    known = np.append(crawled, frontier)
    rows = links[np.ix_(crawled, known)]
    rows /= np.maximum(rows.sum(axis=1, keepdims=True), 1)
    rank = dense_rank(links[np.ix_(crawled, crawled)])
    anyone = np.full(size, AT_HOME / n)
    if size > n:
        anyone[n:] = rank[n:] / rank[n:].mean()
    weight = np.where(np.arange(size) < n, LOCAL, 1.0)
    step = np.zeros((len(known), len(known)))
    step[:size] = rows
    for j, page in enumerate(frontier):
        parents = [i for i in crawled[n:] if links[i, page] and links[i, crawled].any()]
        substitute = CAUTION * anyone / anyone.sum()
        for i in parents:
            substitute = substitute + links[i, crawled] * weight / (links[i, crawled] * weight).sum()
        step[size + j] = substitute / (len(parents) + CAUTION) @ rows
    x = np.linalg.solve(np.eye(len(known)) - DAMPING * step.T, np.ones(len(known)))[:n]
    return x / x.sum()
