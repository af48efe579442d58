"""The reference of the commands, with the arguments and options of their help."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from orienteer.cli import main

from .markdown import cell, paragraphs, prose, table, value

_WORDS = {str: "TEXT", int: "NUMBER", float: "NUMBER", Path: "PATH"}

HEAD = """# Commands

`orienteer COMMAND --help` prints the same in the terminal. [All commands on a page](../commands.md) is shorter.
With `--json` a command prints one JSON document on stdout, and nothing else. Its `version` is 2; it changes when keys
are renamed or removed, not when keys are added.

## Exit codes

| code | meaning |
| --- | --- |
| 0 | Success. |
| 2 | Bad usage or bad input, with a one-line error on stderr. |
| 3 | The goal was not reached. |
| 130 | Interrupted with Ctrl-C, or by `orienteer stop`. |
| 143 | Interrupted by SIGTERM. |

Orienteer reads no environment variables of its own.
"""


def page() -> str:
    return HEAD + "".join(_section(path, command) for path, command in all_commands())


def all_commands() -> Iterator[tuple[str, Any]]:
    """Yield all commands with their full names, without groups."""
    yield from _below("orienteer", typer.main.get_command(main.command_line()))


def _below(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name, child in command.commands.items():
        yield from _below(f"{path} {name}", child)


def options_of(command: Any) -> list[Any]:
    """Return the options of a command, without --help, which all have."""
    return [one for one in command.params if one.param_type_name == "option" and one.name != "help"]


def _section(path: str, command: Any) -> str:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    usage = " ".join([path, *(_written(one) for one in arguments), "[OPTIONS]"])
    # The kind of a parameter is in the signature; typer's versions store it in different places.
    kinds = {one.name: one.annotation for one in inspect.signature(command.callback, eval_str=True).parameters.values()}
    rows = [(_name(one, kinds), cell(one.help or ""), _default(one)) for one in [*arguments, *options_of(command)]]
    text = paragraphs(command.help) if command.help else prose(command.callback.__doc__)
    heads = ["argument or option", "meaning", "default"]
    return f"\n## {path}\n\n`{usage}`\n\n{text}\n\n{table(heads, rows)}\n"


def _written(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    return name if argument.required else f"[{name}]"


def _name(one: Any, kinds: dict[str, Any]) -> str:
    if one.param_type_name == "argument":
        return f"`{one.metavar or one.name.upper()}`"
    names = ", ".join(f"`{name}`" for name in [*one.opts, *one.secondary_opts])
    return names if one.is_flag else f"{names} {cell(one.metavar or _kind(kinds[one.name]))}"


def _kind(hint: Any) -> str:
    """Return the kind of a parameter by its type: `Path | None` and `list[Path]` are both PATH."""
    inside = [kind for kind in typing.get_args(hint) if kind is not type(None)]
    return _kind(inside[0]) if inside else _WORDS[hint]


def _default(one: Any) -> str:
    return "" if one.default is False or callable(one.default) else value(one.default)
