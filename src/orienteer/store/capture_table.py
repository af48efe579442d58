"""captures/captures.db: the positions of the records of an archive, by their URLs.

capture   a row per record that can be displayed: responses, revisits, rendered documents and screenshots
scanned   how far each file of the archive has been read, and a digest of its last bytes before that offset

All of it is derived from the archive. Each step of a scan is one transaction, so a scan may be killed at any moment and
several processes may scan at once (see `add_scan`). A table that is damaged or was not signed by this user (see
`files/signing`) is rebuilt. If the folder is not writable the table is in memory.
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
from orienteer.store.connection import connected, transaction
from orienteer.store.failures import map_disk_errors
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
    """A record; `type` is the media type of its payload, `digest` the payload digest as the record states it."""

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
    """The number of bytes of a file that have been read, and a digest of the last of them."""

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
        """Return how far each file has been read, by its number."""
        with self._mapped_errors():
            rows = self._connection.execute("SELECT file, size_bytes, tail FROM scanned").fetchall()
        return {int(file): Scanned(int(size_bytes), bytes(tail)) for file, size_bytes, tail in rows}

    def add_scan(self, file: int, before: Scanned | None, after: Scanned, rows: Iterable[CaptureRow]) -> bool:
        """Add the records of a file between two offsets; False, and no change, if another process was faster."""
        keyed = [(key_of(row.url), *row) for row in rows]
        with self._mapped_errors(), transaction(self._connection):
            found = self._connection.execute("SELECT size_bytes, tail FROM scanned WHERE file = ?", (file,)).fetchone()
            if found != (None if before is None else tuple(before)):
                return False
            self._connection.executemany(f"INSERT INTO capture VALUES (?{', ?' * len(CaptureRow._fields)})", keyed)
            self._connection.execute("INSERT OR REPLACE INTO scanned VALUES (?, ?, ?)", (file, *after))
        return True

    def delete(self, file: int | None = None) -> None:
        """Delete the rows of a file, or of all files."""
        where, values = ("", ()) if file is None else (" WHERE file = ?", (file,))
        with self._mapped_errors(), transaction(self._connection):
            for table in ("capture", "scanned"):
                self._connection.execute(f"DELETE FROM {table}{where}", values)

    def find(self, url: str) -> list[CaptureRow]:
        """Return the records of a URL, or of an equivalent one (see `loose_key`), in the order of archiving."""
        sql = f"SELECT {_COLUMNS} FROM capture WHERE key = ? ORDER BY time, file, offset"
        with self._mapped_errors():
            rows = self._connection.execute(sql, (key_of(url),)).fetchall()
        wanted_key = loose_key(url)
        return [row for row in map(CaptureRow._make, rows) if loose_key(row.url) == wanted_key]

    def __len__(self) -> int:
        with self._mapped_errors():
            return int(self._connection.execute("SELECT count(*) FROM capture").fetchone()[0])

    # -- opening ------------------------------------------------------------------------------------------------

    def _on_disk(self) -> sqlite3.Connection | None:
        """Open the file, and rebuild it if it is not trusted; None if nothing can be written."""
        folder = self.path.parent if self.path.parent.exists() else self.path.parent.parent
        if not os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            return None
        with map_disk_errors(self.path):
            make_plain_folder(self.path.parent)
            for _ in range(2):
                os.close(open_plain(self.path, os.O_WRONLY | os.O_CREAT))
                try:
                    connection = connected(self.path, read_only=False, many_threads=True)
                except sqlite3.DatabaseError:
                    connection = None
                if connection is not None and _is_trusted(connection):
                    return connection
                if connection is not None:
                    connection.close()
                for name in (FILE, f"{FILE}-wal", f"{FILE}-shm", f"{FILE}-journal"):
                    self.path.with_name(name).unlink(missing_ok=True)
        return None  # nothing can be signed here

    def _in_memory(self) -> sqlite3.Connection:
        """Make a table in memory with the rows of the file, if that is trusted."""
        connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        with suppress(OSError, sqlite3.Error, CrawlFolderError):
            found = connected(self.path, read_only=True)
            try:
                if _is_trusted(found, is_new=False):
                    found.backup(connection)
            finally:
                found.close()
        if not connection.execute("SELECT name FROM sqlite_master").fetchone():
            _make(connection)
        return connection

    @contextmanager
    def _mapped_errors(self) -> Iterator[None]:
        with self._lock, map_disk_errors(self.path):
            yield


def loose_key(url: str) -> str:
    """Return a key that equivalent URLs share: without scheme (http or https), trailing slashes, fragment and tracking
    parameters.

    >>> loose_key("https://Example.org/a/?b=1#top"), loose_key("http://example.org/a?b=1&utm_source=x")
    ('example.org/a?b=1', 'example.org/a?b=1')
    """
    whole = canonical_url(url) or url.partition("#")[0]
    bare = whole.partition("://")[2] if whole.startswith(("http://", "https://")) else whole
    path, mark, query = bare.partition("?")
    return path.rstrip("/") + mark + query


def key_of(url: str) -> int:
    digest = hashlib.blake2b(loose_key(url).encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def _is_trusted(connection: sqlite3.Connection, is_new: bool = True) -> bool:
    """Return whether this user made the table, in this format; with `is_new` an empty file becomes a table."""
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
