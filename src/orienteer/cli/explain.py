"""`orienteer explain`: what became of a page, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display

if TYPE_CHECKING:
    from orienteer.crawl.explain import PageFacts
    from orienteer.store.page_row import PageRow


def explain(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    url: str = typer.Argument(metavar="URL", help="The page."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Say what a crawl knows of a page: whether it was fetched, why not, when its turn comes, who links to it.

    The crawl may be running meanwhile.

    Example: [bold]orienteer explain example.org-crawl https://example.org/about[/bold]
    """
    from rich.console import Console

    from orienteer.crawl.explain import page_facts

    with Console(stderr=True).status("reading the crawl"):
        facts = page_facts(folder, url)
    if json:
        display.print_json(facts.as_dict())
    else:
        print_page(facts)


def print_page(facts: PageFacts) -> None:
    """One page of text about a page."""
    from rich.text import Text

    from orienteer.cli.wording import add_fact, counted, facts_grid, plain

    out = display.console()
    out.print(Text(plain(facts.url, 3000), "bold"), soft_wrap=True)
    rows = facts_grid()
    for name, fact in page_in_words(facts):
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
        note = Text("  (another name of this page)" if source.is_other_name else "", "dim")
        out.print(Text("  " + plain(source.url, 3000)) + note, soft_wrap=True)
    if facts.n_sources > len(facts.sources):
        out.print(f"  and {facts.n_sources - len(facts.sources):,} more")


def page_in_words(facts: PageFacts) -> list[tuple[str, str]]:
    """The facts by name, those that do not apply left empty."""
    from orienteer.cli.wording import moment, plain

    row = facts.row
    told = [("state", _state(facts)), ("depth", _depth(facts))]
    if row is None:
        return told
    told += [
        ("when", moment(row.time)),
        ("looked at again", _revisits(facts)),
        ("answer", _answer(row)),
        ("redirects to", plain(facts.redirect_to or "", 3000)),
        ("title", plain(row.title, 300)),
        ("language", plain(row.language, 30)),
        ("relevance", "" if row.relevance is None else f"{row.relevance:.3f} to the topic of the crawl"),
        ("links", _links(row)),
        ("same content as", plain(facts.duplicate_of or "", 3000)),
        ("nearly the text of", plain(facts.near_duplicate_of or "", 3000)),
        ("noindex", "it asks not to be found by search engines" if row.noindex else ""),
        ("archive", _archive(facts)),
    ]
    return told


def _revisits(facts: PageFacts) -> str:
    """What refreshes have seen of the page."""
    from orienteer.cli.wording import counted, moment

    seen = facts.revisits
    if seen is None:
        return ""
    checked = f"{counted(seen.n_checks, 'time')}, found changed {counted(seen.n_changes, 'time')}"
    last = f"; last on {moment(seen.checked)}" if seen.n_checks else ""
    if seen.missing_since is None:
        return checked + last
    return f"{checked}{last}; missing since {moment(seen.missing_since)}, kept as it was"


def _depth(facts: PageFacts) -> str:
    from orienteer.cli.wording import counted

    if facts.is_seed:
        return "a seed"
    if facts.depth is None:
        return ""
    sitemap = "" if facts.n_sources else ", as it is named by a sitemap only"
    return f"{counted(facts.depth, 'link')} from a seed{sitemap}"


def _state(facts: PageFacts) -> str:
    from orienteer.crawl.crawl import PageState

    if facts.page is None:
        return _unknown(facts)
    if facts.state is PageState.KNOWN:
        return _not_done(facts)
    assert facts.row is not None
    number = "" if facts.number is None else f"as number {facts.number:,} of {facts.n_fetched:,}"
    if facts.state is PageState.FETCHED and facts.redirect_to is not None:
        how = "a redirect" if facts.row.outcome == "redirect" else "taken for a redirect, since it repeats a page"
        return f"fetched {number}: {how}"
    if facts.state is PageState.FETCHED:
        return f"fetched {number}"
    if facts.state is PageState.FAILED:
        return f"failed: {reason_in_words(facts)}; it counts as fetched, {number}"
    return f"blocked, not fetched: {reason_in_words(facts)}"


def _unknown(facts: PageFacts) -> str:
    from orienteer.cli.wording import plain

    inside = f"outside its scope: {plain(facts.why_outside)}" if facts.why_outside else "inside its scope"
    seen = f"; known is {plain(facts.seen_as, 3000)}" if facts.seen_as else ""
    return f"not known to this crawl; it would be {inside}{seen}"


def _not_done(facts: PageFacts) -> str:
    from orienteer.cli.wording import counted, plain

    if facts.why_outside:
        return f"not fetched, it is outside the scope: {plain(facts.why_outside)}"
    if facts.waiting is None:
        return "not fetched: no page links here whose links are followed"
    waiting = facts.waiting
    before = counted(waiting.n_before, "page comes", "pages come")
    place = f"{before} before it of {waiting.n_frontier:,} in the frontier, if no host has to rest"
    if waiting.priority == float("-inf"):
        return f"waiting behind all pages that are linked to, as only a sitemap names it; {place}"
    return f"waiting with priority {waiting.priority:.3g}; {place}"


def reason_in_words(facts: PageFacts) -> str:
    """Why a page failed or was blocked."""
    from orienteer.cli.wording import counted, plain

    row = facts.row
    assert row is not None
    if row.outcome == "robots.txt":
        return "robots.txt of its host forbids it"
    if facts.host_trouble:
        return plain(facts.host_trouble, 300)
    if row.outcome == "too deep":
        return f"it is {counted(row.depth, 'link')} from a seed, and max_depth is {facts.plan.scope.max_depth}"
    if row.outcome.startswith("http ") and row.status:
        return f"the server answered {row.status}"
    if row.outcome == "unwanted type":
        return f"it is {plain(row.content_type, 100) or 'of unknown type'}, which this crawl does not keep"
    return plain(row.outcome, 300)


def _answer(row: PageRow) -> str:
    from orienteer.cli.wording import plain, size

    if not row.status:
        return ""
    kind = plain(row.content_type, 100)
    return ", ".join(part for part in (f"HTTP status {row.status}", kind, size(row.size_bytes)) if part)


def _links(row: PageRow) -> str:
    if row.outcome != "ok":
        return ""
    outside = f", {len(row.outside):,} outside" if len(row.outside) else ""
    return f"{len(row.links):,} inside the scope{outside}"


def _archive(facts: PageFacts) -> str:
    from orienteer.cli.wording import plain

    if facts.archive_file is None or facts.row is None:
        return ""
    return f"{plain(str(facts.archive_file))}, {facts.row.archive_bytes:,} bytes at {facts.row.archive_offset:,}"
