"""What to fetch next: one file is one policy, found by its name.

A new policy is a new file with a class that is marked `@policy`; it then appears in the commands, the contract tests
and the comparison.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orienteer.policies.policy import POLICIES, Policy
from orienteer.registry import settings_of

__all__ = ["all_policies", "make_policy", "settings_of"]


def all_policies() -> dict[str, type[Policy]]:
    """Every policy by its name, those of other packages too."""
    return POLICIES.all()


def make_policy(name: str, **settings: Any) -> Policy:
    """The policy of this name; a wrong name or setting is one clear line. It knows what the file `model` holds, if any.

    >>> make_policy("fractional", inter_host_weight=20).name
    'fractional'
    """
    policy = POLICIES.make(name, settings)
    if not settings.get("model"):  # which only those have that are trained
        return policy
    from orienteer.policies.model_file import trained_policy

    return trained_policy(Path(str(settings["model"])), name, settings)
