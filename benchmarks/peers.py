"""Our graphs in other libraries' own form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from orienteer.graph.link_graph import LinkGraph


def networkit_graph(path: Path) -> Any:
    """One thread; NetworKit crashes on ids of 32 bits."""
    import networkit as nk

    nk.setNumberOfThreads(1)
    web = LinkGraph.load(path)
    links = web.sources().astype(np.int64), np.array(web.targets, np.int64)
    return nk.graph.GraphFromCoo(links, n=web.n_pages, weighted=False, directed=True)


def igraph_graph(path: Path) -> Any:
    import igraph

    web = LinkGraph.load(path)
    return igraph.Graph(n=web.n_pages, edges=np.column_stack((web.sources(), web.targets)), directed=True)
