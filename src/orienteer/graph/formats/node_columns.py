"""Additional columns of pages in exported graph files: titles, names of hosts, ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple


class NodeColumn(NamedTuple):
    """A column with a value for each page; `values(start, end)` are those of pages from `start` to before `end`.

    None is an unknown value, which is not written.
    """

    name: str
    kind: Literal["string", "double"]
    values: Callable[[int, int], Sequence[Any]]


def block_of(columns: Sequence[NodeColumn], start: int, end: int) -> list[list[tuple[NodeColumn, Any]]]:
    """Return the known values of each page from `start` to before `end`, with their columns."""
    blocks = [column.values(start, end) for column in columns]
    return [
        [(column, value) for column, value in zip(columns, values, strict=True) if value is not None]
        for values in (zip(*blocks, strict=True) if blocks else ((),) * (end - start))
    ]
