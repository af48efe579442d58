"""The reference of policies, seed methods, topics, estimators and formats, without plug-ins."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any

from orienteer.exports.exporter import EXPORTERS
from orienteer.graph.estimation import all_estimators, all_selections
from orienteer.graph.formats import FORMATS
from orienteer.policies.focused import FocusedPolicy
from orienteer.policies.policy import POLICIES
from orienteer.policies.trained import TrainedPolicy
from orienteer.registry import settings_of
from orienteer.seeds.seed_method import METHODS
from orienteer.topics.topic import TOPICS

from .markdown import cell, prose, table, value


def policies_page() -> str:
    head = """# Policies

What to fetch next. Named with `--policy`, with settings after a colon: `--policy fractional:inter_host_weight=20`.
[Choose a policy](../how-to/choose-a-policy.md) says which one, and when.
"""
    return head + _sections(POLICIES.own(), _about_policy)


def seed_methods_page() -> str:
    head = """# Seed methods

Where to start. Named with `orienteer seeds --method` and `orienteer crawl --seed-method`.
"""
    return head + _sections(METHODS.own())


def topics_page() -> str:
    head = """# Kinds of topics

What makes a page relevant. Named as `kind` in the table `[topic]` of a topic file; the settings are further keys there.
"""
    return head + _sections(TOPICS.own())


def estimates_page() -> str:
    head = """# Selections and estimators

How `orienteer estimate` and `orienteer graph estimate` choose pages outside a crawl or a domain (`--select`), and how
they estimate ranks from them (`--method`).
"""
    return (
        head + "\n## Selections\n" + _sections(all_selections(), level=3)
        + "\n## Estimators\n" + _sections(all_estimators(), level=3)
    )  # fmt: skip


def formats_page() -> str:
    exports = [(f"`{name}`", cell(kind.about), value(kind.suffixes)) for name, kind in EXPORTERS.own().items()]
    graphs = [
        (f"`{name}`", cell(one.about), value(one.suffixes), "read, written" if one.write else "read")
        for name, one in FORMATS.own().items()
    ]
    written = table(["format", "what is written", "endings"], exports)
    read = table(["format", "what it is", "endings", ""], graphs)
    return f"""# Formats

## Exports

What `orienteer export DIR --format FORMAT` writes.

{written}

## Graphs

What `LinkGraph.load` and all commands that take a GRAPH read. The file name ending selects the format; text formats may
also end in `.gz` or `.zst`.

{read}
"""


def _sections(kinds: Mapping[str, Any], about: Any = lambda kind: "", level: int = 2) -> str:
    return "".join(_section(name, kind, about(kind), level) for name, kind in kinds.items())


def _section(name: str, kind: Any, about: str, level: int) -> str:
    settings = [(f"`{key}`", value(default) or "(none)") for key, default in settings_of(kind).items()]
    known = table(["setting", "default"], settings) if settings else "It has no settings."
    idea = inspect.cleandoc(sys.modules[kind.__module__].__doc__ or "").split("\n\n")[0]
    paragraphs = [f"{'#' * level} {name}", prose(idea), prose(kind.__doc__), about, known]
    return "\n" + "\n\n".join(filter(None, paragraphs)) + "\n"


def _about_policy(kind: Any) -> str:
    facts = [
        (kind.proves, "It proves coverage itself."),
        (kind.knows_truth, "For simulations only."),
        (issubclass(kind, FocusedPolicy), "Focused: it needs a topic."),
        (issubclass(kind, TrainedPolicy), "It must be trained first: `orienteer topic train-policy`."),
    ]
    return " ".join(text for holds, text in facts if holds)
