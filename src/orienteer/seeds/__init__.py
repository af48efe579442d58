"""Where to start: one file is one method of choosing seeds, found by its name.

A new method is a new file with a class that is marked `@seed_method`; it then appears in the command, the contract
tests and the comparison.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any

from orienteer.errors import InputError, unknown_name
from orienteer.seeds.seed_method import METHODS, SeedMethod


def all_methods() -> dict[str, type[SeedMethod]]:
    """Every method by its name; imports all files of this folder."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(METHODS.items()))


def settings_of(kind: type[SeedMethod]) -> dict[str, Any]:
    """A method's settings and their default values."""
    return {name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()}


def make_method(name: str, **settings: Any) -> SeedMethod:
    """The method of this name; a wrong name or setting is one clear line.

    >>> make_method("max-weight", depth=3).name
    'max-weight'
    """
    known = all_methods()
    if name not in known:
        raise unknown_name("seed method", name, known)
    allowed = settings_of(known[name])
    for setting in settings:
        if setting not in allowed:
            raise unknown_name(f"setting of {name}", setting, allowed)
    try:
        return known[name](**settings)
    except TypeError as error:
        raise InputError(f"seed method {name}: {error}") from None
