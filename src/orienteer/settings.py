"""Settings as text: frozen dataclasses from TOML tables and back.

A settings class is a frozen dataclass next to the code that uses it; its fields are numbers, texts, truth values, or
lists of texts or numbers, each with a default. A mistake in a table is an error of one line that names the key.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, TypeVar

from orienteer.errors import InputError, unknown_name

Settings = TypeVar("Settings")

_KINDS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    tuple[str, ...]: "a list of texts",
    tuple[float, ...]: "a list of numbers",
}


def from_table(kind: type[Settings], table: Mapping[str, Any], where: str) -> Settings:
    """Build settings from a table; `where` names the table in messages. Missing keys have their defaults."""
    hints = _hints(kind)  # type: ignore[arg-type]  # classes can be hashed
    values = {}
    for key, value in table.items():
        if key not in hints:
            raise unknown_name(f"setting in {where}", key, hints)
        values[key] = _value(value, hints[key], f"{where}: {key}")
    for field in fields(kind):  # type: ignore[arg-type]
        if field.default is MISSING and field.default_factory is MISSING and field.name not in values:
            raise InputError(f"{where}: {field.name} is missing")
    return kind(**values)


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def to_table(settings: Any) -> dict[str, Any]:
    """Return the fields as a TOML table; None is left out, since TOML has no such value."""
    values = ((field.name, getattr(settings, field.name)) for field in fields(settings))
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values if value is not None}


def merged(*layers: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Merge tables: a later layer's value counts, unless it is None."""
    tables: dict[str, dict[str, Any]] = {}
    for layer in layers:
        for name, table in layer.items():
            tables.setdefault(name, {}).update({key: value for key, value in table.items() if value is not None})
    return tables


def _value(value: Any, hint: Any, where: str) -> Any:
    """Check a value and convert it to the type of its field."""
    allowed = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    expected_kinds = [kind for kind in allowed if kind is not type(None)]
    if value is None and type(None) in allowed:
        return None
    for kind in expected_kinds:
        with suppress(OverflowError):  # an int may be too large for a float
            if _fits(value, kind):
                return _converted(value, kind)
    raise InputError(f"{where} is {value!r}; it must be {' or '.join(_KINDS[kind] for kind in expected_kinds)}")


def _fits(value: Any, kind: Any) -> bool:
    if typing.get_origin(kind) is tuple:
        return isinstance(value, list | tuple) and all(_fits(item, typing.get_args(kind)[0]) for item in value)
    if isinstance(value, bool):  # which is an int to Python
        return kind is bool
    return isinstance(value, int | float if kind is float else kind)


def _converted(value: Any, kind: Any) -> Any:
    """Convert a value that fits to the type of its field."""
    if typing.get_origin(kind) is tuple:
        return tuple(_converted(item, typing.get_args(kind)[0]) for item in value)
    return kind(value)
