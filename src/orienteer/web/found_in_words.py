"""Search results as people read them: how far they have moved, what they are, what they can be narrowed by."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

from orienteer.search.facets import Facet
from orienteer.search.page_facts import type_name
from orienteer.search.search_index import MAX_RESULTS, Hit, Results
from orienteer.search.several import SeveralResults
from orienteer.wording import counted, visible

DEFAULT = "blend"
N_SHOWN = 10
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
N_OPEN = 6  # values of a facet that are shown at once


class Order(NamedTuple):
    """A way to order results: its name, what the switch calls it, what is said of places in it, in long and short."""

    name: str
    label: str
    said: str
    short: str
    about: str


ORDERS = (
    Order("blend", "Blend", "blended", "blended", "By words, and a little by the ranks inside and outside."),
    Order("text", "Text", "by words", "by words", "By words alone."),
    Order(
        "local", "Seen from inside", "seen from inside", "by links in this crawl",
        "By words, and by the links within this crawl.",
    ),
    Order(
        "global", "Seen from outside", "seen from outside", "by links of the whole web",
        "By words, and by the links of the whole web.",
    ),
)  # fmt: skip
_SAID = {order.name: order.said for order in ORDERS}
_SHORT = {order.name: order.short for order in ORDERS}


class Move(NamedTuple):
    """How far a result has moved, seen from another order; up is to a better place."""

    kind: str
    places: int
    text: str


class ShownValue(NamedTuple):
    """A value that results can be narrowed by, as it is called; `query` leads there."""

    label: str
    n_pages: int
    is_chosen: bool
    query: str


class ShownFacet(NamedTuple):
    name: str
    label: str
    values: list[ShownValue]
    has_more: bool
    is_exact: bool


def shown_facets(facets: tuple[Facet, ...], n_pages: int) -> list[ShownFacet]:
    """Those that make a difference: not where all of these pages have the same value."""
    shown = []
    for facet in facets:
        values = [
            ShownValue(facet_label(facet.name, one.value), one.n_pages, one.is_chosen, one.query)
            for one in facet.values
        ]  # fmt: skip
        if len(values) > 1 or values[0].is_chosen or values[0].n_pages < n_pages:
            shown.append(ShownFacet(facet.name, _FACETS[facet.name], values, facet.has_more, facet.is_exact))
    return shown


def facet_label(name: str, value: str) -> str:
    """A value as people call it.

    >>> facet_label("language", "de"), facet_label("type", "pdf"), facet_label("year", "2024")
    ('German', 'PDF', '2024')
    """
    return {"language": _LANGUAGES, "type": _TYPES, "topic": _TOPICS}.get(name, {}).get(value, value)


def in_words(results: Results, has_global_rank: bool, seen_from: str) -> dict[str, Any]:
    """What the template says of results, besides what is in them."""
    before = _order_before(results.rank, seen_from, has_global_rank)
    return {
        "summary": summary_of(results, len(results.hits)),
        "moves": [_move(hit, before) for hit in results.hits],
        "compared": _SAID[before] if before else "",
        "snippets": [pieces(hit) for hit in results.hits],
        "places": [_places(hit) for hit in results.hits],
        "said_of": [said_of(hit) for hit in results.hits],
        "facets": shown_facets(results.facets, results.total),
        "n_last": min(-(-results.total // results.n), MAX_RESULTS // results.n),
        "seen_from": seen_from if before else "",
    }


def _order_before(rank: str, seen_from: str, has_global_rank: bool) -> str | None:
    """The order that positions are compared with: the one before, or that of the words. Blended ones are not known."""
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
        return Move("same", 0, f"the same place as {_SAID[before]}")
    way = "up" if places > 0 else "down"
    return Move(way, abs(places), f"{way} {counted(abs(places), 'place')}, from {was} {_SAID[before]}")


def _places(hit: Hit) -> str:
    """Where it stands in all orders."""
    return ", ".join(f"no. {place:,} {_SHORT[name]}" for name, place in hit.positions.items() if place is not None)


def said_of(hit: Hit) -> list[str]:
    """What it is, if it is no HTML, and when it was published, changed or, for want of that, fetched."""
    kind = type_name(hit.type)
    date = f"published {hit.published}" if hit.published else f"changed {hit.changed}" if hit.changed else ""
    if not date and hit.time:
        date = f"fetched {day_of(hit.time)}"
    return [said for said in (kind.upper() if kind != "html" else "", date) if said]


def day_of(time: float) -> str:
    """
    >>> day_of(1.7e9)
    '2023-11-14'
    """
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d}"


def pieces(hit: Hit) -> list[tuple[str, bool]]:
    """The snippet in pieces, and whether each is marked."""
    return [(visible(part), bool(number % 2)) for number, part in enumerate(hit.parts) if part]


def summary_of(results: Results | SeveralResults, n_shown: int) -> str:
    """How many were found, and which of them are shown, in one line."""
    if not results.total:
        return "" if results.hints else "Nothing found."
    first = (results.page - 1) * results.n + 1
    shown = f"{first:,} to {first + n_shown - 1:,}" if n_shown else "none on this page"
    took = f"{1000 * results.elapsed_s:.1f}\u00a0ms"
    return f"{counted(results.total, 'page')} found, {shown}, {_SAID[results.rank]}; {took}"
