"""pages.db of a search index: the text of every page, and the anchor texts of links to it.

page      a row per page: its text as displayed and indexed, and the texts of its links. `stamp` identifies the content,
          so that a page is read again only after a change. The lines of the main text are stored separately from the
          boilerplate (menus, notices) in `aside`; `mask` marks the lines of the main text, `scores` are the scores of
          all lines (see `lines`), and `basis` identifies the knowledge of the host that they were decided with
anchor    the texts of links by target; they are added and deleted with the linking page
completion  titles and words to complete queries with (see `search/completion`), replaced as a whole

All of it is derived from the archive. It is committed before the text index: a search leaves out a page that is missing
here.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from orienteer.errors import CrawlFolderError
from orienteer.files.plain import Closeable, open_plain
from orienteer.store.connection import connected, transaction
from orienteer.store.failures import map_disk_errors

_FORMAT = 0x4F720005  # of this database, and of the text index made from it
REBUILD_HINT = "rebuild it with `orienteer index DIR --rebuild`"
LEAD_CHARS = 3_000
_IDS_PER_QUERY = 500
_MAX_LINK_TEXTS = 20  # per page
_SCHEMA = f"""
PRAGMA journal_mode = WAL;
BEGIN;
CREATE TABLE page (
    id INTEGER PRIMARY KEY, stamp INTEGER NOT NULL, url TEXT NOT NULL, time REAL NOT NULL, type TEXT NOT NULL,
    language TEXT NOT NULL, published TEXT NOT NULL, changed TEXT NOT NULL, title TEXT NOT NULL, headings TEXT NOT NULL,
    lead BLOB NOT NULL, rest BLOB NOT NULL, aside BLOB NOT NULL, mask BLOB NOT NULL, scores BLOB NOT NULL,
    anchors BLOB NOT NULL, basis INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX page_url ON page (url);
CREATE TABLE anchor (target INTEGER, text TEXT, source INTEGER, PRIMARY KEY (target, text, source)) WITHOUT ROWID;
PRAGMA user_version = {_FORMAT};
COMMIT;
"""
# Indexes of version 0.2 do not have it. The key comes first: SQLite 3.40 reports a REAL within it as damaged.
_COMPLETIONS = (
    "CREATE TABLE IF NOT EXISTS completion (kind INTEGER NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL, "
    "weight REAL NOT NULL, PRIMARY KEY (kind, key, text)) WITHOUT ROWID"
)
MAX_KEYS_PER_TEXT = 8  # in completions
_LAST_CHARACTER = "\U0010ffff"


TEXTS = "pages.db"


class StoredText(NamedTuple):
    """The text of a page; `headings` are one a line, `text` is the main text, `boilerplate` the other lines.

    `type` is its media type; dates are `2025-03-01`, `2025-03`, `2025` or "".
    """

    id: int
    stamp: int
    url: str
    time: float
    type: str = ""
    language: str = ""
    published: str = ""
    changed: str = ""
    title: str = ""
    headings: str = ""
    text: str = ""
    boilerplate: str = ""


class PackedText(NamedTuple):
    """A compressed text: the first LEAD_CHARS of the main text (most searches display no more) and the remainder, the
    boilerplate, one bit per line that marks main text, and the scores of all lines ("": unknown)."""

    lead: bytes
    remainder: bytes
    boilerplate: bytes
    mask: bytes
    scores: bytes


class StoredLines(NamedTuple):
    """The lines of a page in document order, and a score for each; empty scores if they are unknown."""

    lines: list[str]
    scores: bytes


class NewText(NamedTuple):
    """A page to be stored: the fields of StoredText with a packed text. `anchors` are the targets of links inside the
    crawl, and their texts."""

    id: int
    stamp: int
    url: str
    time: float
    type: str
    language: str
    published: str
    changed: str
    title: str
    headings: str
    text: PackedText
    anchors: Sequence[tuple[int, str]]


class Completion(NamedTuple):
    """A text that completes its key; `weight` is compared with that of others of its kind."""

    kind: int
    key: str
    weight: float
    text: str


class PageTexts(Closeable):
    """The texts of the pages of an index. Several threads may read."""

    def __init__(self, path: Path, read_only: bool = False) -> None:
        self.path = path
        self._lock = threading.Lock()
        with _mapped_errors(path):
            if not read_only:
                os.close(open_plain(path, os.O_WRONLY | os.O_CREAT))
            self._inode = os.stat(path).st_ino
            self._connection = connected(path, read_only, many_threads=True)
            try:
                if not read_only and not self._connection.execute("SELECT * FROM sqlite_master").fetchone():
                    self._connection.executescript(_SCHEMA)
                ((format,),) = self._connection.execute("PRAGMA user_version")
                if format != _FORMAT:
                    raise CrawlFolderError(f"{path}: written by another version of Orienteer; {REBUILD_HINT}")
                self._connection.execute("PRAGMA synchronous = NORMAL")
                if not read_only:
                    self._connection.execute(_COMPLETIONS)
            except BaseException:
                self._connection.close()
                raise

    @staticmethod
    def file_names(name: str) -> tuple[str, ...]:
        """All files that belong to a database of this name."""
        return name, f"{name}-wal", f"{name}-shm"

    def is_current_file(self) -> bool:
        """Return whether the file was not replaced by a rebuild since it was opened."""
        try:
            return os.stat(self.path).st_ino == self._inode
        except OSError:
            return False

    def close(self) -> None:
        self._connection.close()

    def __del__(self) -> None:
        """Close an index that the caller has dropped, as in a notebook; Python 3.13 warns of open connections."""
        if hasattr(self, "_connection"):
            self.close()

    def stamps(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all pages, in increasing order, and their stamps."""
        with _mapped_errors(self.path):
            rows = self._connection.execute("SELECT id, stamp FROM page ORDER BY id")
            pairs = np.fromiter((number for row in rows for number in row), np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def mask(self, page: int) -> bytes:
        """Return the bit mask of main text lines; b"" for an unknown page, or if all lines are main text."""
        with _mapped_errors(self.path):
            row = self._connection.execute("SELECT mask FROM page WHERE id = ?", (int(page),)).fetchone()
        return b"" if row is None else bytes(row[0])

    def lines(self, page: int) -> StoredLines:
        """Return all lines of a page in document order, boilerplate included."""
        sql = "SELECT lead, rest, aside, mask, scores FROM page WHERE id = ?"
        with _mapped_errors(self.path):
            row = self._connection.execute(sql, (int(page),)).fetchone()
            return _lines(PackedText(*row)) if row is not None else StoredLines([], b"")

    def stamps_and_bases(self) -> list[tuple[int, int, str, int]]:
        """Return all pages in increasing order, with stamp, URL, and the basis of their main text decision."""
        with _mapped_errors(self.path):
            return self._connection.execute("SELECT id, stamp, url, basis FROM page ORDER BY id").fetchall()

    def set_main(self, masks: Iterable[tuple[int, NDArray[np.bool_] | None]], basis: int) -> None:
        """Set which lines of pages are main text, as decided with `basis`; None leaves a page unchanged."""
        update = "UPDATE page SET lead = ?, rest = ?, aside = ?, mask = ?, scores = ?, basis = ? WHERE id = ?"
        with _mapped_errors(self.path), transaction(self._connection):
            for page, is_main in masks:
                self._connection.execute("UPDATE page SET basis = ? WHERE id = ?", (basis, int(page)))
                if is_main is not None:
                    lines, scores = self.lines(page)
                    packed = packed_text(lines, scores, is_main if is_main.any() else None)
                    if packed.mask != self.mask(page):
                        self._connection.execute(update, (*packed, basis, int(page)))

    def n_by_language(self) -> dict[str, int]:
        with _mapped_errors(self.path):
            return dict(self._connection.execute("SELECT language, count(*) FROM page GROUP BY language"))

    def titles(self) -> Iterator[tuple[int, str]]:
        """Yield all pages that have a title, in increasing order."""
        with _mapped_errors(self.path):
            yield from self._connection.execute("SELECT id, title FROM page WHERE title != '' ORDER BY id")

    def replace_completions(self, completions: Iterable[Completion]) -> None:
        """Replace all completions in one transaction; of two with the same key and text the first one counts."""
        with _mapped_errors(self.path), transaction(self._connection):
            self._connection.execute("DELETE FROM completion")
            rows = sorted(completions, key=lambda row: (row.kind, row.key, row.text))
            insert = "INSERT OR IGNORE INTO completion (kind, key, weight, text) VALUES (?, ?, ?, ?)"
            self._connection.executemany(insert, rows)

    def has_completions(self) -> bool:
        with _mapped_errors(self.path):
            return self._connection.execute("SELECT 1 FROM completion LIMIT 1").fetchone() is not None

    def completions(self, kind: int, prefix: str, n: int) -> list[str]:
        """Return the n texts of the greatest weight that have a key with this prefix; none in an older index."""
        sql = (
            "SELECT text FROM completion WHERE kind = ? AND key >= ? AND key < ? "
            f"ORDER BY weight DESC, text LIMIT {MAX_KEYS_PER_TEXT} * ?"
        )
        values = (kind, prefix, prefix + _LAST_CHARACTER, n)
        with _mapped_errors(self.path), self._lock:
            if not self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'completion'").fetchone():
                return []
            rows = self._connection.execute(sql, values).fetchall()
        return list(dict.fromkeys(text for (text,) in rows))[:n]

    def page(self, page: int, lead_only: bool = False) -> StoredText | None:
        """Return the text of a page; None for an unknown page.

        With `lead_only` only the first LEAD_CHARS of the main text and no headings, which is several times as fast.
        """
        return self.pages((page,), lead_only).get(page)

    def pages(self, pages: Sequence[int], lead_only: bool = False) -> dict[int, StoredText]:
        """Return the texts of several pages; unknown pages are left out."""
        columns = "'', lead, '', ''" if lead_only else "headings, lead, rest, aside"
        marks = ", ".join("?" * len(pages))
        head = "id, stamp, url, time, type, language, published, changed, title"
        sql = f"SELECT {head}, {columns} FROM page WHERE id IN ({marks})"
        with _mapped_errors(self.path):
            with self._lock:
                rows = self._connection.execute(sql, tuple(map(int, pages))).fetchall()
            return {row[0]: _page_text(row) for row in rows}

    def remainder(self, page: int) -> str:
        """Return the main text of a page after its first LEAD_CHARS; "" for an unknown page."""
        return self._text("SELECT rest FROM page WHERE id = ?", page)

    def boilerplate(self, page: int) -> str:
        """Return the lines of a page outside its main text; "" for an unknown page."""
        return self._text("SELECT aside FROM page WHERE id = ?", page)

    def _text(self, sql: str, page: int) -> str:
        with _mapped_errors(self.path):
            with self._lock:
                row = self._connection.execute(sql, (int(page),)).fetchone()
            return "" if row is None else _unpacked(row[0])

    def urls(self, pages: Sequence[int]) -> dict[int, str]:
        """Return the URLs of pages; unknown pages are left out."""
        found: dict[int, str] = {}
        with _mapped_errors(self.path), self._lock:
            for start in range(0, len(pages), _IDS_PER_QUERY):
                some = tuple(map(int, pages[start : start + _IDS_PER_QUERY]))
                marks = ", ".join("?" * len(some))
                found |= self._connection.execute(f"SELECT id, url FROM page WHERE id IN ({marks})", some).fetchall()
        return found

    def id_of(self, url: str) -> int | None:
        """Return the page with this URL; None if there is none."""
        with _mapped_errors(self.path), self._lock:
            row = self._connection.execute("SELECT id FROM page WHERE url = ?", (url,)).fetchone()
        return None if row is None else int(row[0])

    def link_texts(self, pages: Iterable[int]) -> list[str]:
        """Return the anchor texts of links to these pages, the most frequent first."""
        sql = (
            "SELECT text, count(*) FROM anchor WHERE target = ? GROUP BY text "
            f"ORDER BY count(*) DESC, text LIMIT {_MAX_LINK_TEXTS}"
        )
        counts: dict[str, int] = {}
        with _mapped_errors(self.path):
            for page in pages:
                for text, n in self._connection.execute(sql, (int(page),)):
                    counts[text] = counts.get(text, 0) + n
        return sorted(counts, key=lambda text: (-counts[text], text))[:_MAX_LINK_TEXTS]

    def replace(self, gone: Iterable[int], pages: Iterable[NewText]) -> None:
        """Delete the pages in `gone`, and insert or replace `pages`, in one transaction."""
        new = list(pages)
        with _mapped_errors(self.path), transaction(self._connection):
            execute, many = self._connection.execute, self._connection.executemany
            for page in (*gone, *(page.id for page in new)):
                for (packed,) in execute("SELECT anchors FROM page WHERE id = ?", (int(page),)).fetchall():
                    links = json.loads(_unpacked(packed))
                    rows = [(target, text, int(page)) for target, text in links]
                    many("DELETE FROM anchor WHERE target = ? AND text = ? AND source = ?", rows)
                execute("DELETE FROM page WHERE id = ?", (int(page),))
            many(f"INSERT INTO page VALUES ({', '.join('?' * 16)}, 0)", [_stored(page) for page in new])
            anchors = sorted({(target, text, page.id) for page in new for target, text in page.anchors})
            many(
                "INSERT INTO anchor VALUES (?, ?, ?)", anchors
            )  # sorted as the B-tree: each of its pages is written once


@contextmanager
def _mapped_errors(path: Path) -> Iterator[None]:
    try:
        with map_disk_errors(path):
            yield
    except CrawlFolderError as error:
        if "damaged" not in str(error):
            raise
        raise CrawlFolderError(f"{error}; {REBUILD_HINT}") from None


def packed_text(lines: Sequence[str], scores: bytes = b"", is_main: NDArray[np.bool_] | None = None) -> PackedText:
    """Pack the lines of a page; `is_main` marks the main text, None: all lines."""
    if is_main is None or is_main.all():
        main, boilerplate, mask = "\n".join(lines), "", b""
    else:
        main = "\n".join(compress(lines, is_main))
        boilerplate = "\n".join(compress(lines, ~is_main))
        mask = np.packbits(is_main).tobytes()
    lead, remainder = _packed(main[:LEAD_CHARS]), _packed(main[LEAD_CHARS:])
    packed_scores = bytes(isal_zlib.compress(scores, 1)) if scores else b""
    return PackedText(lead, remainder, _packed(boilerplate), mask, packed_scores)


def _page_text(row: Sequence[Any]) -> StoredText:
    """Make it from a row whose last three columns are packed: lead and remainder of the main text, boilerplate."""
    *head, lead, remainder, boilerplate = row
    text = _unpacked(lead) + _unpacked(remainder) if remainder else _unpacked(lead)
    return StoredText._make((*head, text, _unpacked(boilerplate) if boilerplate else ""))


def _lines(packed: PackedText) -> StoredLines:
    main = (_unpacked(packed.lead) + _unpacked(packed.remainder)).split("\n")
    scores = _unpacked_bytes(packed.scores)
    if not packed.mask:
        return StoredLines(main, scores)
    boilerplate = _unpacked(packed.boilerplate).split("\n")
    from_main, from_boilerplate = iter(main), iter(boilerplate)
    bits = np.unpackbits(np.frombuffer(packed.mask, np.uint8)).tolist()
    n_lines = len(boilerplate) + (sum(bits) and len(main))
    return StoredLines([next(from_main if is_main else from_boilerplate, "") for is_main in bits[:n_lines]], scores)


def _stored(page: NewText) -> tuple[Any, ...]:
    return (*page[:-2], *page.text, _packed(json.dumps(sorted(set(page.anchors)))))


def _packed(text: str) -> bytes:
    return bytes(isal_zlib.compress(text.encode(errors="replace"), 1)) if text else b""


def _unpacked(blob: bytes | str) -> str:
    try:
        return str(_unpacked_bytes(blob), "utf-8")
    except UnicodeDecodeError as error:
        raise sqlite3.DatabaseError(f"a text in it is damaged: {error}") from None


def _unpacked_bytes(blob: bytes | str) -> bytes:
    if not blob:
        return b""
    try:
        return bytes(isal_zlib.decompress(blob))
    except (isal_zlib.error, ValueError, TypeError) as error:  # type: ignore[misc]  # isal says `error` were an instance
        raise sqlite3.DatabaseError(f"a text in it is damaged: {error}") from None


def index_folder(folder: Path) -> Path:
    """Return the index folder of a crawl folder."""
    return folder / "index"
