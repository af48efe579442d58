"""Check by the archive that URLs with different sessions are the same page, as in crawl.db (ledger/sessions)."""

from __future__ import annotations

from orienteer.store.database_view import DatabaseView
from orienteer.url import session_of
from orienteer.wording import plain


class ArchivedSessions:
    """Collects the contents without sessions from the archive, and which links and pages count for another page."""

    def __init__(self, database: DatabaseView) -> None:
        self._database = database
        self._contents: dict[str, dict[str, set[bytes]]] = {}  # by the URL without its session, by URL
        self._uses: dict[tuple[str, int], int] = {}  # by (URL without its session, page it counts for): a page

    def add(self, url: str, sessionless: bytes | None) -> None:
        """Add the digest of an archived content without the session."""
        session = None if sessionless is None else session_of(url)
        if session is not None and sessionless is not None:
            self._contents.setdefault(session.stripped, {}).setdefault(url, set()).add(sessionless)

    def first(self, url: str) -> int | None:
        """Return the page that a URL with a session counts for by the database; None if it is a page itself."""
        session = session_of(url)
        row = None if session is None else self._database.session(session.stripped)
        return row.page if row is not None and row.is_same else None

    def may_name(self, url: str, page: int) -> bool:
        """Whether the URL counts for this page by the database."""
        return self.first(url) == page

    def use(self, url: str, target: int, page: int) -> None:
        """Record that the URL of `page`, or of a link on it, counts for the page `target`."""
        session = session_of(url)
        assert session is not None
        self._uses.setdefault((session.stripped, target), page)

    def problems(self) -> list[tuple[int, str]]:
        """Return the claims that the archive does not confirm: (page that depends on it, problem)."""
        return [
            (page, f"the archive does not show that a session makes no difference to "
             f"{plain(self._database.url(target), 150)}")
            for (stripped, target), page in self._uses.items()
            if not self._is_same(stripped, self._database.url(target))
        ]  # fmt: skip

    def _is_same(self, stripped: str, url: str) -> bool:
        contents = self._contents.get(stripped, {})
        own = contents.get(url, set())
        return any(own & others for other, others in contents.items() if other != url)
