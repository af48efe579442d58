"""Methods of seed selection: one file per method or family of methods, registered by name.

A new method is a new file with a class decorated with `@seed_method`; it then appears in the command, the contract
tests and the comparison.
"""

from __future__ import annotations

from typing import Any

from orienteer.registry import settings_of
from orienteer.seeds.seed_method import METHODS, SeedMethod

__all__ = ["all_methods", "make_method", "settings_of"]


def all_methods() -> dict[str, type[SeedMethod]]:
    """Return every method by its name, including plug-ins."""
    return METHODS.all()


def make_method(name: str, **settings: Any) -> SeedMethod:
    """Create the method of this name; an InputError names an unknown name or setting.

    >>> make_method("max-weight", depth=3).name
    'max-weight'
    """
    return METHODS.make(name, settings)
