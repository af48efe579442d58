"""Convert docstrings and values to Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from typing import Any

_BOLD = re.compile(r"\[(/?)bold\]")


def prose(text: str | None) -> str:
    """Return a docstring as Markdown: paragraphs wrap, indented lines and doctests become code blocks."""
    blocks = re.split(r"\n\s*\n", inspect.cleandoc(text or ""))
    return "\n\n".join(_block(block) for block in blocks if block.strip())


def _block(part: str) -> str:
    if part.startswith((">>>", "    ")):
        return f"```text\n{inspect.cleandoc(part)}\n```"
    lines = part.split("\n")
    if any(line.startswith("- ") for line in lines):
        return "\n".join(_plain(line) for line in lines)
    return _plain(" ".join(line.strip() for line in lines))


def _plain(text: str) -> str:
    """Escape text as Markdown, except for `code` and *emphasis*."""
    pieces = re.split(r"(`[^`]+`)", text)
    for k in range(0, len(pieces), 2):
        pieces[k] = re.sub(r"([<>\[\]_|])", r"\\\1", pieces[k])
    return "".join(pieces)


def paragraphs(text: str) -> str:
    """Return the help of a command, which consists of paragraphs; its example becomes code."""
    text = re.sub(r"(Example|Then): \[bold\](.*?)\[/bold\]", r"\1: `\2`", text)
    return "\n\n".join(_plain(part) for part in _BOLD.sub("", text).split("\n\n"))


def cell(text: str) -> str:
    """Return a text as a cell of a table."""
    return _plain(" ".join(text.split()).replace("\\[", "["))  # Rich wants it escaped, Markdown does not


def value(default: Any) -> str:
    """Return a default value as in TOML."""
    if default is None or default in ("", (), []):
        return ""
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, tuple | list):
        return ", ".join(value(item) for item in default)
    return f"`{default}`"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(re.sub(r"(?<!\\)\|", r"\|", part) for part in line) + " |" for line in lines)
