"""captures/captures.db: where the records of an archive stand, by the URL that they are about.

capture   a row per record that can be shown: responses, revisits, and what a browser made of a page
scanned   how far each file of the archive has been read, and a digest of its last bytes before that place

All of it is derived from the archive: each step of a scan is one transaction, so that it may be killed at any moment,
and several may scan at once (see `take`). A table that this user has not made is not believed (see `files/signing`);
neither is one that is garbled. Either is made anew. Where nothing can be written the table is in memory.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from orienteer.errors import CrawlFolderError
from orienteer.files.plain import make_plain_folder, open_plain
from orienteer.files.signing import is_signed, signature
from orienteer.store.connection import connected
from orienteer.store.failures import explained
from orienteer.url import canonical_url

FOLDER, FILE = "captures", "captures.db"
RESPONSE, REVISIT, DOM, VIEW = range(4)  # kinds of records
_PURPOSE = "where the records of an archive stand"
_FORMAT = 0x4F724301
_TABLES = (
    "CREATE TABLE capture (key INTEGER NOT NULL, url TEXT NOT NULL, kind INTEGER NOT NULL, time REAL NOT NULL, "
    "status INTEGER NOT NULL, type TEXT NOT NULL, digest TEXT NOT NULL, file INTEGER NOT NULL, "
    "offset INTEGER NOT NULL, size_bytes INTEGER NOT NULL)",
    "CREATE INDEX capture_key ON capture (key)",
    "CREATE TABLE scanned (file INTEGER PRIMARY KEY, size_bytes INTEGER NOT NULL, tail BLOB NOT NULL)",
    "CREATE TABLE made (nonce BLOB NOT NULL, signature BLOB NOT NULL)",
)
_COLUMNS = "url, kind, time, status, type, digest, file, offset, size_bytes"


class CaptureRow(NamedTuple):
    """A record; `type` is the media type of what it holds, `digest` that of its payload as the record states it."""

    url: str
    kind: int
    time: float
    status: int
    type: str
    digest: str
    file: int
    offset: int
    size_bytes: int


class Scanned(NamedTuple):
    """So many bytes of a file have been read; `tail` tells its last ones."""

    size_bytes: int
    tail: bytes


class CaptureTable:
    """The table of a crawl folder; several threads may use it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FOLDER / FILE
        self._lock = threading.Lock()
        self._connection = self._on_disk() or self._in_memory()

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def scanned(self) -> dict[int, Scanned]:
        """How far the files have been read, by their numbers."""
        with self._explained():
            rows = self._connection.execute("SELECT file, size_bytes, tail FROM scanned").fetchall()
        return {int(file): Scanned(int(size_bytes), bytes(tail)) for file, size_bytes, tail in rows}

    def take(self, file: int, before: Scanned | None, after: Scanned, rows: Iterable[CaptureRow]) -> bool:
        """What was found in a file between two places; False, and nothing is taken, where another process was there."""
        keyed = [(key_of(row.url), *row) for row in rows]
        with self._explained(), self._transaction():
            found = self._connection.execute("SELECT size_bytes, tail FROM scanned WHERE file = ?", (file,)).fetchone()
            if found != (None if before is None else tuple(before)):
                return False
            self._connection.executemany(f"INSERT INTO capture VALUES (?{', ?' * len(CaptureRow._fields)})", keyed)
            self._connection.execute("INSERT OR REPLACE INTO scanned VALUES (?, ?, ?)", (file, *after))
        return True

    def forget(self, file: int | None = None) -> None:
        """All that is known of a file, or of all of them."""
        where, values = ("", ()) if file is None else (" WHERE file = ?", (file,))
        with self._explained(), self._transaction():
            for table in ("capture", "scanned"):
                self._connection.execute(f"DELETE FROM {table}{where}", values)

    def of(self, url: str) -> list[CaptureRow]:
        """The records about a URL, or one that may stand for it (see `loosely`), as they were archived."""
        sql = f"SELECT {_COLUMNS} FROM capture WHERE key = ? ORDER BY time, file, offset"
        with self._explained():
            rows = self._connection.execute(sql, (key_of(url),)).fetchall()
        wanted = loosely(url)
        return [row for row in map(CaptureRow._make, rows) if loosely(row.url) == wanted]

    def __len__(self) -> int:
        with self._explained():
            return int(self._connection.execute("SELECT count(*) FROM capture").fetchone()[0])

    # -- opening ------------------------------------------------------------------------------------------------

    def _on_disk(self) -> sqlite3.Connection | None:
        """The file, made anew where it is not to be believed; None where nothing can be written."""
        folder = self.path.parent if self.path.parent.exists() else self.path.parent.parent
        if not os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            return None
        with explained(self.path):
            make_plain_folder(self.path.parent)
            for _ in range(2):
                os.close(open_plain(self.path, os.O_WRONLY | os.O_CREAT))
                try:
                    connection = connected(self.path, read_only=False, many_threads=True)
                except sqlite3.DatabaseError:
                    connection = None
                if connection is not None and _is_believed(connection):
                    return connection
                if connection is not None:
                    connection.close()
                for name in (FILE, f"{FILE}-wal", f"{FILE}-shm", f"{FILE}-journal"):
                    self.path.with_name(name).unlink(missing_ok=True)
        return None  # nothing can be signed here

    def _in_memory(self) -> sqlite3.Connection:
        """A table of its own, with what the file says, if that is to be believed."""
        connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        with suppress(OSError, sqlite3.Error, CrawlFolderError):
            found = connected(self.path, read_only=True)
            try:
                if _is_believed(found, is_new=False):
                    found.backup(connection)
            finally:
                found.close()
        if not connection.execute("SELECT name FROM sqlite_master").fetchone():
            _make(connection)
        return connection

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        with self._lock, explained(self.path):
            yield


def loosely(url: str) -> str:
    """What a URL has in common with those that may stand for it: http for https, a slash more or less at the end, a
    fragment, and the marks of a visit.

    >>> loosely("https://Example.org/a/?b=1#top"), loosely("http://example.org/a?b=1&utm_source=x")
    ('example.org/a?b=1', 'example.org/a?b=1')
    """
    whole = canonical_url(url) or url.partition("#")[0]
    bare = whole.partition("://")[2] if whole.startswith(("http://", "https://")) else whole
    path, mark, query = bare.partition("?")
    return path.rstrip("/") + mark + query


def key_of(url: str) -> int:
    digest = hashlib.blake2b(loosely(url).encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def _is_believed(connection: sqlite3.Connection, is_new: bool = True) -> bool:
    """Whether this user has made the table, in this format; an empty file becomes one, if it may."""
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        has_tables = connection.execute("SELECT name FROM sqlite_master").fetchone()
        if is_new and not has_tables:
            _make(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        ((format,),) = connection.execute("PRAGMA user_version")
        made = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
        ((nonce, signed),) = connection.execute("SELECT nonce, signature FROM made")
        return format == _FORMAT and made == set(_TABLES) and is_signed(bytes(signed), _PURPOSE, [bytes(nonce)])
    except (sqlite3.Error, ValueError, TypeError):
        return False


def _make(connection: sqlite3.Connection) -> None:
    nonce = secrets.token_bytes(16)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    if not connection.execute("SELECT name FROM sqlite_master").fetchone():  # another process may have been quicker
        for sql in _TABLES:
            connection.execute(sql)
        connection.execute("INSERT INTO made VALUES (?, ?)", (nonce, signature(_PURPOSE, [nonce]) or b""))
        connection.execute(f"PRAGMA user_version = {_FORMAT}")
    connection.execute("COMMIT")
