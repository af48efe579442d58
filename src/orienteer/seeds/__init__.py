"""Where to start: one file is one method of choosing seeds, found by its name.

A new method is a new file with a class that is marked `@seed_method`; it then appears in the command, the contract
tests and the comparison.
"""

from __future__ import annotations

from typing import Any

from orienteer.registry import settings_of
from orienteer.seeds.seed_method import METHODS, SeedMethod

__all__ = ["all_methods", "make_method", "settings_of"]


def all_methods() -> dict[str, type[SeedMethod]]:
    """Every method by its name, those of other packages too."""
    return METHODS.all()


def make_method(name: str, **settings: Any) -> SeedMethod:
    """The method of this name; a wrong name or setting is one clear line.

    >>> make_method("max-weight", depth=3).name
    'max-weight'
    """
    return METHODS.make(name, settings)
