"""SQLite as the store uses it: explicit transactions, durable commits, every failure in one line.

The first write begins a transaction, `commit` ends it; reads see what was written before them, committed or not. What
is committed is on the disk (write-ahead log, synchronous=FULL), and other processes may read it at any time. When a
write fails the transaction is lost as a whole: commit raises the same error again until `rollback`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, Self

from orienteer.errors import CrawlFolderError
from orienteer.files.plain import expect_plain, replaced_inside
from orienteer.store.failures import damaged, explained
from orienteer.store.schema import APPLICATION_ID, SCHEMA, TABLES, UPGRADES, VERSION, Upgrade

_BUSY_TIMEOUT_S = 10.0
_NO_PLACE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)  # for the shared memory
_PRAGMAS = (
    "synchronous = FULL",
    "cache_size = -65536",  # 64 MiB
    "wal_autocheckpoint = 8192",  # pages: the indexes are written here and there, so let changes to a page add up
    f"journal_size_limit = {1 << 26}",
)


class Kind(NamedTuple):
    """What kind of database a file is: how to tell it, in which version of its format, and what is in it.

    `upgrades` lead from older versions, step by step, to this one.
    """

    what: str
    application_id: int
    version: int
    schema: str
    tables: tuple[str, ...]
    upgrades: Mapping[int, Upgrade] = {}


class Connection:
    """An open database. One thread may use it.

    A database of an older version is upgraded when it is opened to be written, and then `upgraded_from` says from which
    version. Opened to be read it is left as it is, and `missing_tables` are those it does not have yet.
    """

    kind: ClassVar[Kind] = Kind("the database of a crawl", APPLICATION_ID, VERSION, SCHEMA, TABLES, UPGRADES)

    def __init__(self, path: Path, read_only: bool = False) -> None:
        self.path = path
        self.upgraded_from: int | None = None
        self.missing_tables: frozenset[str] = frozenset()
        self._failed: CrawlFolderError | None = None
        self._explained = explained(path)
        if not path.is_file():
            raise CrawlFolderError(f"{path}: no such database")
        with explained(path):
            self._connection = connected(path, read_only)
            try:
                self._check(read_only)
                for pragma in _PRAGMAS:
                    self._connection.execute(f"PRAGMA {pragma}")
            except BaseException:
                self._connection.close()
                raise

    @classmethod
    def create(cls, path: Path) -> Self:
        """A new database; it appears under its name when it is complete."""
        with explained(path), replaced_inside(path) as new:
            connection = sqlite3.connect(new, isolation_level=None)
            try:
                connection.executescript(
                    f"PRAGMA journal_mode = WAL; PRAGMA application_id = {cls.kind.application_id};"
                    f"BEGIN; {cls.kind.schema} PRAGMA user_version = {cls.kind.version}; COMMIT;"
                    "PRAGMA wal_checkpoint(TRUNCATE);"  # closing would do it too, but not say when the disk is full
                )
            finally:
                connection.close()
        return cls(path)

    @classmethod
    def open(cls, path: Path, read_only: bool = False) -> Self:
        return cls(path, read_only)

    def close(self) -> None:
        """What is not committed is lost."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def commit(self) -> None:
        if self._failed is not None:
            raise self._failed
        if self._connection.in_transaction:
            self._change(self._connection.execute, "COMMIT", ())

    def rollback(self) -> None:
        """Back to the last commit."""
        self._failed = None
        if self._connection.in_transaction:
            with explained(self.path):
                self._connection.execute("ROLLBACK")

    def _rows(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        for batch in self._batches(1000, sql, *values):
            yield from batch

    def _batches(self, n_rows: int, sql: str, *values: Any) -> Iterator[list[tuple[Any, ...]]]:
        with explained(self.path):
            cursor = self._connection.execute(sql, values)
            batch = cursor.fetchmany(n_rows)
        while batch:
            yield batch
            with explained(self.path):
                batch = cursor.fetchmany(n_rows)

    def _row(self, sql: str, *values: Any) -> tuple[Any, ...] | None:
        """The first row; None if there is none."""
        with self._explained:
            row: tuple[Any, ...] | None = self._connection.execute(sql, values).fetchone()
        return row

    def _first(self, sql: str, *values: Any) -> Any:
        """The first column of the first row; None if there is no row."""
        row = self._row(sql, *values)
        return None if row is None else row[0]

    def _write(self, sql: str, *values: Any) -> None:
        self._change(self._connection.execute, sql, values)

    def _write_all(self, sql: str, rows: Iterable[tuple[Any, ...]]) -> None:
        self._change(self._connection.executemany, sql, rows)

    @contextmanager
    def _expecting_damage(self) -> Iterator[None]:
        """A value that SQLite read without complaint may still not be what was written."""
        try:
            yield
        except (TypeError, ValueError, OverflowError, LookupError, RecursionError) as error:
            raise damaged(self.path, error) from None

    def _change(self, execute: Callable[[str, Any], Any], sql: str, values: Any) -> None:
        """Execute a statement inside the transaction."""
        self._begin()
        self._try(execute, sql, values)

    def _begin(self) -> None:
        """Begin a transaction, unless one is open."""
        if self._failed is not None:
            raise self._failed
        if not self._connection.in_transaction:
            self._try(self._connection.execute, "BEGIN IMMEDIATE", ())

    def _try(self, execute: Callable[[str, Any], Any], sql: str, values: Any) -> None:
        try:
            with self._explained:
                execute(sql, values)
        except CrawlFolderError as error:
            # SQLite may have rolled back all of the transaction. What follows must not pass for the whole of it.
            self._failed = error
            raise

    def _check(self, read_only: bool) -> None:
        ((application,),) = self._connection.execute("PRAGMA application_id")
        ((version,),) = self._connection.execute("PRAGMA user_version")
        kind = self.kind
        if application != kind.application_id:
            raise CrawlFolderError(f"{self.path}: not {kind.what}")
        steps = range(version, kind.version)
        if version > kind.version or any(step not in kind.upgrades for step in steps):
            raise CrawlFolderError(
                f"{self.path}: written in format {version}; this version of Orienteer reads format {kind.version}"
            )
        new_tables = frozenset(table for step in steps for table in kind.upgrades[step].tables)
        names = {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master")}
        missing = set(kind.tables) - names - new_tables
        if missing:
            raise damaged(self.path, f"no table {min(missing)}")
        if not steps:
            return
        if read_only:
            self.missing_tables = new_tables
        else:
            self._upgrade(steps)

    def _upgrade(self, steps: range) -> None:
        """All steps or none."""
        self._connection.execute("BEGIN IMMEDIATE")
        for step in steps:
            for statement in self.kind.upgrades[step].statements:
                self._connection.execute(statement)
        self._connection.execute(f"PRAGMA user_version = {steps.stop}")
        self._connection.execute("COMMIT")
        self.upgraded_from = steps.start


def connected(path: Path, read_only: bool, many_threads: bool = False) -> sqlite3.Connection:
    """An SQLite file, opened so that others may go on writing to it; whoever shares it between threads keeps order."""
    expect_plain(path, alone=not read_only)
    for companion in ("-wal", "-shm", "-journal"):  # whoever reads writes to these, too
        expect_plain(path.with_name(path.name + companion), alone=True)
    address = path.resolve().as_uri()
    mode = "ro" if read_only else "rw"
    options: dict[str, Any] = {"isolation_level": None, "uri": True, "check_same_thread": not many_threads}
    connection: sqlite3.Connection = sqlite3.connect(f"{address}?mode={mode}", _BUSY_TIMEOUT_S, **options)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.Error as error:
        connection.close()
        has_log = path.with_name(f"{path.name}-wal").exists()
        if not read_only or has_log or getattr(error, "sqlite_errorcode", 0) & 0xFF not in _NO_PLACE:
            raise
        # In a folder that nobody can write to there is no place for SQLite's shared memory, nor a use for it.
        connection = sqlite3.connect(f"{address}?immutable=1", **options)
    return connection
