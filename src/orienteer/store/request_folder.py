"""The requests of a spider that another framework drives, so that none is lost when its process dies.

    requests.db       every request that was accepted, those that wait, and what came of the others
    crawl.lock        held by the one process that may write

page       a row per request: ids are dense from 0, in order of arrival. `fingerprint` says which requests are the same,
           `registered` whether others like it are dropped because of it, `start` whether the crawl starts from it
request    the request itself, in whatever form the caller gives it, as long as the page is not done
done       what came of a page, in order: a PageState, the page it is another name of, its links as uint32
host       the names of the hosts; ids are dense from 0
meta       single values: whose requests they are, and how many surveys of the coverage were begun
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, NamedTuple

from numpy.typing import ArrayLike

from orienteer.errors import CrawlFolderError
from orienteer.files.durable import sync_folder
from orienteer.store.connection import Connection, Kind
from orienteer.store.failures import explained
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


class RequestRow(NamedTuple):
    """A request that was accepted; the fields are the columns of the table."""

    page: int
    url: str
    fingerprint: bytes
    registered: bool
    host: int
    priority: int
    start: bool


class RequestTables(Connection):
    """Nothing is durable before `commit`."""

    kind: ClassVar[Kind] = Kind(
        "a database of requests", 0x4F725371, 1, _SCHEMA, ("page", "request", "done", "host", "meta")
    )

    def owner(self) -> str | None:
        owner: str | None = self._first("SELECT value FROM meta WHERE key = 'owner'")
        return owner

    def set_owner(self, name: str) -> None:
        self._write("INSERT OR REPLACE INTO meta VALUES ('owner', ?)", name)

    def n_surveys(self) -> int:
        """How many surveys of the coverage were begun."""
        return int(self._first("SELECT value FROM meta WHERE key = 'surveys'") or 0)

    def set_n_surveys(self, n: int) -> None:
        self._write("INSERT OR REPLACE INTO meta VALUES ('surveys', ?)", str(n))

    def add(self, row: RequestRow) -> None:
        self._write("INSERT INTO page VALUES (?, ?, ?, ?, ?, ?, ?)", *row)

    def set_start(self, page: int) -> None:
        """The crawl starts from this page, too."""
        self._write("UPDATE page SET start = 1 WHERE id = ?", page)

    def set_priority(self, page: int, priority: int) -> None:
        self._write("UPDATE page SET priority = ? WHERE id = ?", priority, page)

    def add_host(self, host: int, name: str) -> None:
        self._write("INSERT INTO host VALUES (?, ?)", host, name)

    def keep(self, page: int, request: bytes) -> None:
        """The request of a page that is not done, in place of the one before."""
        self._write("INSERT OR REPLACE INTO request VALUES (?, ?)", page, request)

    def request(self, page: int) -> bytes | None:
        """None if it was not kept, or the page is done."""
        request: bytes | None = self._first("SELECT request FROM request WHERE page = ?", page)
        return request

    def finish(self, page: int, state: int, redirect_to: int | None, links: ArrayLike) -> None:
        """The page is done; its request is not needed any more."""
        sql = "INSERT INTO done (page, state, redirect_to, links) VALUES (?, ?, ?, ?)"
        self._write(sql, page, state, redirect_to, blob_of(links))
        self._write("DELETE FROM request WHERE page = ?", page)

    def rows(self) -> Iterator[RequestRow]:
        """All requests that were accepted, in order of their ids."""
        for row in self._rows("SELECT * FROM page ORDER BY id"):
            yield RequestRow._make(row)

    def host_names(self) -> list[str]:
        return [name for (name,) in self._rows("SELECT name FROM host ORDER BY id")]

    def history(self) -> Iterator[DonePages]:
        """What came of the pages that are done, in order."""
        columns = "position, page, state, coalesce(redirect_to, -1), links, 1, NULL, 0"
        for rows in self._batches(_PAGES_PER_BATCH, f"SELECT {columns} FROM done ORDER BY position"):
            with self._expecting_damage():
                done = DonePages.of_rows(rows)
            yield done

    def pages_with_request(self) -> set[int]:
        return {page for (page,) in self._rows("SELECT page FROM request")}


class RequestFolder:
    """A folder with the requests of one spider, made if it is not there. Close it."""

    def __init__(self, path: Path, owner: str) -> None:
        self.path = path
        with explained(path):
            path.mkdir(parents=True, exist_ok=True)
        self._lock = FolderLock(path)
        try:
            if not (path / DATABASE).exists():
                RequestTables.create(path / DATABASE).close()
                with explained(path):
                    sync_folder(path)
            self.tables = RequestTables.open(path / DATABASE)
        except BaseException:
            self._lock.release()
            raise
        try:
            self._claim(owner)
        except BaseException:
            self.close()
            raise

    def _claim(self, owner: str) -> None:
        before = self.tables.owner()
        if before is None:
            self.tables.set_owner(owner)
            self.tables.commit()
        elif before != owner:
            raise CrawlFolderError(f"{self.path} holds the requests of spider {before!r}, not of {owner!r}")

    def close(self) -> None:
        """What is not committed is lost."""
        self.tables.close()
        self._lock.release()
