"""Index terms for what page hooks added to a page.

    tag:shop            the page has this tag, whatever the case of its letters
    price:12            the field has this value; 12, 12.0 and "12" are the same
    author:smith        the field is a text with this word in it; author:"jane smith" with all of these

Tags and texts of fields are also found as words, like those of the page, but count for less.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from orienteer.pages.added import Additions
from orienteer.search.words import PLAIN, words_of

_MAX_TERM_CHARS = 200
_MAX_WORDS = 100  # indexed per named field; the page's full text has all of them
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,30})?", re.ASCII)


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
