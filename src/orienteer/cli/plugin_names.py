"""Help texts that name the plug-ins of other packages. These are looked for only when somebody asks for help."""

from __future__ import annotations

import importlib.metadata
import pkgutil
from typing import Any

from typer.core import TyperCommand

from orienteer.registry import OURS, Registry

_POLICIES = "orienteer.policies", "orienteer.policies.policy:POLICIES"
_METHODS = "orienteer.seed_methods", "orienteer.seeds.seed_method:METHODS"
_EXPORTS = "orienteer.exports", "orienteer.exports.exporter:EXPORTERS"
_GRAPHS = "orienteer.graph_formats", "orienteer.graph.formats:FORMATS"
_FETCHERS = "orienteer.fetchers", "orienteer.fetch.choice:FETCHERS"
_HOOKS = "orienteer.page_hooks", "orienteer.hooks.hook_names:HOOKS"

# By command and option: the group of entry points, and the registry that loads them.
_CHOSEN: dict[str, dict[str, tuple[str, str]]] = {
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


class Command(TyperCommand):
    """A command whose help names what is installed."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        for option, (group, registry) in _CHOSEN.get(self.name or "", {}).items():
            names = _plugins(group, registry)
            for parameter in self.params if names else ():
                if option in parameter.opts:
                    help_text = str(getattr(parameter, "help", "")).rstrip(".")
                    parameter.help = f"{help_text}. Plug-ins: {', '.join(names)}."  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


def _plugins(group: str, place: str) -> list[str]:
    """The names that other packages add; what is heavy is imported only where there are any."""
    try:
        if not importlib.metadata.entry_points(group=group):
            return []
    except Exception:  # a damaged package; `orienteer plugins` says so
        return []
    registry: Registry[Any] = pkgutil.resolve_name(place)
    return [name for name in registry.names() if registry.origin(name) != OURS]
