"""Session ids in URLs: whether URLs that differ in a session alone are one page or several.

A session in a URL (`?sid=...`, `;jsessionid=...`) mostly identifies a visit; but the same parameters also name other
things. So such URLs are different pages until two of them had the same content, apart from the session itself. From
then on all URLs that differ from these in the session alone count as the first of them, and are not requested.

Same content: equal once the session of the URL is removed from it, and without any other session in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from orienteer.store.database import Database, SessionRow
from orienteer.url import session_of


class Sessions:
    """What a crawl has learned about the sessions in its URLs; it is stored in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def canonical(self, urls: Sequence[str]) -> Sequence[str]:
        """Replace URLs whose session does not matter by the first one that was found."""
        changed = {k: first for k, url in enumerate(urls) if "=" in url and (first := self._first(url)) is not None}
        return [changed.get(k, url) for k, url in enumerate(urls)] if changed else urls

    def original_of(self, page: int, url: str, digest: bytes | None) -> int | None:
        """Return the page with another session that this page repeats, if there is one.

        `digest` is that of its content without the session (see extract/near_duplicates).
        """
        session = None if digest is None else session_of(url)
        if session is None or digest is None:
            return None
        known = self._database.session(session.stripped)
        if known is None:
            self._database.set_session(session.stripped, SessionRow(page, digest, is_same=False))
            return None
        if known.page == page or known.digest != digest:
            return None
        if not known.is_same:
            self._database.set_session(session.stripped, known._replace(is_same=True))
        return known.page

    def _first(self, url: str) -> str | None:
        session = session_of(url)
        if session is None:
            return None
        known = self._database.session(session.stripped)
        return self._database.url(known.page) if known is not None and known.is_same else None
