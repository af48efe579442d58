"""The result of an estimate: tables of page ranks and referrers, and a file of ranks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from orienteer.cli import display, order_file
from orienteer.cli.wording import plain

if TYPE_CHECKING:
    from orienteer.graph.estimation.neighborhood_view import LocalPageRanks, NeighborhoodView, ReferringPage

Name = Callable[[int], str | None]

_URL_CHARS = 200


def print_view(view: NeighborhoodView, name: Name, n: int) -> None:
    """Print the highest ranked pages, the largest differences from the local rank, and the top referrers."""
    more, less = view.largest_differences(n)
    _print_ranks("Highest rank in the whole web", view.page_ranks[:n], name)
    _print_ranks("Ranked higher by the whole web than within the domain", more, name)
    _print_ranks("Ranked lower by the whole web than within the domain", less, name)
    _print_referrers(view.referrers[:n], name)


def _print_ranks(title: str, found: list[LocalPageRanks], name: Name) -> None:
    if not found:
        return
    headings = [("place outside", True), ("inside", True), ("rank outside", True), ("inside", True), ("page", False)]
    table = display.columns_table(title, *headings)
    for rank in found:
        table.add_row(
            f"{rank.position_outside:,}", f"{rank.position_inside:,}", _percent(rank.outside),
            _percent(rank.inside), _named(name, rank.page),
        )  # fmt: skip
    display.console().print(table)


def _print_referrers(found: list[ReferringPage], name: Name) -> None:
    if not found:
        return
    headings = [("impact", True), ("links into it", True), ("of all", True), ("page outside", False)]
    table = display.columns_table("Top referrers: pages outside that contribute the most rank", *headings)
    for page in found:
        table.add_row(_percent(page.impact), f"{len(page.links):,}", f"{page.n_links:,}", _named(name, page.page))
    display.console().print(table)


def _percent(share: float) -> str:
    return f"{100 * share:#.3g} %"


def _named(name: Name, page: int) -> str:
    from rich.markup import escape

    return escape(plain(name(page) or str(page), _URL_CHARS))


def write_ranks(path: Path, view: NeighborhoodView, name: Name) -> None:
    """Write a line per page of the domain, by descending global rank: name, global rank, local rank."""
    ranks = (
        f"{plain(name(rank.page) or str(rank.page), 10_000)}\t{rank.outside!r}\t{rank.inside!r}"
        for rank in view.page_ranks
    )
    order_file.write_lines(path, ("page\tglobal rank\tlocal rank", *ranks))
