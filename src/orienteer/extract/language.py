"""The language of a page: declared, or detected from its text."""

from __future__ import annotations

import re

from orienteer.errors import MissingExtraError

MIN_DETECTION_CHARS = 40  # detection is unreliable for shorter texts
_MAX_DETECTION_CHARS = 2_000  # longer samples do not improve it

_PRIMARY = re.compile(r"\s*([a-zA-Z]{2,3})(?![a-zA-Z0-9])")


def primary_language(tag: str) -> str:
    """Return the language of a tag like "en-US", without region and script; of several tags the first; "" if invalid.

    >>> primary_language("en-US"), primary_language("PT_br, en"), primary_language("x-default"), primary_language("")
    ('en', 'pt', '', '')
    """
    found = _PRIMARY.match(tag)
    return "" if found is None else found[1].lower()


def detected(text: str) -> str:
    """Detect the language of a text, such as "en"; "" if the text is too short."""
    sample = text[:_MAX_DETECTION_CHARS]
    if len(sample) < MIN_DETECTION_CHARS:
        return ""
    try:
        # Imported here, since loading the model takes almost a second.
        from py3langid.langid import classify
    except ModuleNotFoundError:
        raise MissingExtraError("language detection", "py3langid", "language") from None
    return str(classify(sample)[0])
