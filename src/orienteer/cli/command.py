"""How commands are declared: a function of a module in this package, marked `@command`. `main` assembles them."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from typer.core import TyperCommand, TyperGroup

from orienteer.registry import OURS, Registry, entry_points_of

# The headings of `orienteer --help`, below the commands that matter first.
INSPECT, QUALITY, RESEARCH, SERVER = "Inspect", "Quality", "Research", "Server"
HEADINGS = ("", INSPECT, QUALITY, RESEARCH, SERVER)

# The extension points: groups of entry points, and the registry that loads each.
POLICIES, METHODS, TOPICS, EXPORTS, GRAPHS, FETCHERS, HOOKS = (
    f"orienteer.{name}"
    for name in ("policies", "seed_methods", "topics", "exports", "graph_formats", "fetchers", "page_hooks")
)
REGISTRIES = {
    POLICIES: "orienteer.policies.policy:POLICIES",
    METHODS: "orienteer.seeds.seed_method:METHODS",
    TOPICS: "orienteer.topics.topic:TOPICS",
    EXPORTS: "orienteer.exports.exporter:EXPORTERS",
    GRAPHS: "orienteer.graph.formats:FORMATS",
    FETCHERS: "orienteer.fetch.fetcher:FETCHERS",
    HOOKS: "orienteer.hooks:HOOKS",
}

Function = TypeVar("Function", bound=Callable[..., None])


class DeclaredCommand(NamedTuple):
    """A command, its heading in the help, and by option the extension point whose names it accepts."""

    run: Callable[..., None]
    heading: str
    plugins: Mapping[str, str]


_COMMANDS: dict[str, DeclaredCommand] = {}  # by the words that are typed


def command(heading: str, words: str = "", plugins: Mapping[str, str] | None = None) -> Callable[[Function], Function]:
    """Declare a command under a heading; without `words` it has the name of the function."""

    def declare(function: Function) -> Function:
        name = words or function.__name__.strip("_").replace("_", "-")
        _COMMANDS[name] = DeclaredCommand(function, heading, plugins or {})
        return function

    return declare


def declared_commands(first: str | None = None) -> dict[str, DeclaredCommand]:
    """Return the commands in the order of the help; with the `first` word of a command, only those that begin with it.

    Imports are slow, so only modules are imported whose text declares a command, with this word.
    """
    word = re.compile(rf'^def {first.replace("-", "_")}_?\(|"{first} ' if first else "^@command", re.MULTILINE)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "\n@command(" in text and word.search(text):
            importlib.import_module(f"{__package__}.{path.stem}")
    found = {name: one for name, one in _COMMANDS.items() if first in (None, name.split()[0])}
    if first and not found:
        return declared_commands()
    return dict(sorted(found.items(), key=lambda entry: (HEADINGS.index(entry[1].heading), entry[1].run.__module__)))


class Command(TyperCommand):
    """A command whose help names installed plug-ins, and shows no type for flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        return without_types_of_flags(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        declared = _COMMANDS.get(" ".join(ctx.command_path.split()[1:]))
        for option, group in (declared.plugins if declared else {}).items():
            names = _plugins(group)
            for parameter in self.params if names else ():
                if option in parameter.opts:
                    help_text = str(getattr(parameter, "help", "")).rstrip(".")
                    parameter.help = f"{help_text}. Plug-ins: {', '.join(names)}."  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


class CommandGroup(TyperGroup):
    """A group of commands, whose help shows no type for flags either."""

    def get_params(self, ctx: Any) -> list[Any]:
        return without_types_of_flags(super().get_params(ctx))


def without_types_of_flags(parameters: list[Any]) -> list[Any]:
    """Remove the type of flags from the help."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


def registry_of(group: str) -> Registry[Any]:
    """Return the registry of an extension point; this imports its package."""
    registry: Registry[Any] = pkgutil.resolve_name(REGISTRIES[group])
    return registry


def _plugins(group: str) -> list[str]:
    """Return the names that other packages add; import the registry only if there are any."""
    try:
        if not entry_points_of(group):
            return []
    except Exception:  # a damaged package; `orienteer plugins` says so
        return []
    registry = registry_of(group)
    return [name for name in registry.names() if registry.origin(name) != OURS]
