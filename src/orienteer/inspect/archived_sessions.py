"""Check by the archive that URLs with different sessions are the same page, as in crawl.db (ledger/duplicates)."""

from __future__ import annotations

from collections.abc import Iterator

from orienteer.store.database_view import DatabaseView
from orienteer.url import session_of


class ArchivedSessions:
    """Collects the contents without sessions from the archive, and which links and pages count for another page."""

    def __init__(self, database: DatabaseView) -> None:
        self._database = database
        self._contents: dict[str, dict[str, set[bytes]]] = {}  # by the URL without its session, by URL
        self._uses: dict[tuple[str, int], set[int]] = {}  # by (URL, page it counts for): the pages that depend on it

    def add(self, url: str, sessionless: bytes | None) -> None:
        """Add the digest of an archived content without the session; None: it is like no other."""
        session = session_of(url)
        if session is not None:
            contents = self._contents.setdefault(session.stripped, {}).setdefault(url, set())
            contents |= set() if sessionless is None else {sessionless}

    def first(self, url: str) -> int | None:
        """Return the page that a URL with a session counts for by the database; None if it is a page itself."""
        session = session_of(url)
        row = None if session is None else self._database.session(session.stripped)
        return row.page if row is not None and row.is_same else None

    def may_name(self, url: str, page: int) -> bool:
        """Whether the URL counts for this page by the database."""
        return self.first(url) == page

    def use(self, url: str, target: int, page: int) -> None:
        """Record that `url`, that of `page` or of a link on it, counts for the page `target`."""
        self._uses.setdefault((url, target), set()).add(page)

    def unconfirmed(self) -> Iterator[int]:
        """Yield the pages that depend on a session which, by the archive, may make a difference."""
        for (url, target), pages in self._uses.items():
            if not self._is_same(url, self._database.url(target)):
                yield from pages

    def _is_same(self, url: str, target: str) -> bool:
        """Whether the content of the URL is that of the target; of any other session where the URL is not archived."""
        session = session_of(url)
        contents = {} if session is None else self._contents.get(session.stripped, {})
        own = contents.get(target, set())
        others = [contents[url]] if url in contents else [contents[other] for other in contents if other != target]
        return any(own & other for other in others)
