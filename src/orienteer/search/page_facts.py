"""Filters of pages by file type, by date, and by topic.

    type:pdf          by short name, or by media type (`type:application/pdf`)
    before:2025       published before 2025, or changed, if no date of publication is known
    after:2024-06-15  on that day or later; after:2024 is in that year or later

    topic:on          on the topic of the crawl, by its threshold; topic:off: not

A page without a date is neither before nor after anything.
"""

from __future__ import annotations

import re

from orienteer.extract.dates import iso_date

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
