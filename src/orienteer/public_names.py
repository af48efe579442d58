"""The public names of a package, from one list: the imports under `if TYPE_CHECKING:` in its __init__.

    if TYPE_CHECKING:
        from orienteer.graph.pagerank import pagerank as pagerank

    sys.modules[__name__].__class__ = PublicPackage

Type checkers read these imports as they are. At run time each name is imported when it is first used, so that importing
the package costs nothing. `__all__`, `dir()` and the reference (docs/_generator) have the names from the same list.

A public function may have the name of the module that defines it, or of a subpackage, such as `orienteer.crawl`. The
attribute of the package is then the function; the module is imported with `from orienteer.crawl.goal import Goal`.
"""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType
from typing import Any

# Where the names are that version 0.2 had at the top level.
_FORMER_NAMES = {
    "Certificate": "orienteer.graph.Certificate",
    "Crawl": "orienteer.crawl.crawl.Crawl",
    "Estimate": "orienteer.graph.Estimate",
    "Estimation": "orienteer.graph.Estimation",
    "EstimatorTopic": "orienteer.topics.EstimatorTopic",
    "ExportError": "orienteer.errors.ExportError",
    "ExportReport": "orienteer.exports.export.ExportReport",
    "GraphFileError": "orienteer.errors.GraphFileError",
    "GrowingGraph": "orienteer.graph.GrowingGraph",
    "Hit": "orienteer.search.Hit",
    "ImportReport": "orienteer.imports.import_crawl.ImportReport",
    "IndexReport": "orienteer.search.IndexReport",
    "Measured": "orienteer.graph.Measured",
    "MissingExtraError": "orienteer.errors.MissingExtraError",
    "PageContent": "orienteer.topics.PageContent",
    "Politeness": "orienteer.crawl.politeness.Politeness",
    "SearchIndex": "orienteer.search.SearchIndex",
    "SearchResults": "orienteer.search.SearchResults",
    "SeedSelection": "orienteer.seeds.SeedSelection",
    "Topic": "orienteer.topics.Topic",
    "Trace": "orienteer.crawl.simulate.Trace",
    "certificate": "orienteer.graph.certificate",
    "estimate_global_rank": "orienteer.graph.estimate_global_rank",
    "export": "orienteer.open(folder).export(format, path)",
    "live_crawl": "orienteer.crawl(url, folder)",
    "load_topic": "orienteer.topics.load_topic",
    "navigational_rank": "orienteer.graph.navigational_rank",
    "paper_value": "orienteer.seeds.paper_value",
    "refresh": "orienteer.open(folder).refresh()",
    "seed_selection": "orienteer.seeds.seed_selection",
    "survey": "orienteer.graph.survey",
    "update_index": "orienteer.open(folder).index()",
}


class PublicPackage(ModuleType):
    """The class of a package whose public names are imported when they are used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        homes = public_names(self.__name__)
        if name == "__all__":
            return list(homes)
        if name in homes:
            value = getattr(importlib.import_module(homes[name]), name)
            super().__setattr__(name, value)
            return value
        if self.__name__ == "orienteer" and name in _FORMER_NAMES:
            raise AttributeError(f"orienteer.{name} is {_FORMER_NAMES[name]} now")
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __setattr__(self, name: str, value: object) -> None:
        # An import of a submodule binds it here; a public function of the same name stays.
        if not (isinstance(value, ModuleType) and name in public_names(self.__name__)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted([*(name for name in self.__dict__ if name.startswith("__")), *public_names(self.__name__)])


@cache
def public_names(package: str) -> dict[str, str]:
    """Return the public names of a package in alphabetical order, each with the module that defines it."""
    import ast

    spec = importlib.import_module(package).__spec__
    source = None if spec is None else spec.loader.get_source(package)  # type: ignore[union-attr]
    homes = {
        alias.name: statement.module
        for block in ast.parse(source or "").body
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for statement in block.body
        if isinstance(statement, ast.ImportFrom) and statement.module is not None
        for alias in statement.names
    }
    return dict(sorted(homes.items()))
