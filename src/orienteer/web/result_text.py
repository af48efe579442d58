"""Texts of search results: their movement between orders, type and date, and facets."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from orienteer.search.facets import Facet
from orienteer.search.page_facts import type_name
from orienteer.search.search_index import MAX_RESULTS, Hit, SearchResults
from orienteer.search.several import SeveralResults
from orienteer.wording import counted, visible

DEFAULT = "blend"
N_RESULTS = 10
_LANGUAGES = {
    "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German",
    "el": "Greek", "en": "English", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish",
    "fr": "French", "ga": "Irish", "gl": "Galician", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian",
    "id": "Indonesian", "is": "Icelandic", "it": "Italian", "ja": "Japanese", "ko": "Korean", "lt": "Lithuanian",
    "lv": "Latvian", "nb": "Norwegian", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sr": "Serbian", "sv": "Swedish",
    "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
_TYPES = {
    "html": "Web pages", "pdf": "PDF", "text": "Plain text", "docx": "Word", "odt": "OpenDocument", "pptx": "Slides",
    "xlsx": "Tables", "epub": "E-books", "feed": "Feeds",
}  # fmt: skip
_FACETS = {"host": "Host", "language": "Language", "type": "Type", "year": "Year", "topic": "Topic", "tag": "Tag"}
_TOPICS = {"on": "On topic", "off": "Off topic"}
N_OPEN = 6  # values of a facet that are displayed before "more"


class Order(NamedTuple):
    """A way to order results: its name, its label in the switch, and a phrase for a position in it."""

    name: str
    label: str
    phrase: str
    about: str


ORDERS = (
    Order("blend", "Best", "best first", "By words, and a little by links in this crawl and on the web."),
    Order("text", "Words only", "by words", "By words alone."),
    Order("local", "Most linked", "by links in this crawl", "By words, and by the links within this crawl."),
    Order(
        "global",
        "Most linked on the web",
        "by links of the whole web",
        "By words, and by the links of the whole web.",
    ),
)
_PHRASES = {order.name: order.phrase for order in ORDERS}


class Move(NamedTuple):
    """How many places a result moves relative to another order; up is better."""

    kind: str
    places: int
    text: str


class DisplayedValue(NamedTuple):
    """A value of a facet with its label; `query` is the query string that narrows the results to it."""

    label: str
    n_pages: int
    is_chosen: bool
    query: str


class DisplayedFacet(NamedTuple):
    name: str
    label: str
    values: list[DisplayedValue]
    has_more: bool
    is_exact: bool


def displayed_facets(facets: tuple[Facet, ...], n_pages: int) -> list[DisplayedFacet]:
    """Return the facets in which the pages differ."""
    displayed = []
    for facet in facets:
        values = [
            DisplayedValue(facet_label(facet.name, one.value), one.n_pages, one.is_chosen, one.query)
            for one in facet.values
        ]  # fmt: skip
        if len(values) > 1 or values[0].is_chosen or values[0].n_pages < n_pages:
            displayed.append(DisplayedFacet(facet.name, _FACETS[facet.name], values, facet.has_more, facet.is_exact))
    return displayed


def facet_label(name: str, value: str) -> str:
    """Return the label of a value.

    >>> facet_label("language", "de"), facet_label("type", "pdf"), facet_label("year", "2024")
    ('German', 'PDF', '2024')
    """
    return {"language": _LANGUAGES, "type": _TYPES, "topic": _TOPICS}.get(name, {}).get(value, value)


def describe(results: SearchResults, has_global_rank: bool, seen_from: str) -> dict[str, Any]:
    """Return the template's values that describe results."""
    before = _order_before(results.rank, seen_from, has_global_rank)
    return describe_hits(results, results.hits) | {
        "moves": [_move(hit, before) for hit in results.hits],
        "compared": _PHRASES[before] if before else "",
        "places": [_places(hit) for hit in results.hits],
        "seen_from": seen_from if before else "",
    }


def describe_hits(results: SearchResults | SeveralResults, hits: Sequence[Hit]) -> dict[str, Any]:
    """Return the template's values that describe results of one crawl or of several."""
    return {
        "summary": summary_of(results, len(hits)),
        "snippets": [pieces(hit) for hit in hits],
        "facts": [facts_of(hit) for hit in hits],
        "facets": displayed_facets(results.facets, results.total),
        "n_last": min(-(-results.total // results.n), MAX_RESULTS // results.n),
    }


def _order_before(rank: str, seen_from: str, has_global_rank: bool) -> str | None:
    """Return the order to compare positions with: the previous one, or by words. Positions in "blend" are unknown."""
    known = ("text", "local", "global") if has_global_rank else ("text", "local")
    if seen_from in known and seen_from != rank:
        return seen_from
    return "text" if rank != "text" else None


def _move(hit: Hit, before: str | None) -> Move | None:
    was = hit.positions.get(before) if before else None
    if was is None or before is None:
        return None
    places = was - hit.position
    if not places:
        return Move("same", 0, f"the same place as {_PHRASES[before]}")
    way = "up" if places > 0 else "down"
    return Move(way, abs(places), f"{way} {counted(abs(places), 'place')}, from {was} {_PHRASES[before]}")


def _places(hit: Hit) -> str:
    """Describe the position of a hit in all orders."""
    return ", ".join(f"no. {place:,} {_PHRASES[name]}" for name, place in hit.positions.items() if place is not None)


def facts_of(hit: Hit) -> list[str]:
    """Return the type of a hit unless it is HTML, and when it was published, changed or else fetched."""
    kind = type_name(hit.type)
    date = f"published {hit.published}" if hit.published else f"changed {hit.changed}" if hit.changed else ""
    if not date and hit.time:
        date = f"fetched {day_of(hit.time)}"
    return [fact for fact in (kind.upper() if kind != "html" else "", date) if fact]


def day_of(time: float) -> str:
    """
    >>> day_of(1.7e9)
    '2023-11-14'
    """
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d}"


def pieces(hit: Hit) -> list[tuple[str, bool]]:
    """Return the segments of the snippet, and whether each is highlighted."""
    return [(visible(text), bool(number % 2)) for number, text in enumerate(hit.segments) if text]


def summary_of(results: SearchResults | SeveralResults, n_listed: int) -> str:
    """Describe in one line how many pages were found, and which of them are listed."""
    if not results.total:
        return "" if results.hints else "Nothing found."
    first = (results.page - 1) * results.n + 1
    listed = f"{first:,} to {first + n_listed - 1:,}" if n_listed else "none on this page"
    took = f"{1000 * results.elapsed_s:.1f}\u00a0ms"
    return f"{counted(results.total, 'page')} found, {listed}, {_PHRASES[results.rank]}; {took}"
