"""What pages are worth in the whole web: selections (what to fetch next) and estimators (what follows), by name.

A new selection or estimator is a new file with a class that is marked `@selection` or `@estimator`; it then appears in
the choices, the contract tests and the benchmark. `estimation` is the loop that uses both; read it first.
"""

from __future__ import annotations

from typing import Any

from orienteer.graph.estimation.estimator import ESTIMATORS, Estimator
from orienteer.graph.estimation.selection import SELECTIONS, Selection
from orienteer.registry import settings_of

__all__ = ["all_estimators", "all_selections", "make_estimator", "make_selection", "settings_of"]


def all_selections() -> dict[str, type[Selection]]:
    """Every selection by its name."""
    return SELECTIONS.all()


def all_estimators() -> dict[str, type[Estimator]]:
    """Every estimator by its name."""
    return ESTIMATORS.all()


def make_selection(name: str, **settings: Any) -> Selection:
    """The selection of this name; a wrong name or setting is one clear line.

    >>> make_selection("random", rng=3).name
    'random'
    """
    return SELECTIONS.make(name, settings)


def make_estimator(name: str, **settings: Any) -> Estimator:
    """The estimator of this name; a wrong name or setting is one clear line.

    >>> make_estimator("paper").name
    'paper'
    """
    return ESTIMATORS.make(name, settings)
