"""Interchangeable things found by their names: one file of a folder is one of them, and registers itself."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from orienteer.errors import InputError, unknown_name

Kind = TypeVar("Kind")


def import_all(package: str, path: Iterable[str]) -> None:
    """Import every file of a package, so that each has registered what it holds."""
    for module in pkgutil.iter_modules(path):
        importlib.import_module(f"{package}.{module.name}")


def settings_of(kind: type[Any]) -> dict[str, Any]:
    """The keyword arguments a kind is made with, and their default values."""
    return {name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()}


def made(what: str, known: Mapping[str, type[Kind]], name: str, settings: Mapping[str, Any]) -> Kind:
    """The one of this name, with these settings; a wrong name or setting is one clear line. `what` they all are."""
    if name not in known:
        raise unknown_name(what, name, known)
    allowed = settings_of(known[name])
    for setting in settings:
        if setting not in allowed:
            raise unknown_name(f"setting of {name}", setting, allowed)
    try:
        return known[name](**settings)
    except TypeError as error:
        raise InputError(f"{what} {name}: {error}") from None
