"""`orienteer plugins`: the plug-ins of other packages."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display
from orienteer.cli.command import REGISTRIES, RESEARCH, command, registry_of

if TYPE_CHECKING:
    from orienteer.registry import Registry


@command(RESEARCH)
def plugins(
    all_names: bool = typer.Option(False, "--all", help="Also list the built-in ones."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List installed plug-ins: policies, seed methods, topics, formats, fetchers and page hooks.

    Each is listed with its package. A plug-in that cannot be loaded is reported on stderr, with the reason; the exit
    code is still 0.

    Example: [bold]orienteer plugins --all[/bold]
    """
    registries = [registry_of(group) for group in REGISTRIES]
    found = [row for registry in registries for row in _rows(registry, all_names)]
    problems = [problem for registry in registries for problem in registry.problems]
    if json:
        broken = [
            {"kind": noun, "name": name, "package": origin.distribution, "version": origin.version, "error": error}
            for noun, name, origin, error in problems
        ]
        display.print_json({"plugins": found, "problems": broken})
        return
    if found:
        _print_table(found)
    else:
        print("no plug-ins are installed (--all also lists the built-in ones)")
    for problem in problems:
        print(f"cannot be loaded: {problem}", file=sys.stderr)


def _rows(registry: Registry[Any], all_names: bool) -> list[dict[str, Any]]:
    from orienteer.registry import OURS

    return [
        {
            "kind": registry.noun,
            "name": name,
            "package": registry.origin(name).distribution,
            "version": registry.origin(name).version,
            "about": _about(registry.find(name)),
        }
        for name in registry.names()
        if all_names or registry.origin(name) != OURS
    ]


def _about(thing: Any) -> str:
    """Return a line about a plug-in: its `about`, or the first line of its docstring."""
    text = getattr(thing, "about", None) or thing.__doc__ or ""
    return str(text).strip().partition("\n")[0]


def _print_table(found: list[dict[str, Any]]) -> None:
    from rich.text import Text

    table = display.columns_table(None, ("kind", False), ("name", False), ("from", False), ("", False))
    for row in found:
        origin = f"{row['package']} {row['version']}".strip()
        table.add_row(*(Text(text) for text in (row["kind"], row["name"], origin, row["about"])))
    display.console().print(table)
