"""SQLite connections of the store: explicit transactions, durable commits, checked rows, one-line errors.

The first write begins a transaction, `commit` ends it; a connection reads its own uncommitted writes. A commit is
durable (write-ahead log, synchronous=FULL), and other processes may read it at any time. When a write fails the whole
transaction is lost: `commit` raises the same error again until `rollback`.

The classes of the tables (`Database` has one for each group of tables) share one connection.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

from orienteer.errors import CrawlFolderError
from orienteer.files.plain import expect_plain, replaced_inside
from orienteer.store.failures import damaged, map_disk_errors
from orienteer.store.schema import APPLICATION_ID, RANGES, SCHEMA, TABLES, UPGRADES, VERSION, Range, RowRanges
from orienteer.wording import plain

_BUSY_TIMEOUT_S = 10.0
_NEW_TABLE, _NEW_COLUMN = re.compile(r"CREATE TABLE (\w+)"), re.compile(r"ALTER TABLE (\w+) ADD COLUMN (\w+)")
_NO_SHARED_MEMORY = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)  # SQLite cannot create the -shm file
_PRAGMAS = (
    "synchronous = FULL",
    "cache_size = -65536",  # 64 MiB
    "wal_autocheckpoint = 8192",  # pages: index writes are scattered, so collect several changes of the same page
    f"journal_size_limit = {1 << 26}",
)


class DatabaseKind(NamedTuple):
    """A kind of database: its application id, the version of its format, and its schema.

    `upgrades` are the statements that lead from older versions, step by step, to this one. `ranges` are the valid
    values of columns by name.
    """

    what: str
    application_id: int
    version: int
    schema: str
    tables: tuple[str, ...]
    upgrades: Mapping[int, tuple[str, ...]] = {}
    ranges: Mapping[str, Range] = {}


CRAWL_DATABASE = DatabaseKind("the database of a crawl", APPLICATION_ID, VERSION, SCHEMA, TABLES, UPGRADES, RANGES)


class Buffer(Protocol):
    """Rows that a table collects before it writes them."""

    def write(self) -> None: ...

    def clear(self) -> None: ...


class DatabaseConnection:
    """An open database of a kind. Only one thread may use it.

    A database of an older version is upgraded when it is opened for writing; `upgraded_from` is then its old version.
    Opened read-only it stays unchanged, and this connection has the `missing_tables`, empty, and columns of NULL.

    `buffers` are written before a commit, and before any query except `row` and `unchecked`, which look up a
    single row.
    """

    def __init__(self, path: Path, kind: DatabaseKind, read_only: bool = False) -> None:
        self.path = path
        self.kind = kind
        self.read_only = read_only
        self.buffers: list[Buffer] = []
        self.upgraded_from: int | None = None
        self.missing_tables: frozenset[str] = frozenset()
        self._failed: CrawlFolderError | None = None
        self._map_errors = map_disk_errors(path)
        self._ranges: dict[str, RowRanges] = {}  # by SQL statement
        if not path.is_file():
            raise CrawlFolderError(f"{path}: no such database")
        with map_disk_errors(path):
            self._connection = connected(path, read_only)
            try:
                self._check(read_only)
                for pragma in _PRAGMAS:
                    self._connection.execute(f"PRAGMA {pragma}")
            except BaseException:
                self._connection.close()
                raise

    @classmethod
    def create(cls, path: Path, kind: DatabaseKind) -> Self:
        """Create a database; it gets its name when it is complete."""
        with map_disk_errors(path), replaced_inside(path) as new:
            connection = sqlite3.connect(new, isolation_level=None)
            try:
                connection.executescript(
                    f"PRAGMA journal_mode = WAL; PRAGMA application_id = {kind.application_id};"
                    f"BEGIN; {kind.schema} PRAGMA user_version = {kind.version}; COMMIT;"
                    "PRAGMA wal_checkpoint(TRUNCATE);"  # closing does it too, but ignores a full disk
                )
            finally:
                connection.close()
        return cls(path, kind)

    def close(self) -> None:
        """Close the connection; uncommitted changes are lost."""
        self._connection.close()

    def commit(self) -> None:
        self._write_buffers()
        if self._failed is not None:
            raise self._failed
        if self._connection.in_transaction:
            self._change(self._connection.execute, "COMMIT", ())

    def rollback(self) -> None:
        """Return to the last commit."""
        for buffer in self.buffers:
            buffer.clear()
        self._failed = None
        if self._connection.in_transaction:
            with map_disk_errors(self.path):
                self._connection.execute("ROLLBACK")

    def begin_snapshot(self) -> None:
        """From the next read on, do not see later commits of other processes."""
        with map_disk_errors(self.path):
            self._connection.execute("BEGIN")

    def schema_problem(self) -> str:
        """Return why queries of this database may contradict each other, in a few words; "" where they do not."""
        with map_disk_errors(self.path):
            return schema_problem(self._connection, self.kind.schema)

    def rows(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        for batch in self.batches(1000, sql, *values):
            yield from batch

    def batches(self, n_rows: int, sql: str, *values: Any) -> Iterator[list[tuple[Any, ...]]]:
        self._write_buffers()
        with map_disk_errors(self.path):
            cursor = self._connection.execute(sql, values)
            batch = cursor.fetchmany(n_rows)
        ranges = self._ranges_of(sql, cursor)
        while batch:
            with self.expecting_damage():
                ranges.check_all(batch)
            yield batch
            with map_disk_errors(self.path):
                batch = cursor.fetchmany(n_rows)

    def row(self, sql: str, *values: Any) -> tuple[Any, ...] | None:
        """Return the first row; None if there is none. Rows in buffers are not found."""
        with self._map_errors:
            cursor = self._connection.execute(sql, values)
            row: tuple[Any, ...] | None = cursor.fetchone()
        if row is not None:
            try:
                self._ranges_of(sql, cursor).check(row)
            except (TypeError, ValueError, OverflowError) as error:
                raise damaged(self.path, error) from None
        return row

    def unchecked(self, sql: str, *values: Any) -> Any:
        """Return the first column of the first row, which the caller checks; None if there is no row, as for `row`."""
        with self._map_errors:
            row = self._connection.execute(sql, values).fetchone()
        return None if row is None else row[0]

    def first(self, sql: str, *values: Any) -> Any:
        """Return the first column of the first row; None if there is no row."""
        self._write_buffers()
        row = self.row(sql, *values)
        return None if row is None else row[0]

    def write(self, sql: str, *values: Any) -> None:
        self._change(self._connection.execute, sql, values)

    def write_all(self, sql: str, rows: Iterable[tuple[Any, ...]]) -> None:
        self._change(self._connection.executemany, sql, rows)

    def begin(self) -> None:
        """Begin a transaction, unless one is open."""
        if self._failed is not None:
            raise self._failed
        if not self._connection.in_transaction:
            self._try(self._connection.execute, "BEGIN IMMEDIATE", ())

    @contextmanager
    def expecting_damage(self) -> Iterator[None]:
        """Report errors inside as damage: SQLite has no checksums, so it may read a wrong value without an error."""
        try:
            yield
        except (TypeError, ValueError, OverflowError, LookupError, RecursionError) as error:
            raise damaged(self.path, error) from None

    def json(self, text: str) -> Any:
        """Parse a stored JSON text."""
        with self.expecting_damage():
            return json.loads(text)

    def _write_buffers(self) -> None:
        for buffer in self.buffers:
            buffer.write()

    def _ranges_of(self, sql: str, cursor: sqlite3.Cursor) -> RowRanges:
        ranges = self._ranges.get(sql)
        if ranges is None:
            columns = [column[0] for column in cursor.description or ()]
            ranges = self._ranges[sql] = RowRanges(columns, self.kind.ranges)
        return ranges

    def _change(self, execute: Callable[[str, Any], Any], sql: str, values: Any) -> None:
        """Execute a statement inside a transaction."""
        self.begin()
        self._try(execute, sql, values)

    def _try(self, execute: Callable[[str, Any], Any], sql: str, values: Any) -> None:
        try:
            with self._map_errors:
                execute(sql, values)
        except CrawlFolderError as error:
            # SQLite may have rolled back the transaction: later writes must not be committed without the earlier ones.
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
        statements = [statement for step in steps for statement in kind.upgrades[step]]
        new_tables = frozenset(made[1] for made in map(_NEW_TABLE.match, statements) if made)
        names = {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master")}
        missing = set(kind.tables) - names - new_tables
        if missing:
            raise damaged(self.path, f"no table {min(missing)}")
        if not steps:
            return
        if read_only:
            self.missing_tables = new_tables
            self._add_temporarily(statements)
        else:
            with transaction(self._connection):
                for statement in (*statements, f"PRAGMA user_version = {steps.stop}"):
                    self._connection.execute(statement)
            self.upgraded_from = steps.start

    def _add_temporarily(self, statements: Sequence[str]) -> None:
        """Add the tables and columns that these statements add, for this connection only."""
        self._connection.execute("PRAGMA temp_store = MEMORY")
        new_columns: dict[str, list[str]] = {}
        for statement in statements:
            if _NEW_TABLE.match(statement):
                self._connection.execute(statement.replace("CREATE", "CREATE TEMP", 1))
            elif (column := _NEW_COLUMN.match(statement)) and column[1] in self.missing_tables:
                self._connection.execute(statement.replace("TABLE ", "TABLE temp.", 1))
            elif column:
                new_columns.setdefault(column[1], []).append(f"NULL AS {column[2]}")
        for table, columns in new_columns.items():
            self._connection.execute(f"CREATE TEMP VIEW {table} AS SELECT *, {', '.join(columns)} FROM main.{table}")


def schema_problem(connection: sqlite3.Connection, schema: str) -> str:
    """Return how a database that others made differs from this schema; "" where queries mean the same.

    A view may give each query other rows, and a table without its keys two rows for one page.
    """
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript(schema)
        expected = _keys_by_table(made)
    for name, kind, sql in connection.execute("SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL"):
        if kind in ("view", "trigger") or sql.lstrip().upper().startswith("CREATE VIRTUAL"):
            return f"{plain(name, 40)} is a {kind} of SQLite, and no table of a crawl"
    found_keys = _keys_by_table(connection)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
        if not expected.get(name, set()) <= found_keys.get(name, set()):
            return f"the table {name} may have several rows where there must be one"
    ((found,),) = connection.execute("PRAGMA integrity_check(1)")
    return "" if found == "ok" else f"SQLite finds it damaged: {plain(found, 200)}"


def _keys_by_table(connection: sqlite3.Connection) -> dict[str, set[tuple[str, ...]]]:
    """Return the sets of columns whose values are unique, by table."""
    keys: dict[str, set[tuple[str, ...]]] = {}
    unique = (
        "SELECT m.name, l.name, i.name FROM sqlite_master m, "
        "pragma_index_list(m.name, 'main') l, pragma_index_info(l.name, 'main') i "
        "WHERE m.type = 'table' AND l.\"unique\" AND NOT l.partial ORDER BY l.name, i.seqno"
    )
    primary = (
        "SELECT m.name, '', i.name FROM sqlite_master m, pragma_table_info(m.name, 'main') i "
        "WHERE m.type = 'table' AND i.pk ORDER BY m.name, i.pk"
    )
    for sql in (unique, primary):
        for (table, _), columns in groupby(connection.execute(sql), lambda row: row[:2]):
            keys.setdefault(table, set()).add(tuple(column for _, _, column in columns))
    return keys


def connected(path: Path, read_only: bool, many_threads: bool = False) -> sqlite3.Connection:
    """Open an SQLite file that other processes may write to; with `many_threads` the caller must lock."""
    expect_plain(path, alone=not read_only)
    for companion in ("-wal", "-shm", "-journal"):  # readers write to these, too
        expect_plain(path.with_name(path.name + companion), alone=True)
    address = path.resolve().as_uri()
    mode = "ro" if read_only else "rw"
    options: dict[str, Any] = {
        "timeout": _BUSY_TIMEOUT_S, "isolation_level": None, "uri": True, "check_same_thread": not many_threads,
    }  # fmt: skip
    connection: sqlite3.Connection = sqlite3.connect(f"{address}?mode={mode}", **options)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")
    except BaseException as error:  # a damaged schema can raise a UnicodeDecodeError
        connection.close()
        has_log = path.with_name(f"{path.name}-wal").exists()
        if not read_only or has_log or getattr(error, "sqlite_errorcode", 0) & 0xFF not in _NO_SHARED_MEMORY:
            raise
        # In a read-only folder SQLite cannot create its shared memory, and does not need it: no process writes there.
        connection = sqlite3.connect(f"{address}?immutable=1", **options)
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit what is executed inside, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
