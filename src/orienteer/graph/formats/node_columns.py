"""What is said of pages besides their URLs in files for people and their tools: titles, names of hosts, ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple


class NodeColumn(NamedTuple):
    """A value for each page, asked for block by block: `values(start, end)` are those of the pages from `start` on.

    None is a value that is not known: nothing is written of it.
    """

    name: str
    kind: Literal["string", "double"]
    values: Callable[[int, int], Sequence[Any]]


def block_of(columns: Sequence[NodeColumn], start: int, end: int) -> list[list[tuple[NodeColumn, Any]]]:
    """For each page from `start` to before `end` what is known of it."""
    blocks = [column.values(start, end) for column in columns]
    return [
        [(column, value) for column, value in zip(columns, values, strict=True) if value is not None]
        for values in (zip(*blocks, strict=True) if blocks else ((),) * (end - start))
    ]
