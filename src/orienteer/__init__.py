"""Orienteer: where to start a crawl, what to fetch next, when to stop, and what the pages are worth.

The public names; each is imported when first used, so that `import orienteer` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orienteer.crawl.crawl import Crawl
    from orienteer.crawl.simulate import simulate
    from orienteer.crawl.trace import Trace
    from orienteer.errors import ExportError, GraphFileError, InputError, MissingExtraError, OrienteerError
    from orienteer.exports.export import ExportReport, export
    from orienteer.frontier.politeness import Politeness
    from orienteer.graph.coverage import certificate
    from orienteer.graph.estimate import Estimate, estimate_global_rank
    from orienteer.graph.estimation.estimation import Estimation
    from orienteer.graph.growing_graph import GrowingGraph
    from orienteer.graph.link_graph import LinkGraph
    from orienteer.graph.navigational import navigational_rank
    from orienteer.graph.pagerank import pagerank
    from orienteer.graph.proved import Certificate
    from orienteer.graph.survey.measured import Measured
    from orienteer.graph.survey.survey import survey
    from orienteer.hooks.hook_page import HookPage
    from orienteer.imports.import_crawl import ImportReport, import_crawl
    from orienteer.live.session import live_crawl, refresh
    from orienteer.pages.added import Added
    from orienteer.search.indexing import IndexReport, update_index
    from orienteer.search.search_index import Hit, SearchIndex, SearchResults
    from orienteer.seeds.select import SeedSelection, seed_selection, select_seeds
    from orienteer.seeds.value import paper_value
    from orienteer.topics.classifier import EstimatorTopic
    from orienteer.topics.topic import PageContent, Topic
    from orienteer.topics.topic_file import load_topic

__version__ = "0.2.0"

_HOMES = {
    "Added": "pages.added",
    "Certificate": "graph.coverage",
    "Crawl": "crawl.crawl",
    "Estimate": "graph.estimate",
    "Estimation": "graph.estimation.estimation",
    "EstimatorTopic": "topics.classifier",
    "ExportError": "errors",
    "ExportReport": "exports.export",
    "GraphFileError": "errors",
    "GrowingGraph": "graph.growing_graph",
    "Hit": "search.search_index",
    "HookPage": "hooks.hook_page",
    "ImportReport": "imports.import_crawl",
    "IndexReport": "search.indexing",
    "InputError": "errors",
    "LinkGraph": "graph.link_graph",
    "Measured": "graph.survey.measured",
    "MissingExtraError": "errors",
    "OrienteerError": "errors",
    "PageContent": "topics.topic",
    "Politeness": "frontier.politeness",
    "SearchIndex": "search.search_index",
    "SearchResults": "search.search_index",
    "SeedSelection": "seeds.select",
    "Topic": "topics.topic",
    "Trace": "crawl.trace",
    "certificate": "graph.coverage",
    "estimate_global_rank": "graph.estimate",
    "export": "exports.export",
    "import_crawl": "imports.import_crawl",
    "live_crawl": "live.session",
    "load_topic": "topics.topic_file",
    "navigational_rank": "graph.navigational",
    "pagerank": "graph.pagerank",
    "paper_value": "seeds.value",
    "refresh": "live.session",
    "seed_selection": "seeds.select",
    "select_seeds": "seeds.select",
    "simulate": "crawl.simulate",
    "survey": "graph.survey.survey",
    "update_index": "search.indexing",
}

__all__ = [
    "Added",
    "Certificate",
    "Crawl",
    "Estimate",
    "Estimation",
    "EstimatorTopic",
    "ExportError",
    "ExportReport",
    "GraphFileError",
    "GrowingGraph",
    "Hit",
    "HookPage",
    "ImportReport",
    "IndexReport",
    "InputError",
    "LinkGraph",
    "Measured",
    "MissingExtraError",
    "OrienteerError",
    "PageContent",
    "Politeness",
    "SearchIndex",
    "SearchResults",
    "SeedSelection",
    "Topic",
    "Trace",
    "certificate",
    "estimate_global_rank",
    "export",
    "import_crawl",
    "live_crawl",
    "load_topic",
    "navigational_rank",
    "pagerank",
    "paper_value",
    "refresh",
    "seed_selection",
    "select_seeds",
    "simulate",
    "survey",
    "update_index",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'orienteer' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"orienteer.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*(name for name in globals() if name.startswith("__")), *__all__])
