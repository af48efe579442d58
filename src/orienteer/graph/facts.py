"""Summary statistics of a graph, as `orienteer graph info` prints them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.components import components
from orienteer.graph.hosts import inter_host_links, with_hosts
from orienteer.graph.link_graph import LinkGraph
from orienteer.progress import Progress, silent

QUANTILES = {"min": 0.0, "median": 0.5, "90%": 0.9, "99%": 0.99, "max": 1.0}


def graph_facts(graph: LinkGraph, progress: Progress = silent) -> dict[str, Any]:
    """Return counts, degree quantiles, the size of the largest component, and host statistics if hosts are known."""
    progress("counting links", 0, 4)
    in_degrees, out_degrees = graph.in_degrees(), graph.out_degrees()
    facts: dict[str, Any] = {
        "n_pages": graph.n_pages,
        "n_links": graph.n_links,
        "mean_degree": graph.n_links / graph.n_pages if graph.n_pages else 0.0,
        "n_dangling": int((out_degrees == 0).sum()),
        "n_without_in_links": int((in_degrees == 0).sum()),
        "n_isolated": int(((out_degrees == 0) & (in_degrees == 0)).sum()),
        "out_degree": _quantiles(out_degrees),
        "in_degree": _quantiles(in_degrees),
        "has_urls": graph.urls is not None,
    }
    progress("finding components", 1, 4)
    n_components, labels = components(graph)
    facts["n_components"] = n_components
    facts["largest_component"] = int(np.bincount(labels).max()) if graph.n_pages else 0
    progress("counting hosts", 2, 4)
    if graph.hosts is None and graph.urls is not None:
        graph = with_hosts(graph)
    if graph.hosts is not None:
        inter = inter_host_links(graph)
        facts["n_hosts"] = int(np.count_nonzero(np.bincount(graph.hosts)))
        facts["n_inter_host_links"] = inter
        facts["inter_host_share"] = inter / graph.n_links if graph.n_links else 0.0
    progress("counting hosts", 4, 4)
    return facts


def _quantiles(degrees: NDArray[np.int64]) -> dict[str, int]:
    if len(degrees) == 0:
        return dict.fromkeys(QUANTILES, 0)
    values = np.quantile(degrees, list(QUANTILES.values()), method="inverted_cdf")
    return {name: int(value) for name, value in zip(QUANTILES, values, strict=True)}
