"""Help texts that name installed plug-ins, which are only looked up when help is requested."""

from __future__ import annotations

import pkgutil
from typing import Any

from typer.core import TyperCommand, TyperGroup

from orienteer.registry import OURS, Registry, entry_points_of

# Group of entry points: the registry that loads it. These are all extension points.
REGISTRIES = {
    "orienteer.policies": "orienteer.policies.policy:POLICIES",
    "orienteer.seed_methods": "orienteer.seeds.seed_method:METHODS",
    "orienteer.topics": "orienteer.topics.topic:TOPICS",
    "orienteer.exports": "orienteer.exports.exporter:EXPORTERS",
    "orienteer.graph_formats": "orienteer.graph.formats:FORMATS",
    "orienteer.fetchers": "orienteer.fetch.fetcher:FETCHERS",
    "orienteer.page_hooks": "orienteer.hooks:HOOKS",
}
_POLICIES, _METHODS, _, _EXPORTS, _GRAPHS, _FETCHERS, _HOOKS = REGISTRIES

# Command, option: the group whose names the option accepts.
_CHOSEN: dict[str, dict[str, str]] = {
    "crawl": {"--policy": _POLICIES, "--seed-method": _METHODS, "--fetcher": _FETCHERS, "--hook": _HOOKS},
    "import": {"--hook": _HOOKS},
    "replay": {"--policy": _POLICIES},
    "simulate": {"--policy": _POLICIES, "--format": _GRAPHS},
    "compare": {"--policies": _POLICIES, "--format": _GRAPHS},
    "seeds": {"--method": _METHODS, "--format": _GRAPHS},
    "export": {"--format": _EXPORTS},
    "info": {"--format": _GRAPHS},
    "convert": {"--from": _GRAPHS, "--to": _GRAPHS},
}


def registry_of(group: str) -> Registry[Any]:
    """Return the registry of a group; this imports its package."""
    registry: Registry[Any] = pkgutil.resolve_name(REGISTRIES[group])
    return registry


class Command(TyperCommand):
    """A command whose help names installed plug-ins, and shows no type for flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        return without_types_of_flags(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        for option, group in _CHOSEN.get(self.name or "", {}).items():
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


def _plugins(group: str) -> list[str]:
    """Return the names that other packages add; import the registry only if there are any."""
    try:
        if not entry_points_of(group):
            return []
    except Exception:  # a damaged package; `orienteer plugins` says so
        return []
    registry = registry_of(group)
    return [name for name in registry.names() if registry.origin(name) != OURS]
