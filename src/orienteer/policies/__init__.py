"""Crawl policies, which decide what to fetch next: one file per policy or family of policies, registered by name.

A new policy is a new file with a class decorated with `@policy`; it then appears in the commands, the contract tests
and the comparison.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orienteer.policies.policy import POLICIES, Policy
from orienteer.registry import settings_of

__all__ = ["all_policies", "make_policy", "settings_of"]


def all_policies() -> dict[str, type[Policy]]:
    """Return every policy by its name, including plug-ins."""
    return POLICIES.all()


def make_policy(name: str, **settings: Any) -> Policy:
    """Create the policy of this name, with the content of the file `model`, if any; invalid settings are an InputError.

    >>> make_policy("fractional", inter_host_weight=20).name
    'fractional'
    """
    policy = POLICIES.make(name, settings)
    if not settings.get("model"):  # only trained policies have this setting
        return policy
    from orienteer.policies.trained import trained_policy

    return trained_policy(Path(str(settings["model"])), name, settings)
