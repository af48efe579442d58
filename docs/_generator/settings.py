"""The reference of the settings of crawl.toml, from their dataclasses."""

from __future__ import annotations

import typing
from dataclasses import MISSING, fields
from typing import Any

from orienteer.ledger.plan import CrawlPlan
from orienteer.settings import _KINDS

from .markdown import prose, table, value

HEAD = """# Settings

Every crawl folder has its settings in `crawl.toml`. Most have an option of `orienteer crawl`; all of them can be given
in a file with `orienteer crawl --settings FILE`, or from Python as `settings={"table": {"key": value}}`.

`seeds`, `trust`, `policy`, `damping`, `topic` and all of `[scope]` define a crawl, and cannot be changed in its folder.
The others may change from one run to the next. An unknown setting is an error.
"""


def page() -> str:
    return HEAD + "".join(_section(name, kind) for name, kind in tables().items())


def tables() -> dict[str, Any]:
    """Return the class of each table."""
    return typing.get_type_hints(CrawlPlan)


def _section(name: str, kind: Any) -> str:
    hints = typing.get_type_hints(kind)
    rows = [(f"`{one.name}`", _kind(hints[one.name]), _default(one)) for one in fields(kind)]
    return f"\n## [{name}]\n\n{prose(kind.__doc__)}\n\n" + table(["key", "kind", "default"], rows) + "\n"


def _kind(hint: Any) -> str:
    return _KINDS[hint] if hint in _KINDS else next(_KINDS[kind] for kind in typing.get_args(hint) if kind in _KINDS)


def _default(one: Any) -> str:
    if one.default is MISSING:
        return "(needed)"
    return "(none)" if one.default in (None, ()) else value(one.default)
