"""Compare the content of pages without the session ids of their URLs."""

from __future__ import annotations

import re

from orienteer.extract import near_duplicates
from orienteer.url import SESSION_VALUES, session_of

_VALUES = re.compile(SESSION_VALUES.encode(), re.IGNORECASE)


def digest_without_session(url: str, content: bytes) -> bytes | None:
    """Return the digest of a content without the session id of its URL.

    None if the URL has no session, or if the content has other session ids: these may be a list of similar names.
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
