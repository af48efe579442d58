"""Help texts that name the plug-ins of other packages. These are looked for only when somebody asks for help."""

from __future__ import annotations

import pkgutil
from typing import Any

from typer.core import TyperCommand, TyperGroup

from orienteer.registry import OURS, Registry, entry_points_of

# By the group of entry points: where the registry is that loads them. All that other packages can add to.
REGISTRIES = {
    "orienteer.policies": "orienteer.policies.policy:POLICIES",
    "orienteer.seed_methods": "orienteer.seeds.seed_method:METHODS",
    "orienteer.topics": "orienteer.topics.topic:TOPICS",
    "orienteer.exports": "orienteer.exports.exporter:EXPORTERS",
    "orienteer.graph_formats": "orienteer.graph.formats:FORMATS",
    "orienteer.fetchers": "orienteer.fetch.choice:FETCHERS",
    "orienteer.page_hooks": "orienteer.hooks.hook_names:HOOKS",
}
_POLICIES, _METHODS, _, _EXPORTS, _GRAPHS, _FETCHERS, _HOOKS = REGISTRIES

# By command and option: the group whose names can be chosen.
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
    """The registry of a group; this imports what it is for."""
    registry: Registry[Any] = pkgutil.resolve_name(REGISTRIES[group])
    return registry


class Command(TyperCommand):
    """A command whose help names what is installed, and does not call a flag a <bool>."""

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


class Group(TyperGroup):
    """Commands that belong together; of their flags the same holds."""

    def get_params(self, ctx: Any) -> list[Any]:
        return without_types_of_flags(super().get_params(ctx))


def without_types_of_flags(parameters: list[Any]) -> list[Any]:
    """Options, where those that are flags show no type in the help."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


def _plugins(group: str) -> list[str]:
    """The names that other packages add; what is heavy is imported only where there are any."""
    try:
        if not entry_points_of(group):
            return []
    except Exception:  # a damaged package; `orienteer plugins` says so
        return []
    registry = registry_of(group)
    return [name for name in registry.names() if registry.origin(name) != OURS]
