"""The reference of the settings of crawl.toml, from their dataclasses."""

from __future__ import annotations

from dataclasses import MISSING
from typing import Any

from orienteer.ledger.plan import settings_classes
from orienteer.settings import SettingsField, fields_of

from .markdown import cell, prose, table, value

HEAD = """# Settings

Every crawl folder has its settings in `crawl.toml`. Some have an option of `orienteer crawl`; all of them can be given
there as `--set table.key=value`, or in a file with `--settings FILE`, or from Python as
`settings={"table": {"key": value}}`. A list is written with commas, or as in TOML; after a `+` it is added to the
default, as in `--set "fetch.content_types=+image/*"`. `none` stands for the default where that is no value.

Those marked *fixed* define a crawl, and cannot be changed in its folder. The others may change from one run to the
next. An unknown setting is an error.
"""


def page() -> str:
    return HEAD + "".join(_section(name, kind) for name, kind in settings_classes().items())


def _section(name: str, kind: type[Any]) -> str:
    rows = [(f"`{one.name}`", _meaning(one), _type(one), _default(one)) for one in fields_of(kind).values()]
    heads = ["key", "meaning", "type", "default"]
    return f"\n## [{name}]\n\n{prose(kind.__doc__)}\n\n" + table(heads, rows) + "\n"


def _meaning(one: SettingsField) -> str:
    option = f" Option: `{one.about.option.replace(' ', '`, `')}`." if one.about.option else ""
    return cell(one.about.help + option) + " *Fixed.*" * one.about.fixed


def _type(one: SettingsField) -> str:
    return cell(", ".join(filter(None, [one.kind, one.about.allowed()])))


def _default(one: SettingsField) -> str:
    if one.default is MISSING:
        return "(needed)"
    return "(none)" if one.default in (None, ()) else value(one.default)
