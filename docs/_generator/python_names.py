"""The reference of the public Python names, with signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from typing import Any

import orienteer

from .markdown import prose

HEAD = """# Python

`import orienteer as ori` gives these names. They are the public interface, and all have types. Other names may
change.
"""


def page() -> str:
    return HEAD + "".join(_section(name, getattr(orienteer, name)) for name in orienteer.__all__)


def _section(name: str, thing: Any) -> str:
    paragraphs = [f"## {name}", prose(thing.__doc__)]
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
    parameters = inspect.signature(thing).parameters.values()
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
