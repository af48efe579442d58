"""Link graphs as JSON: the links of each page.

{"links": [[1, 2], [0], []], "urls": ["http://a.example/", ...]}
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from orienteer.errors import GraphFileError
from orienteer.graph.formats import GraphFormat
from orienteer.graph.link_graph import LinkGraph
from orienteer.progress import Progress


def read(path: Path, progress: Progress) -> LinkGraph:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        links = content["links"]
        sources = np.repeat(np.arange(len(links)), [len(targets) for targets in links])
        targets = np.array([target for targets in links for target in targets], np.int64)
        return LinkGraph.from_links(len(links), sources, targets, urls=content.get("urls"))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise GraphFileError(f"{path}: not an adjacency file ({type(error).__name__})") from None


def write(graph: LinkGraph, path: Path, progress: Progress, **options: Any) -> None:
    links = [graph.links(page).tolist() for page in range(graph.n_pages)]
    urls = None if graph.urls is None else [graph.urls[page] for page in range(graph.n_pages)]
    path.write_text(json.dumps({"links": links, "urls": urls}), encoding="utf-8")


ADJACENCY = GraphFormat("adjacency", "JSON: the links of each page", read, write, (".adj",))
