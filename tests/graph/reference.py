"""Slow reference implementations, which the kernels must equal."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.reach import add_depth_weights


def dense_links(graph: LinkGraph) -> np.ndarray:
    """Boolean matrix: [i, j] where i links to j."""
    matrix = np.zeros((graph.n_pages, graph.n_pages), bool)
    matrix[graph.sources(), graph.targets] = True
    return matrix


def dense_pagerank(graph: LinkGraph, trust: np.ndarray, dangling: np.ndarray, damping: float) -> np.ndarray:
    """Solve r = d W r + d (rank on dangling pages) u + (1 - d) t directly."""
    n = graph.n_pages
    links = dense_links(graph).astype(float)
    degrees = links.sum(axis=1)
    step = np.where(degrees[:, None] > 0, links / np.maximum(degrees, 1)[:, None], dangling[None, :]).T
    return np.linalg.solve(np.eye(n) - damping * step, (1 - damping) * trust)


def dense_reach(graph: LinkGraph, hops: int) -> np.ndarray:
    """Boolean matrix: [i, j] where j is within `hops` links of i."""
    step = (np.eye(graph.n_pages, dtype=bool) | dense_links(graph)).astype(np.float32)  # much faster than of booleans
    reached = np.eye(graph.n_pages, dtype=bool)
    for _ in range(hops):
        reached = reached.astype(np.float32) @ step > 0
    return reached


def depth_weights(graph: LinkGraph, depth: int, values: ArrayLike | None = None) -> np.ndarray:
    """The depth-d weights of all pages, by the kernel; without values, the number of pages within `depth` links."""
    value = np.ones(graph.n_pages) if values is None else np.array(values, np.float64)
    weights = np.zeros(graph.n_pages)
    add_depth_weights(graph, depth, np.flatnonzero(value), value, weights)
    return weights


def dense_components(graph: LinkGraph) -> np.ndarray:
    """Boolean matrix: [i, j] where i and j can reach each other."""
    reached = dense_reach(graph, graph.n_pages)
    return reached & reached.T
