"""What to fetch next: one file is one policy, found by its name.

A new policy is a new file with a class that is marked `@policy`; it then appears in the commands, the contract tests
and the comparison.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any

from orienteer.errors import InputError, unknown_name
from orienteer.policies.policy import POLICIES, Policy


def all_policies() -> dict[str, type[Policy]]:
    """Every policy by its name; imports all files of this folder."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(POLICIES.items()))


def settings_of(kind: type[Policy]) -> dict[str, Any]:
    """A policy's settings and their default values."""
    return {name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()}


def make_policy(name: str, **settings: Any) -> Policy:
    """The policy of this name; a wrong name or setting is one clear line.

    >>> make_policy("fractional", inter_host_weight=20).name
    'fractional'
    """
    known = all_policies()
    if name not in known:
        raise unknown_name("policy", name, known)
    allowed = settings_of(known[name])
    for setting in settings:
        if setting not in allowed:
            raise unknown_name(f"setting of {name}", setting, allowed)
    try:
        return known[name](**settings)
    except TypeError as error:
        raise InputError(f"policy {name}: {error}") from None
