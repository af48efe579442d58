"""The reference of the public Python names, with signatures and docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from types import ModuleType
from typing import Any, get_type_hints

from orienteer.public_names import public_names

from .markdown import prose

PACKAGES = ("orienteer", "orienteer.graph", "orienteer.search", "orienteer.seeds", "orienteer.topics")
HEAD = """# Python

`import orienteer as ori` gives the first of these names; the others are in `orienteer.graph`, `orienteer.search`,
`orienteer.seeds` and `orienteer.topics`. They are the public interface, and all have types. Other names may change.
Errors that a user can cause are in `orienteer.errors`.
"""


def page() -> str:
    modules = [importlib.import_module(name) for name in PACKAGES]
    names = [(module, name) for module in modules for name in public_names(module.__name__)]
    listed: dict[Any, str] = {}
    for module, name in names:
        listed.setdefault(getattr(module, name), f"{module.__name__}.{name}")
    text = HEAD
    for module in modules:
        text += f"\n## {module.__name__}\n"
        text += "".join(_section(name, getattr(module, name), listed, module) for _, name in names if _ is module)
    text += "\n## Results\n\nWhat these functions and methods return.\n"
    results = sorted(_results(list(listed)) - listed.keys(), key=lambda kind: str(kind.__name__))
    return text + "".join(_section(kind.__name__, kind, {}, None) for kind in results)


def _results(things: list[Any]) -> set[type]:
    """Return the classes of this package that the functions and methods return."""
    functions = [thing for thing in things if inspect.isfunction(thing)]
    for kind in filter(inspect.isclass, things):
        functions += [member for name, member in vars(kind).items() if inspect.isfunction(member) and name[0] != "_"]
    found: set[type] = set()
    for function in functions:
        try:
            result = get_type_hints(inspect.unwrap(function)).get("return")
        except NameError:  # a type of an optional package
            continue
        if inspect.isclass(result) and result.__module__.startswith("orienteer.") and result.__doc__:
            found.add(result)
    return found


def _section(name: str, thing: Any, listed: dict[Any, str], module: ModuleType | None) -> str:
    other = listed.get(thing)
    if module is not None and other is not None and other != f"{module.__name__}.{name}":
        return f"\n### {name}\n\nThe same as `{other}`.\n"
    paragraphs = [f"### {name}", prose(thing.__doc__)]
    if not issubclass(thing, Exception) if inspect.isclass(thing) else True:
        paragraphs.insert(1, f"```python\n{_signature(name, thing)}\n```")
    if inspect.isclass(thing):
        members = (_member(key, member) for key, member in vars(thing).items() if not key.startswith("_"))
        paragraphs.append("\n".join(member for member in members if member))
    return "\n" + "\n\n".join(filter(None, paragraphs)) + "\n"


def _member(name: str, member: Any) -> str:
    if isinstance(member, classmethod | staticmethod):
        member = member.__func__
    if isinstance(member, property):
        return _listed(name, member.fget.__doc__) if member.fget and member.fget.__doc__ else ""
    if not inspect.isfunction(member) or not member.__doc__:
        return ""
    return _listed(name + _arguments(member), member.__doc__)


def _listed(what: str, doc: str) -> str:
    return f"- `{what}`\\\n" + "\n".join(f"  {line}".rstrip() for line in prose(doc).split("\n"))


def _signature(name: str, thing: Any) -> str:
    one_line = name + _arguments(thing)
    if inspect.isclass(thing):
        one_line = one_line.rpartition(" -> ")[0]
    if len(one_line) <= 100:
        return one_line
    parameters = [one for one in inspect.signature(thing).parameters.values() if not one.name.startswith("_")]
    lines, is_keyword_only = [], False
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword_only:
            lines.append("*")
            is_keyword_only = True
        lines.append(_unquoted(str(parameter)))
    end = "" if inspect.isclass(thing) else " -> " + one_line.rpartition(" -> ")[2]
    return f"{name}(\n" + "".join(f"    {line},\n" for line in lines) + ")" + end


def _arguments(thing: Any) -> str:
    signature = inspect.signature(thing)
    own = [one for one in signature.parameters.values() if one.name not in ("self", "cls")]
    return _unquoted(str(signature.replace(parameters=own)))


def _unquoted(signature: str) -> str:
    """Remove the quotation marks of annotations, and the addresses of functions."""
    signature = re.sub(r"<function (\w+) at 0x[0-9a-f]+>", r"\1", signature)
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", signature)
