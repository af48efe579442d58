"""Estimation of the global rank of a domain: selections (which pages to fetch next) and estimators, by name.

A new selection or estimator is a class decorated with `@selection` or `@estimator`; it then appears in
the choices, the contract tests and the benchmark. `estimation` is the loop that uses both; read it first.
"""

from __future__ import annotations

from typing import Any

from orienteer.graph.estimation.estimator import ESTIMATORS, Estimator
from orienteer.graph.estimation.selection import SELECTIONS, Selection
from orienteer.registry import settings_of

__all__ = ["all_estimators", "all_selections", "make_estimator", "make_selection", "settings_of"]


def all_selections() -> dict[str, type[Selection]]:
    """Return every selection by its name."""
    return SELECTIONS.all()


def all_estimators() -> dict[str, type[Estimator]]:
    """Return every estimator by its name."""
    return ESTIMATORS.all()


def make_selection(name: str, **settings: Any) -> Selection:
    """Create the selection of this name; an InputError names an unknown name or setting.

    >>> make_selection("random", rng=3).name
    'random'
    """
    return SELECTIONS.make(name, settings)


def make_estimator(name: str, **settings: Any) -> Estimator:
    """Create the estimator of this name; an InputError names an unknown name or setting.

    >>> make_estimator("paper").name
    'paper'
    """
    return ESTIMATORS.make(name, settings)
