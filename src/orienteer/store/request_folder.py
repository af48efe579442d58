"""The persistent requests of a spider that another framework runs, so that none is lost when its process dies.

    requests.db       every accepted request, the pending ones, and the outcomes of the others
    crawl.lock        held by the one process that may write

page       a row per request: ids are dense from 0, in order of arrival. Requests with equal `fingerprint` are
           duplicates, `registered`: duplicates of it are dropped, `start`: the crawl starts from it
request    the request itself, in the caller's encoding, until the page is done
done       outcomes, in order: a PageState, the page of which it is an alias, its links as uint32
host       the names of the hosts; ids are dense from 0
meta       single values: the owner of the requests, and the number of coverage surveys begun
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from numpy.typing import ArrayLike

from orienteer.errors import CrawlFolderError
from orienteer.files.plain import sync_folder
from orienteer.store.connection import DatabaseConnection, DatabaseKind
from orienteer.store.failures import map_disk_errors
from orienteer.store.history import DonePages
from orienteer.store.lock import FolderLock
from orienteer.store.page_row import blob_of

DATABASE = "requests.db"
_PAGES_PER_BATCH = 5_000
_SCHEMA = """
CREATE TABLE page (
    id INTEGER PRIMARY KEY, url TEXT NOT NULL, fingerprint BLOB NOT NULL, registered INTEGER NOT NULL,
    host INTEGER NOT NULL, priority INTEGER NOT NULL, start INTEGER NOT NULL
);
CREATE TABLE request (page INTEGER PRIMARY KEY, request BLOB NOT NULL);
CREATE TABLE done (
    position INTEGER PRIMARY KEY, page INTEGER NOT NULL, state INTEGER NOT NULL, redirect_to INTEGER,
    links BLOB NOT NULL
);
CREATE TABLE host (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""

_KIND = DatabaseKind("a database of requests", 0x4F725371, 1, _SCHEMA, ("page", "request", "done", "host", "meta"))


class RequestRow(NamedTuple):
    """An accepted request; the fields are the columns of the table."""

    page: int
    url: str
    fingerprint: bytes
    registered: bool
    host: int
    priority: int
    start: bool


class RequestTables:
    """The tables of requests.db. Nothing is durable before `commit`."""

    def __init__(self, connection: DatabaseConnection) -> None:
        self._db, self.path = connection, connection.path
        self.commit, self.close = connection.commit, connection.close

    def owner(self) -> str | None:
        owner: str | None = self._db.first("SELECT value FROM meta WHERE key = 'owner'")
        return owner

    def set_owner(self, name: str) -> None:
        self._db.write("INSERT OR REPLACE INTO meta VALUES ('owner', ?)", name)

    def n_surveys(self) -> int:
        """Return the number of coverage surveys begun."""
        return int(self._db.first("SELECT value FROM meta WHERE key = 'surveys'") or 0)

    def set_n_surveys(self, n: int) -> None:
        self._db.write("INSERT OR REPLACE INTO meta VALUES ('surveys', ?)", str(n))

    def add(self, row: RequestRow) -> None:
        self._db.write("INSERT INTO page VALUES (?, ?, ?, ?, ?, ?, ?)", *row)

    def set_start(self, page: int) -> None:
        """Mark a page from which the crawl starts."""
        self._db.write("UPDATE page SET start = 1 WHERE id = ?", page)

    def set_priority(self, page: int, priority: int) -> None:
        self._db.write("UPDATE page SET priority = ? WHERE id = ?", priority, page)

    def add_host(self, host: int, name: str) -> None:
        self._db.write("INSERT INTO host VALUES (?, ?)", host, name)

    def set_request(self, page: int, request: bytes) -> None:
        """Store or replace the request of a page that is not done."""
        self._db.write("INSERT OR REPLACE INTO request VALUES (?, ?)", page, request)

    def request(self, page: int) -> bytes | None:
        """Return the stored request; None if there is none, or the page is done."""
        request: bytes | None = self._db.first("SELECT request FROM request WHERE page = ?", page)
        return request

    def finish(self, page: int, state: int, redirect_to: int | None, links: ArrayLike) -> None:
        """Store the outcome of a page, and delete its request."""
        sql = "INSERT INTO done (page, state, redirect_to, links) VALUES (?, ?, ?, ?)"
        self._db.write(sql, page, state, redirect_to, blob_of(links))
        self._db.write("DELETE FROM request WHERE page = ?", page)

    def rows(self) -> Iterator[RequestRow]:
        """Yield all accepted requests, in order of their ids."""
        for row in self._db.rows("SELECT * FROM page ORDER BY id"):
            yield RequestRow._make(row)

    def host_names(self) -> list[str]:
        return [name for (name,) in self._db.rows("SELECT name FROM host ORDER BY id")]

    def history(self) -> Iterator[DonePages]:
        """Yield the pages that are done, in order."""
        columns = "position, page, state, coalesce(redirect_to, -1), links, 1, NULL, 0"
        for rows in self._db.batches(_PAGES_PER_BATCH, f"SELECT {columns} FROM done ORDER BY position"):
            with self._db.expecting_damage():
                done = DonePages.of_rows(rows)
            yield done

    def pages_with_request(self) -> set[int]:
        return {page for (page,) in self._db.rows("SELECT page FROM request")}


class RequestFolder:
    """A folder with the requests of one spider, created if it does not exist. Close it after use."""

    def __init__(self, path: Path, owner: str) -> None:
        self.path = path
        with map_disk_errors(path):
            path.mkdir(parents=True, exist_ok=True)
        self._lock = FolderLock(path)
        try:
            if not (path / DATABASE).exists():
                DatabaseConnection.create(path / DATABASE, _KIND).close()
                with map_disk_errors(path):
                    sync_folder(path)
            self.tables = RequestTables(DatabaseConnection(path / DATABASE, _KIND))
        except BaseException:
            self._lock.release()
            raise
        try:
            self._claim(owner)
        except BaseException:
            self.close()
            raise

    def _claim(self, owner: str) -> None:
        stored_owner = self.tables.owner()
        if stored_owner is None:
            self.tables.set_owner(owner)
            self.tables.commit()
        elif stored_owner != owner:
            raise CrawlFolderError(f"{self.path} holds the requests of spider {stored_owner!r}, not of {owner!r}")

    def close(self) -> None:
        """Close the folder; uncommitted changes are lost."""
        self.tables.close()
        self._lock.release()
