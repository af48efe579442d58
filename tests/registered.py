"""Things that are registered for one test."""

from __future__ import annotations

from typing import Any

import pytest

from orienteer.registry import HERE, Registered, Registry


def register_for_now(registry: Registry[Any], thing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if it were marked by the decorator; forgotten when the test is over."""
    monkeypatch.setitem(registry._things, thing.name, Registered(thing, HERE))
