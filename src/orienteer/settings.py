"""Settings: frozen dataclasses whose fields say what documents, options and forms are made of.

A settings class is a frozen dataclass next to the code that uses it; its fields are numbers, texts, truth values, or
lists of texts or numbers. `setting` declares a field with its help, range and option. Values come from TOML tables
(`from_table`) or from texts of the user (`from_text`); a mistake is an error of one line that names the key.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any, NamedTuple, TypeVar

from orienteer.errors import InputError, unknown_name

Settings = TypeVar("Settings")
Tables = Mapping[str, Mapping[str, Any]]  # as in crawl.toml

_KINDS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    tuple[str, ...]: "a list of texts",
    tuple[float, ...]: "a list of numbers",
}
_WORDS = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}
_NONE = "none"


@dataclass(frozen=True)
class About:
    """What a field says about its setting. A value must be one of the `choices` (if any), and from `least` to `most`.

    `option` is how the command line writes it, such as "--delay", and `group` its heading in the help; other settings
    are given by --set. The short help shows `basic` options only. A `fixed` setting identifies a crawl: a resume cannot
    change it.
    """

    help: str = ""
    option: str = ""
    group: str = ""
    metavar: str = ""
    choices: tuple[str, ...] = ()
    least: float = -math.inf
    most: float = math.inf
    basic: bool = False
    fixed: bool = False

    def allowed(self) -> str:
        """Describe the allowed values: `off, report, merge`, `from 1 to 10,000`; empty if all are."""
        if self.choices:
            return ", ".join(self.choices)
        bounds = [f"{bound:,}" for bound in (self.least, self.most) if math.isfinite(bound)]
        return f"from {bounds[0]} to {bounds[1]}" if len(bounds) == 2 else f"at least {bounds[0]}" if bounds else ""


class SettingsField(NamedTuple):
    """A field of a settings class; `default` is MISSING where there is none."""

    name: str
    hint: Any
    default: Any
    about: About

    @property
    def kind(self) -> str:
        """The type of its values: `a whole number`."""
        return " or ".join(_KINDS[kind] for kind in _kinds_of(self.hint))


def setting(default: Any, help: str, **about: Any) -> Any:
    """Declare a field of a settings class; `about` are the fields of About."""
    return field(default=default, metadata={"about": About(help, **about)})


def fields_of(kind: type[Any]) -> dict[str, SettingsField]:
    """Return the fields of a settings class by name."""
    return _fields_of(kind)  # type: ignore[arg-type]  # classes can be hashed


@cache
def _fields_of(kind: Any) -> dict[str, SettingsField]:
    hints = typing.get_type_hints(kind)
    about = ((one, one.metadata.get("about", About())) for one in fields(kind))
    return {one.name: SettingsField(one.name, hints[one.name], one.default, known) for one, known in about}


def check(settings: Any) -> None:
    """Raise an InputError for the first value that is not one of its choices, or out of its range."""
    for name, one in fields_of(type(settings)).items():
        _check_value(getattr(settings, name), one.about, name)


def _check_value(value: Any, about: About, name: str) -> None:
    if about.choices and value not in about.choices:
        raise unknown_name(f"choice for {name}", value, about.choices)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and about.allowed() and not (about.least <= value <= about.most and math.isfinite(value)):
        raise InputError(f"{name} is {value}; it must be {about.allowed()}")


# -- tables -------------------------------------------------------------------------------------------------------


def from_table(kind: type[Settings], table: Mapping[str, Any], where: str) -> Settings:
    """Build settings from a table; `where` names the table in messages. Missing keys, and None, have their defaults."""
    known = fields_of(kind)
    values = {}
    for key, value in table.items():
        if key not in known:
            raise unknown_name(f"setting in {where}", key, known)
        if value is not None:
            values[key] = _value(value, known[key].hint, f"{where}: {key}")
    for name, one in known.items():
        if one.default is MISSING and name not in values:
            raise InputError(f"{where}: {name} is missing")
    return kind(**values)


def to_table(settings: Any) -> dict[str, Any]:
    """Return the fields as a TOML table; None is left out, since TOML has no such value."""
    values = ((one.name, getattr(settings, one.name)) for one in fields(settings))
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values if value is not None}


def merged(*layers: Tables) -> dict[str, dict[str, Any]]:
    """Merge tables: a later layer's value counts, also None, which means the default."""
    tables: dict[str, dict[str, Any]] = {}
    for layer in layers:
        for name, table in layer.items():
            tables.setdefault(name, {}).update(table)
    return tables


