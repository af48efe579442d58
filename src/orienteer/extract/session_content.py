"""A content without the session of its URL: what two visits of one page have in common."""

from __future__ import annotations

import re

from orienteer.extract import near_duplicates
from orienteer.url import SESSION_VALUES, session_of

_VALUES = re.compile(SESSION_VALUES.encode(), re.IGNORECASE)


def digest_without_session(url: str, content: bytes) -> bytes | None:
    """The digest of a content without the session of its URL.

    None where the URL has no session, or where the content names another one than that: it may well be a list of things
    with such names.
    """
    session = session_of(url)
    if session is None:
        return None
    own = {value.encode() for value in session.values}
    named = {value for groups in _VALUES.findall(content) for value in groups if value}
    if not named <= own:
        return None
    for value in own:
        content = content.replace(value, b"")
    return near_duplicates.digest(content)
