"""`orienteer search`: search the pages of a crawl."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display
from orienteer.cli.command import command
from orienteer.errors import InputError
from orienteer.wording import counted, plain

if TYPE_CHECKING:
    from rich.text import Text

    from orienteer.search.search_index import Hit, SearchResults

_MAX_TITLE, _MAX_URL = 150, 300
_SYNTAX = 'words, "a phrase", +must -not, site: host: title: url: lang: type:pdf before:2025 after:2024-06'
_ORDERS = {"text": "by words", "local": "by links in this crawl", "global": "by links of the whole web"}


@command("")
def search(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder with a search index."),
    words: str = typer.Argument(help=f"Query: {_SYNTAX}"),
    rank: str = typer.Option(
        "blend",
        "--rank",
        help="Ranking: text, local (links in this crawl), global (links of the whole web) or blend (all three).",
    ),
    weight: float | None = typer.Option(None, "--weight", help="Weight of the links, 0 to 1; default: by --rank."),
    n: int = typer.Option(10, "-n", help="Number of results."),
    page: int = typer.Option(1, "--page", help="Page of results."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Search the pages of a crawl.

    Results are ranked by words and by links: those in this crawl (local), those of the whole web as estimated by
    orienteer estimate (global), or both. Each result lists its positions in the other rankings.

    Example: [bold]orienteer search example.org-crawl "opening hours" --rank global[/bold]
    """
    from orienteer.search.search_index import SearchIndex

    for option, value in (("-n", n), ("--page", page)):
        if value < 1:
            raise InputError(f"{option}: 1 or more")
    with SearchIndex.open(folder) as index:
        results = index.search(words, rank=rank, weight=weight, page=page, n=n, n_related=5)
        is_current = index.is_current()
    if json:
        display.print_json(results.as_dict() | {"is_current": is_current})
        return
    print_results(results, folder)
    if not is_current:
        out = display.console()
        out.print(
            f"The crawl has fetched more since it was indexed: orienteer index {folder}", markup=False, style="dim"
        )


def print_results(results: SearchResults, folder: Path) -> None:
    """Print a page of results."""
    from rich.text import Text

    out = display.console()
    if results.total or not results.hints:
        out.print(Text(_summary(results, folder), "dim"))
    for hint in results.hints:
        out.print(Text(plain(hint)))
    if results.hints:
        out.print(Text(f"Query syntax: {_SYNTAX}", "dim"))
    if results.suggestion:
        out.print(Text("Did you mean: ") + Text(plain(results.suggestion), "bold"))
    if results.relaxed:
        out.print("No page has all of the words; these have some of them.")
    for hit in results.hits:
        out.print()
        out.print(_title(hit), soft_wrap=True)
        out.print(Text("    " + plain(hit.link, _MAX_URL), "green"), soft_wrap=True)
        if hit.snippet:
            out.print(_indented(_marked(hit)))
        out.print(Text("    " + _facts(hit, results), "dim"), soft_wrap=True)
    if results.related:
        out.print()
        out.print(Text("Related: ", "dim") + Text(", ".join(_names(results))))


def _summary(results: SearchResults, folder: Path) -> str:
    if not results.total:
        from orienteer.inspect.crawl_status import stored_certificate
        from orienteer.inspect.status_text import nothing_found

        return nothing_found(stored_certificate(folder))
    first = (results.page - 1) * results.n + 1
    listed = f", {first:,} to {first + len(results.hits) - 1:,}" if results.hits else ", none on this page"
    order = _ORDERS.get(results.rank, "by words and links")
    took = f"{1000 * results.elapsed_s:.1f} ms"
    return f"{counted(results.total, 'page')} found{listed}; order: {order}; {took}"


def _title(hit: Hit) -> Text:
    from rich.text import Text

    return Text(f"{hit.position:>2}. ") + Text(plain(hit.title, _MAX_TITLE) or "(no title)", "bold")


def _marked(hit: Hit) -> Text:
    from rich.text import Text

    text = Text()
    for number, part in enumerate(hit.segments):
        lead, tail = (" " if part[place : place + 1].isspace() else "" for place in (0, len(part) - 1))
        text.append(f"{lead}{plain(part)}{tail}" if part.strip() else part, "bold yellow" if number % 2 else "")
    return text


def _indented(text: Text) -> object:
    from rich.padding import Padding

    return Padding(text, (0, 0, 0, 4), expand=False)


def _facts(hit: Hit, results: SearchResults) -> str:
    """Describe a hit: its type and dates, and its positions in the other rankings. Ranks as numbers are in --json."""
    places = [
        f"no. {place:,} {_ORDERS[name]}"
        for name, place in hit.positions.items()
        if place is not None and name != results.rank
    ]
    facts = [*_type_and_dates(hit), ", ".join(places)]
    if hit.page_number is not None:
        facts.insert(0, f"page {hit.page_number:,}")
    if hit.relevance is not None:
        facts.append(f"relevance to the topic {hit.relevance:.2f}")
    if hit.n_duplicates:
        facts.append(f"{counted(hit.n_duplicates, 'more page')} with the same text")
    return "; ".join(fact for fact in facts if fact)


def _type_and_dates(hit: Hit) -> list[str]:
    """Return the type of a hit, unless it is HTML, and when it was published or changed."""
    from orienteer.search.page_facts import type_name

    dates = (("published", hit.published), ("changed", "" if hit.published else hit.changed))
    kind = type_name(hit.type)
    return [kind] * (kind not in ("", "html")) + [f"{what} {date}" for what, date in dates if date]


def _names(results: SearchResults) -> list[str]:
    return [plain(page.title or page.url, 60) for page in results.related]