def stated(**values: Any) -> dict[str, Any]:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def _kinds_of(hint: Any) -> list[Any]:
    """Return the types of a hint, without None."""
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    return [kind for kind in kinds if kind is not type(None)]


def _value(value: Any, hint: Any, where: str) -> Any:
    """Check a value and convert it to the type of its field."""
    for kind in _kinds_of(hint):
        with suppress(OverflowError):  # an int may be too large for a float
            if _fits(value, kind):
                return _converted(value, kind)
    raise InputError(f"{where} is {value!r}; it must be {' or '.join(_KINDS[kind] for kind in _kinds_of(hint))}")


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


# -- texts --------------------------------------------------------------------------------------------------------


def from_text(text: str, one: SettingsField, where: str) -> Any:
    """Parse the text of a user: `98 %`, `10,000`, `on`, `none`, a list with commas or as in TOML.

    A list after a `+` is added to the default.


    >>> from_text("98 %", SettingsField("until", float | None, None, About()), "--until")
    0.98
    """
    typed = text.strip()
    if typed.lower() == _NONE and isinstance(one.hint, types.UnionType):
        return None
    kind = _kinds_of(one.hint)[0]
    try:
        if typed.startswith("+") and isinstance(one.default, tuple):
            return (*one.default, *_parsed(typed[1:], kind))
        value = _parsed(typed, kind)
    except ValueError:  # also that of tomllib
        or_none = ", or none" if isinstance(one.hint, types.UnionType) else ""
        raise InputError(f"{where} is {text!r}; it must be {_KINDS[kind]}{or_none}") from None
    _check_value(value, one.about, where)
    return value


def _parsed(text: str, kind: Any) -> Any:
    """Return the value of a text; raise ValueError if it is none of this type."""
    if kind is str:
        return text
    if kind is bool:
        if text.lower() not in _WORDS:
            raise ValueError
        return _WORDS[text.lower()]
    if typing.get_origin(kind) is tuple:
        item = typing.get_args(kind)[0]
        if text.startswith("["):
            import tomllib

            items = tomllib.loads(f"items = {text}")["items"]
            if not _fits(items, kind):
                raise ValueError
            return tuple(items)
        return tuple(_parsed(part.strip(), item) for part in text.split(",") if part.strip())
    if "_" in text:  # which Python allows
        raise ValueError
    if kind is int:
        return int(text.replace(",", ""))
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)


def option_word(table: str, one: SettingsField, value: Any) -> str:
    """Return the word of a command line for a setting: `--delay=2`, `--set=fetch.timeout_s=10`."""
    flag, _, negative = one.about.option.partition(" ")[0].partition("/")
    if flag and isinstance(value, bool):
        return flag if value else negative
    text = _NONE if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return f"{flag}={text}" if flag else f"--set={table}.{one.name}={text}"


def set_tables(texts: Iterable[str], kinds: Mapping[str, type[Any]]) -> dict[str, dict[str, Any]]:
    """Return the tables of settings written as `table.key=value`; `kinds` are the settings classes by table."""
    tables: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        table, dot, key = name.strip().partition(".")
        if not equals or not dot:
            raise InputError(f"--set {text}: write table.key=value, such as fetch.timeout_s=10")
        if table not in kinds:
            raise unknown_name("table of settings", table, kinds)
        known = fields_of(kinds[table])
        if key not in known:
            raise unknown_name(f"setting in [{table}]", key, known)
        tables.setdefault(table, {})[key] = from_text(value, known[key], f"--set {table}.{key}")
    return tables
