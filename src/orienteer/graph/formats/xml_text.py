"""Escaping of untrusted text for XML."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape

# Characters that XML 1.0 cannot represent, not even as character references.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def as_text(text: str) -> str:
    """Escape text between tags. A character that XML cannot represent becomes U+FFFD.

    >>> as_text("a < b & c ]]> \\x07")
    'a &lt; b &amp; c ]]&gt; \ufffd'
    """
    # A bare carriage return would be read as a line feed.
    return escape(_ILLEGAL.sub("\ufffd", text), {"\r": "&#13;"})


def as_value(text: str) -> str:
    """Escape an attribute value for double quotes, where a reader would normalise white space to blanks."""
    return escape(_ILLEGAL.sub("\ufffd", text), {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;", '"': "&quot;"})
