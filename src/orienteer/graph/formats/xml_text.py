"""Text that strangers wrote, as XML can hold it."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape

# What XML 1.0 has no way to write, not even as a character reference.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def as_text(text: str) -> str:
    """Between tags. A character that XML cannot hold becomes U+FFFD.

    >>> as_text("a < b & c ]]> \\x07")
    'a &lt; b &amp; c ]]&gt; \ufffd'
    """
    # A bare carriage return would be read as a line feed.
    return escape(_ILLEGAL.sub("\ufffd", text), {"\r": "&#13;"})


def as_value(text: str) -> str:
    """Of an attribute, between double quotes, where a reader takes white space of any kind for blanks."""
    return escape(_ILLEGAL.sub("\ufffd", text), {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;", '"': "&quot;"})
