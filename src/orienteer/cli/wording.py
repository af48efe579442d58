"""Two-column lists of facts on the screen; formatting is in orienteer.wording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orienteer.wording import counted, duration, goal_share, moment, plain, size, tally, time_left

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

__all__ = [
    "add_fact",
    "counted",
    "duration",
    "facts_grid",
    "goal_share",
    "moment",
    "plain",
    "size",
    "tally",
    "time_left",
]


def facts_grid() -> Table:
    """Return an empty two-column list: a name, and a text that may wrap."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def add_fact(table: Table, name: str, fact: str | RenderableType) -> None:
    """Add a fact to a list, unless it is empty. Markup in it is printed as text."""
    from rich.text import Text

    if fact:
        table.add_row(name, Text(fact) if isinstance(fact, str) else fact)
