"""How a domain is shown as the world sees it: tables, and a file of ranks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from orienteer.cli import display, order_file
from orienteer.cli.wording import plain

if TYPE_CHECKING:
    from orienteer.graph.estimation.outside import OutsidePage, Standing, View

Name = Callable[[int], str | None]

_URL_CHARS = 200


def print_view(view: View, name: Name, n: int) -> None:
    """The pages worth the most, those valued otherwise outside than inside, and who matters outside."""
    more, less = view.valued_otherwise(n)
    _print_standings("Worth the most in the whole web", view.standings[:n], name)
    _print_standings("Worth more to the world than to the domain itself", more, name)
    _print_standings("Worth less to the world than to the domain itself", less, name)
    _print_outside(view.outside[:n], name)


def _print_standings(title: str, found: list[Standing], name: Name) -> None:
    if not found:
        return
    headings = [("place outside", True), ("inside", True), ("rank outside", True), ("inside", True), ("page", False)]
    table = display.columns_table(title, *headings)
    for standing in found:
        table.add_row(
            f"{standing.position_outside:,}", f"{standing.position_inside:,}", _percent(standing.outside),
            _percent(standing.inside), _named(name, standing.page),
        )  # fmt: skip
    display.console().print(table)


def _print_outside(found: list[OutsidePage], name: Name) -> None:
    if not found:
        return
    headings = [("impact", True), ("links into it", True), ("of all", True), ("page outside", False)]
    table = display.columns_table("Pages outside that matter most to the domain", *headings)
    for page in found:
        table.add_row(_percent(page.impact), f"{len(page.links):,}", f"{page.n_links:,}", _named(name, page.page))
    display.console().print(table)


def _percent(share: float) -> str:
    return f"{100 * share:#.3g} %"


def _named(name: Name, page: int) -> str:
    from rich.markup import escape

    return escape(plain(name(page) or str(page), _URL_CHARS))


def write_ranks(path: Path, view: View, name: Name) -> None:
    """A line for each page of the domain, those worth the most in the world first: name, global rank, local rank."""
    ranks = (
        f"{plain(name(standing.page) or str(standing.page), 10_000)}\t{standing.outside!r}\t{standing.inside!r}"
        for standing in view.standings
    )
    order_file.write_lines(path, ("page\tglobal rank\tlocal rank", *ranks))
