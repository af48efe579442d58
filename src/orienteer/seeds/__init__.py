"""Methods of seed selection: one file per method or family of methods, registered by name.

A new method is a new file with a class decorated with `@seed_method`; it then appears in the command, the contract
tests and the comparison.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from orienteer.public_names import PublicPackage
from orienteer.registry import settings_of as settings_of
from orienteer.seeds.seed_method import METHODS, SeedMethod

if TYPE_CHECKING:  # the public names: see orienteer.public_names
    from orienteer.seeds.select import SeedSelection as SeedSelection
    from orienteer.seeds.select import seed_selection as seed_selection
    from orienteer.seeds.select import select_seeds as select_seeds
    from orienteer.seeds.value import paper_value as paper_value

sys.modules[__name__].__class__ = PublicPackage


def all_methods() -> dict[str, type[SeedMethod]]:
    """Return every method by its name, including plug-ins."""
    return METHODS.all()


def make_method(name: str, **settings: Any) -> SeedMethod:
    """Create the method of this name; an InputError names an unknown name or setting.

    >>> make_method("max-weight", depth=3).name
    'max-weight'
    """
    return METHODS.make(name, settings)
