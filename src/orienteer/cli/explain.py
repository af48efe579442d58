"""`orienteer explain`: the state of a page, and the reasons."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display
from orienteer.cli.command import INSPECT, command
from orienteer.cli.display import add_fact, facts_grid
from orienteer.wording import counted, plain

if TYPE_CHECKING:
    from orienteer.inspect.explain import PageFacts


@command(INSPECT)
def explain(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    url: str = typer.Argument(metavar="URL", help="URL of the page."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Explain the state of a page: whether it was fetched and why not, its place in the frontier, and its in-links.

    The crawl may be running.

    Example: [bold]orienteer explain example.org-crawl https://example.org/about[/bold]
    """
    from rich.console import Console

    from orienteer.inspect.explain import page_facts

    with Console(stderr=True).status("reading the crawl"):
        facts = page_facts(folder, url)
    display.print_result(facts.as_dict(), json, lambda: print_page(facts))


def print_page(facts: PageFacts) -> None:
    """Print the facts about a page, and its in-links."""
    from rich.text import Text

    from orienteer.inspect.explain import describe_page

    out = display.console()
    out.print(Text(plain(facts.url, 3000), "bold"), soft_wrap=True)
    rows = facts_grid()
    for name, fact in describe_page(facts):
        add_fact(rows, name, fact)
    out.print(rows)
    if facts.page is None:
        return
    out.print()
    if not facts.sources:
        out.print("No page fetched so far links here.")
        return
    out.print(f"{counted(facts.n_sources, 'fetched page links', 'fetched pages link')} here:")
    for source in facts.sources:
        note = Text("  (another name of this page)" if source.is_alias else "", "dim")
        out.print(Text("  " + plain(source.url, 3000)) + note, soft_wrap=True)
    if facts.n_sources > len(facts.sources):
        out.print(f"  and {facts.n_sources - len(facts.sources):,} more")
