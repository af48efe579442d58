"""Random changes of a crawl folder, by an attacker who can write to all of it except the archive."""

from __future__ import annotations

import json
import random
import sqlite3
import tomllib
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

_STATES = (0, 1, 2, 3, 4, 5, 6)
_OUTCOMES = ("ok", "redirect", "http 404", "http 403", "unwanted type", "robots.txt", "redirect leaves the scope", "x")
_INTEGERS = (0, 1, 2, 3, -1, -2, 7, 2**31, 2**32, 2**53, 2**62, -(2**63))
_FLOATS = (0.0, 0.5, 1.0, -1.0, 1e-300, 1e12, 1e300, -1e300, float("inf"), float("-inf"))
_TEXTS = ("", "x", "\ud7ff\u202e\n", "http://a.test/p1", "http://x.test/", "1", "NaN", "[", "a" * 3000)
_NEVER_READ = ("band", "sqlite_stat1")


class Mutations:
    """Changes made by the numbers of `rng`; each says in a few words what it was. `tables`: of these alone."""

    def __init__(self, rng: random.Random, tables: Sequence[str] = ()) -> None:
        self._rng, self._tables = rng, tables

    def change_tables(self, folder: Path) -> list[str]:
        """Make one change in the database."""
        return self.change(folder, with_settings=0)

    def change(self, folder: Path, n: int = 1, with_settings: int = 3) -> list[str]:
        """Make n changes; the report is removed, so that no figure in it contradicts them."""
        (folder / "report.json").unlink(missing_ok=True)
        done: list[str] = []
        with closing(sqlite3.connect(folder / "crawl.db", isolation_level=None)) as database:
            while len(done) < n:
                ways: list[tuple[Callable[[sqlite3.Connection], str], int]] = [
                    (self._change_value, 10), (self._swap_values, 3), (self._delete_row, 2), (self._copy_row, 2),
                    (self._forge, 8), (self._clear_table, 1), (lambda _: self._change_setting(folder), with_settings),
                ]  # fmt: skip
                (way,) = self._rng.choices([way for way, _ in ways], [weight for _, weight in ways])
                try:
                    description = way(database)
                except sqlite3.IntegrityError:
                    continue  # SQLite itself refuses it
                done += [description] if description else []
            database.execute("DELETE FROM meta WHERE key = 'figures'")
        return done

    # -- any table ----------------------------------------------------------------------------------------------

    def _table(self, database: sqlite3.Connection) -> tuple[str, list[str]]:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        wanted = [name for name in self._tables or tables if name not in _NEVER_READ]
        filled = [name for name in wanted if database.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone()]
        table = self._rng.choice([*filled, *[name for name in filled if name in ("page", "unknown", "visit")]])
        return table, [row[1] for row in database.execute(f"PRAGMA table_info({table})")]

    def _some_row(self, database: sqlite3.Connection, table: str, columns: list[str]) -> tuple[Any, ...]:
        rows = database.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
        chosen: tuple[Any, ...] = self._rng.choice(rows)
        return chosen

    @staticmethod
    def _where(columns: list[str], row: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
        return " AND ".join(f"{column} IS ?" for column in columns), row

    def _change_value(self, database: sqlite3.Connection) -> str:
        table, columns = self._table(database)
        row, column = self._some_row(database, table, columns), self._rng.choice(columns)
        old = row[columns.index(column)]
        others = [value for (value,) in database.execute(f"SELECT {column} FROM {table}")]
        new = self._other_value(column, old, others)
        where, values = self._where(columns, row)
        database.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (new, *values))
        return f"{table}.{column} of {row[:3]!r:.100}: {old!r:.60} -> {new!r:.60}"

    def _other_value(self, column: str, old: Any, others: list[Any]) -> Any:
        rng = self._rng
        if rng.random() < 0.3:
            return rng.choice(others)
        if rng.random() < 0.15:
            return rng.choice([None, *_INTEGERS, *_FLOATS, *_TEXTS, b"", b"\x00" * 7])
        if column in ("state", "kind"):
            return rng.choice(_STATES)
        if column == "outcome":
            return rng.choice(_OUTCOMES)
        if isinstance(old, bytes):
            return self._other_blob(old)
        if isinstance(old, float):
            return rng.choice([old + 1.0, old / 2, -old, *_FLOATS])
        if isinstance(old, str):
            return rng.choice([*_TEXTS, old[: len(old) // 2], f"{old}x"])
        number = old if isinstance(old, int) else 0
        if abs(number) > 2**40:
            return rng.choice(_INTEGERS)
        return rng.choice([number + 1, number - 1, rng.randrange(60), *_INTEGERS])

    def _other_blob(self, old: bytes) -> bytes:
        rng, ids = self._rng, [old[k : k + 4] for k in range(0, len(old), 4)]
        which = rng.randrange(6)
        if which == 0 or not ids:
            return b"".join([*ids, rng.randrange(60).to_bytes(4, "little")])
        if which == 1:
            rng.shuffle(ids)
            return b"".join(ids)
        if which == 2:
            return old[: -rng.choice([1, 3, 4, 8])]
        if which == 3:
            return b"".join([*ids, ids[0]])
        if which == 4:
            return rng.choice([b"", b"\xff" * len(old), old + b"\x01"])
        ids[rng.randrange(len(ids))] = rng.randrange(60).to_bytes(4, "little")
        return b"".join(ids)

    def _swap_values(self, database: sqlite3.Connection) -> str:
        table, columns = self._table(database)
        one, two = self._some_row(database, table, columns), self._some_row(database, table, columns)
        some = self._rng.sample(columns, self._rng.randrange(1, len(columns) + 1))
        some = [column for column in some if column not in ("id", "position", "page", "key", "stripped")]
        if one == two or not some:
            return ""
        for row, other in ((one, two), (two, one)):
            where, values = self._where(columns[:1], row[:1])
            sets = ", ".join(f"{column} = ?" for column in some)
            new = [other[columns.index(column)] for column in some]
            database.execute(f"UPDATE {table} SET {sets} WHERE {where}", (*new, *values))
        return f"{table}: swapped {some} of {one[:2]!r:.60} and {two[:2]!r:.60}"

    def _delete_row(self, database: sqlite3.Connection) -> str:
        table, columns = self._table(database)
        row = self._some_row(database, table, columns)
        where, values = self._where(columns, row)
        database.execute(f"DELETE FROM {table} WHERE {where}", values)
        return f"{table}: deleted {row[:3]!r:.100}"

    def _copy_row(self, database: sqlite3.Connection) -> str:
        table, columns = self._table(database)
        row = list(self._some_row(database, table, columns))
        row[0] = self._rng.choice([*_INTEGERS, self._rng.randrange(100)]) if isinstance(row[0], int) else f"{row[0]}x"
        if table == "page":
            row[1] = self._rng.randrange(100)
        database.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        return f"{table}: copied as {row[:3]!r:.100}"

    def _clear_table(self, database: sqlite3.Connection) -> str:
        table, _ = self._table(database)
        database.execute(f"DELETE FROM {table}")
        return f"{table}: cleared"

    # -- forgeries ----------------------------------------------------------------------------------------------

    def _forge(self, database: sqlite3.Connection) -> str:
        """Something that makes the coverage look better."""
        rows = database.execute("SELECT id, links, outside, state FROM page").fetchall()
        if not rows or not database.execute("SELECT 1 FROM url LIMIT 1").fetchone():
            return ""
        page, links, outside, state = self._rng.choice(rows)
        which = self._rng.randrange(11)
        if which == 0:  # links moved out of the scope
            part = 4 * self._rng.randrange(len(links) // 4 + 1)
            new = (links[part:], outside + links[:part])
            database.execute("UPDATE page SET links = ?, outside = ? WHERE id = ?", (*new, page))
        elif which == 1:  # another name of a page
            target = self._rng.choice(rows)[0]
            blob = target.to_bytes(4, "little")
            sql = "UPDATE page SET redirect_to = ?, links = ?, outside = x'', state = 2 WHERE id = ?"
            database.execute(sql, (target, blob, page))
        elif which in (2, 3):  # no page, or one that needs no reading
            new_state, outcome = self._rng.choice([(5, "unwanted type"), (3, "http 404"), (4, "robots.txt")])
            sql = "UPDATE page SET state = ?, outcome = ?, links = x'', outside = x'', redirect_to = NULL WHERE id = ?"
            database.execute(sql, (new_state, outcome, page))
            if which == 3:
                places = "archive_file = NULL, archive_offset = NULL, archive_bytes = NULL"
                database.execute(f"UPDATE page SET {places}, digest = NULL WHERE id = ?", (page,))
        elif which == 4:  # links that are not there, to pages that are skipped
            return self._add_skipped(database, page, links)
        elif which == 5:  # nothing is unknown
            database.execute("DELETE FROM unknown WHERE page = ? OR ?", (page, self._rng.random() < 0.5))
        elif which == 6:  # the record of another page
            columns = "archive_file, archive_offset, archive_bytes, digest, status, time"
            other = database.execute(f"SELECT {columns} FROM page ORDER BY random() LIMIT 1").fetchone()
            sets = ", ".join(f"{column} = ?" for column in columns.split(", "))
            database.execute(f"UPDATE page SET {sets} WHERE id = ?", (*other, page))
        elif which == 7:  # a record that hides those behind it
            database.execute("UPDATE page SET archive_bytes = archive_bytes + 300 WHERE id = ?", (page,))
        elif which == 8:  # pages that were never fetched
            return self._claim_unfetched(database)
        elif which == 9:  # a session that does not matter
            sql = "INSERT OR REPLACE INTO session SELECT url, ?, x'00', 1 FROM url WHERE id = ?"
            database.execute(sql, (page, page))
            database.execute("UPDATE session SET is_same = 1")
        else:  # the row is gone
            database.execute("DELETE FROM page WHERE id = ?", (page,))
        return f"forgery {which} of page {page} (state {state})"

    def _add_skipped(self, database: sqlite3.Connection, page: int, links: bytes) -> str:
        (first,) = database.execute("SELECT max(id) + 1 FROM url").fetchone()
        (position,) = database.execute("SELECT max(position) + 1 FROM page").fetchone()
        urls = [f"http://a.test/p?sid={number:020d}a" for number in range(first, first + 20)]
        for number, url in enumerate(urls, first):
            database.execute("INSERT INTO url VALUES (?, ?)", (number, url))
            values = (position + number - first, number, 5, "unwanted type", 200, 1e9, 0, "image/png", "", "", 0, 1)
            database.execute(
                "INSERT INTO page (position, id, state, outcome, status, time, size_bytes, content_type, language, "
                "title, noindex, depth, etag, last_modified, links, outside) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', '', x'', x'')", values,
            )  # fmt: skip
        blob = links + np.arange(first, first + 20).astype("<u4").tobytes()
        database.execute("UPDATE page SET links = ? WHERE id = ?", (blob, page))
        return f"20 skipped pages that page {page} links to"

    def _claim_unfetched(self, database: sqlite3.Connection) -> str:
        sql = "SELECT id FROM url WHERE id NOT IN (SELECT id FROM page) ORDER BY random() LIMIT 3"
        pages = [page for (page,) in database.execute(sql)]
        if not pages:
            return ""
        (position,) = database.execute("SELECT max(position) + 1 FROM page").fetchone()
        for k, page in enumerate(pages):
            state, outcome = self._rng.choice([(5, "unwanted type"), (3, "http 404"), (2, "ok")])
            database.execute(
                "INSERT INTO page (position, id, state, outcome, status, time, size_bytes, content_type, language, "
                "title, noindex, depth, etag, last_modified, links, outside) "
                "VALUES (?, ?, ?, ?, 200, 1e9, 0, 'text/html', '', '', 0, 1, '', '', x'', x'')",
                (position + k, page, state, outcome),
            )  # fmt: skip
        return f"pages {pages} are said to be done"

    # -- settings -----------------------------------------------------------------------------------------------

    def _change_setting(self, folder: Path) -> str:
        path = folder / "crawl.toml"
        tables = tomllib.loads(path.read_text())
        table = self._rng.choice([name for name in tables if tables[name]])
        key = self._rng.choice(list(tables[table]))
        old = tables[table][key]
        tables[table][key] = new = self._other_setting(old)
        path.write_text(tomli_w.dumps(tables))
        return f"[{table}] {key}: {old!r:.60} -> {new!r:.60}"

    def _other_setting(self, old: Any) -> Any:
        rng = self._rng
        if isinstance(old, bool):
            return not old
        if isinstance(old, int):
            return rng.choice([old + 1, 0, 1, -1, 10**6])
        if isinstance(old, float):
            return rng.choice([old * 2, 0.0, 0.5, 1.0, -1.0, float("nan"), float("inf")])
        if isinstance(old, list):
            return rng.choice([[], ["/p1"], ["("], [*old, *old], old[1:], [1.0], ["http://a.test/p2"]])
        return rng.choice(["", "host", "site", "web", "merge", "report", "off", "never", "breadth-first", "x"])


def change_report(folder: Path, rng: random.Random) -> str:
    """Another value in the figures of the report."""
    path = folder / "report.json"
    report = json.loads(path.read_text())
    table = rng.choice([report, report["figures"], report["figures"]["certificate"]])
    key = rng.choice(list(table))
    table[key] = rng.choice([None, 0, 1, -1, 1e300, float("nan"), "x", [], {}, 0.999999, True])
    path.write_text(json.dumps(report))
    return f"report: {key} -> {table[key]!r}"
