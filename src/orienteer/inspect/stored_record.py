"""Build records from JSON that an earlier run, another version or another program wrote.

Nothing in such a file is trusted: an unknown key is ignored, and a value of the wrong type is the default of its field.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

Record = TypeVar("Record")


def record_of(kind: type[Record], values: Any) -> Record | None:
    """Return a dataclass with these values; None if a field without a default is missing or invalid."""
    if not isinstance(values, Mapping):
        return None
    found = {}
    for name, (hint, is_required) in _fields(kind).items():  # type: ignore[arg-type]  # classes can be hashed
        try:
            found[name] = _value(hint, values[name])
        except (KeyError, TypeError, ValueError, OverflowError):
            if is_required:
                return None
    return kind(**found)


@cache
def _fields(kind: type[Any]) -> dict[str, tuple[Any, bool]]:
    """Return the types of the fields of a record, and whether they are required."""
    hints = typing.get_type_hints(kind)
    return {
        field.name: (hints[field.name], field.default is MISSING and field.default_factory is MISSING)
        for field in fields(kind)
    }


def _value(hint: Any, value: Any) -> Any:
    """Return the value as the type of a field; a ValueError or TypeError if it is of another type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        return None if value is None else _value(next(one for one in arguments if one is not types.NoneType), value)
    if origin is tuple and isinstance(value, list):
        return tuple(_value(arguments[0], item) for item in value)
    if origin is dict and isinstance(value, Mapping):
        return {str(key): _value(arguments[1], item) for key, item in value.items()}
    if hint in (int, float) and isinstance(value, int if hint is int else int | float) and not isinstance(value, bool):
        return hint(value)
    if hint in (str, bool) and isinstance(value, hint):
        return value
    if isinstance(hint, type) and issubclass(hint, Enum | Path):
        return hint(value)
    record = record_of(hint, value) if is_dataclass(hint) and isinstance(hint, type) else None
    if record is None:
        raise ValueError
    return record
