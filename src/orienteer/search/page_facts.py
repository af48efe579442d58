"""Index terms of pages that are filters: by file type, date and topic, and by what page hooks added.

    type:pdf            by short name, or by media type (`type:application/pdf`)
    before:2025         published before 2025, or changed, if no date of publication is known
    after:2024-06-15    on that day or later; after:2024 is in that year or later
    topic:on            on the topic of the crawl, by its threshold; topic:off: not
    tag:shop            the page has this tag, whatever the case of its letters
    price:12            the field has this value; 12, 12.0 and "12" are the same
    author:smith        the field is a text with this word in it; author:"jane smith" with all of these

A page without a date is neither before nor after anything. Tags and texts of fields are also found as words, like those
of the page, but count for less.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from orienteer.extract.dates import iso_date
from orienteer.pages.added import Additions
from orienteer.search.words import PLAIN, words_of

# By short name, the media types.
TYPES = {
    "html": ("text/html", "application/xhtml+xml"),
    "pdf": ("application/pdf",),
    "text": ("text/plain",),
    "docx": ("application/vnd.openxmlformats-officedocument.wordprocessingml.document",),
    "odt": ("application/vnd.oasis.opendocument.text",),
    "pptx": ("application/vnd.openxmlformats-officedocument.presentationml.presentation",),
    "xlsx": ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",),
    "epub": ("application/epub+zip",),
    "feed": ("application/rss+xml", "application/atom+xml"),
}
TOPIC_VALUES = ("on", "off")
_OTHER_NAMES = {"txt": "text", "htm": "html", "xhtml": "html", "rss": "feed", "atom": "feed"}
_NAMES = {media_type: name for name, media_types in TYPES.items() for media_type in media_types}
_DATE = re.compile(r"\d{4}(-\d{1,2}(-\d{1,2})?)?", re.ASCII)
_MAX_TERM_CHARS = 200
_MAX_WORDS = 100  # indexed per named field; the page's full text has all of them
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,30})?", re.ASCII)


def type_name(media_type: str) -> str:
    """Return the short name of a media type, or "" if it has none.

    >>> type_name("application/pdf"), type_name("text/html"), type_name("image/png")
    ('pdf', 'html', '')
    """
    kind = media_type.partition(";")[0].strip().lower()
    return _NAMES.get(kind, "" if kind else "html")


def type_terms(media_type: str) -> tuple[str, ...]:
    """Return the index terms of a media type; a page without one was read as HTML.

    >>> type_terms("application/pdf"), type_terms("")
    (('application/pdf', 'pdf'), ('html',))
    """
    kind = media_type.partition(";")[0].strip().lower()
    return tuple(term for term in (kind, type_name(kind)) if term)


def type_term(text: str) -> str:
    """Return the index term of a type in a query, or "" if there is no such type.

    >>> type_term("PDF"), type_term("txt"), type_term("image/png"), type_term("pfd")
    ('pdf', 'text', 'image/png', '')
    """
    name = text.strip().lower().lstrip(".")
    name = _OTHER_NAMES.get(name, name)
    return name if name in TYPES or re.fullmatch(r"[\w.+-]+/[\w.+-]+", name) else ""


def topic_term(relevance: float | None, threshold: float | None) -> str:
    """Return "on" or "off", by whether a page is on the topic; "" if the crawl has no topic.

    >>> topic_term(0.7, 0.5), topic_term(None, 0.5), topic_term(0.7, None)
    ('on', 'off', '')
    """
    return "" if threshold is None else TOPIC_VALUES[(relevance or 0.0) < threshold]


def date_number(date: str) -> int | None:
    """Return a date as a number of the same order; a year is before all of its days. None if it is no valid date.

    >>> date_number("2025-03-01"), date_number("2025"), date_number("20x5"), date_number("2025-02-31")
    (20250301, 20250000, None, None)
    """
    if not _DATE.fullmatch(date) or iso_date(date).count("-") != date.count("-"):
        return None
    numbers = [int(digits) for digits in date.split("-")]
    year, month, day = (*numbers, 0, 0)[:3]
    return 10_000 * year + 100 * month + day


def tag_term(tag: str) -> str:
    """Return the index term of a tag.

    >>> tag_term("Second  Hand")
    'second hand'
    """
    return " ".join(tag.casefold().split())[:_MAX_TERM_CHARS]


def value_term(name: str, value: str | int | float | bool) -> str:
    """Return the index term of a field's value; equal numbers have equal terms.

    >>> value_term("price", 12.0), value_term("price", "12.50"), value_term("sold", True), value_term("by", "Jane  Doe")
    ('price=12', 'price=12.5', 'sold=true', 'by=jane doe')
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    text = tag_term(str(value))
    if _NUMBER.fullmatch(text) and "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{name}={text}"


def word_terms(name: str, text: str) -> list[str]:
    """Return a term for each word of a text. Words and values have different terms, so 5 does not match -5.

    >>> word_terms("by", "Jane Doe")
    ['by~jane', 'by~doe']
    """
    return [f"{name}~{word}" for word in words_of(text[: 20 * _MAX_TERM_CHARS], PLAIN)[:_MAX_WORDS]]


def field_terms(added: Additions) -> set[str]:
    """Return all terms of the fields of a page."""
    terms = set()
    for name, value in _single_values(added):
        terms.add(value_term(name, value))
        if isinstance(value, str):
            terms.update(word_terms(name, value))
    return terms


def added_text(added: Additions) -> str:
    """Return tags and values as text, one per line: strings and numbers, but no booleans."""
    values = [str(value) for _, value in _single_values(added) if not isinstance(value, bool)]
    return "\n".join((*added.tags, *values))


def _single_values(added: Additions) -> Iterator[tuple[str, Any]]:
    for name, value in added.fields.items():
        for single in value if isinstance(value, list) else (value,):
            yield name, single
