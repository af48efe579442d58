"""The language of a page: what it declares, or what its text looks like."""

from __future__ import annotations

import re

from orienteer.errors import MissingExtraError

MIN_DETECTION_CHARS = 40  # less says too little
_MAX_DETECTION_CHARS = 2_000  # more says nothing new

_PRIMARY = re.compile(r"\s*([a-zA-Z]{2,3})(?![a-zA-Z0-9])")


def primary_language(tag: str) -> str:
    """The language of a tag like "en-US", without region and script; of several the first; "" for what is no tag.

    >>> primary_language("en-US"), primary_language("PT_br, en"), primary_language("x-default"), primary_language("")
    ('en', 'pt', '', '')
    """
    found = _PRIMARY.match(tag)
    return "" if found is None else found[1].lower()


def detected(text: str) -> str:
    """The language that a text looks like, as in "en"; "" for a text too short to say."""
    sample = text[:_MAX_DETECTION_CHARS]
    if len(sample) < MIN_DETECTION_CHARS:
        return ""
    try:
        # Loading the model takes a good part of a second.
        from py3langid.langid import classify
    except ModuleNotFoundError:
        raise MissingExtraError("telling the language of a text", "py3langid", "language") from None
    return str(classify(sample)[0])
