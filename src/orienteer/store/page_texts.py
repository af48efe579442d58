"""pages.db of a search index: what every page says, and what others say of it.

page      a row per page that was read: its words as they are shown and indexed, and the texts of its links. `stamp`
          tells which content that was, so that a page is read again only when it has changed. Lines of the main text
          stand apart from the others (menus, notices); `mask` says which they were, `scores` why (see `lines`), and
          `basis` by what knowledge of the host they were told
anchor    the texts of links by the pages they lead to; they come and go with the pages they stand on

All of it is derived from the archive. It is committed before the text index learns of it: a search that finds a page
here missing leaves it out.
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
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from orienteer.errors import CrawlFolderError
from orienteer.files.plain import open_plain
from orienteer.store.connection import connected
from orienteer.store.failures import explained

_FORMAT = 0x4F720005  # of this database, and of what the text index beside it makes of its pages
MAKE_ANEW = "rebuild it with `orienteer index DIR --rebuild`"
LEAD_CHARS = 3_000
_IDS_PER_QUERY = 500
_MAX_LINK_TEXTS = 20  # texts of links that are kept in mind of one page
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


class PageText(NamedTuple):
    """What a page says; `headings` are one a line, `text` is its main text, `aside` what else stands on it.

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
    aside: str = ""


class PackedText(NamedTuple):
    """A text as it is kept: the beginning of the main text, which is all that most searches show of it, the rest of it,
    what is not main text, which lines are main text (a bit each), and the scores of all lines ("": unknown)."""

    lead: bytes
    rest: bytes
    aside: bytes
    mask: bytes
    scores: bytes


class Lines(NamedTuple):
    """The lines of a page as they stood there, and a score for each; no scores where there are none."""

    lines: list[str]
    scores: bytes


class NewText(NamedTuple):
    """The same as PageText of a page that was read just now, its text packed. `anchors` are links inside the crawl, and
    their texts."""

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


class PageTexts:
    """Several threads may read; what is wrong with the file is said in one line."""

    def __init__(self, path: Path, read_only: bool = False) -> None:
        self.path = path
        self._lock = threading.Lock()
        with _explained(path):
            if not read_only:
                os.close(open_plain(path, os.O_WRONLY | os.O_CREAT))
            self._inode = os.stat(path).st_ino
            self._connection = connected(path, read_only, many_threads=True)
            try:
                if not read_only and not self._connection.execute("SELECT * FROM sqlite_master").fetchone():
                    self._connection.executescript(_SCHEMA)
                ((format,),) = self._connection.execute("PRAGMA user_version")
                if format != _FORMAT:
                    raise CrawlFolderError(f"{path}: written by another version of Orienteer; {MAKE_ANEW}")
                self._connection.execute("PRAGMA synchronous = NORMAL")
            except BaseException:
                self._connection.close()
                raise

    @staticmethod
    def file_names(name: str) -> tuple[str, ...]:
        """All files that belong to a database of this name."""
        return name, f"{name}-wal", f"{name}-shm"

    def is_still_there(self) -> bool:
        """Whether the file is the one that was opened, and not one made anew."""
        try:
            return os.stat(self.path).st_ino == self._inode
        except OSError:
            return False

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def stamps(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All pages, in increasing order, and their stamps."""
        with _explained(self.path):
            rows = self._connection.execute("SELECT id, stamp FROM page ORDER BY id")
            pairs = np.fromiter((number for row in rows for number in row), np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def mask(self, page: int) -> bytes:
        """Which lines of a page are main text; b"" for one that is not here."""
        with _explained(self.path):
            row = self._connection.execute("SELECT mask FROM page WHERE id = ?", (int(page),)).fetchone()
        return b"" if row is None else bytes(row[0])

    def lines(self, page: int) -> Lines:
        """The lines of a page in the order of the page, main text or not."""
        sql = "SELECT lead, rest, aside, mask, scores FROM page WHERE id = ?"
        with _explained(self.path):
            row = self._connection.execute(sql, (int(page),)).fetchone()
            return _lines(PackedText(*row)) if row is not None else Lines([], b"")

    def judged(self) -> list[tuple[int, int, str, int]]:
        """All pages, in increasing order: their stamps, their URLs, and by what their main text was told."""
        with _explained(self.path):
            return self._connection.execute("SELECT id, stamp, url, basis FROM page ORDER BY id").fetchall()

    def set_main(self, judged: Iterable[tuple[int, NDArray[np.bool_] | None]], basis: int) -> None:
        """From now on these of the lines of these pages are main text, as told by this; None: they stay as they are."""
        all_of_it = "UPDATE page SET lead = ?, rest = ?, aside = ?, mask = ?, scores = ?, basis = ? WHERE id = ?"
        with _explained(self.path), self._transaction():
            for page, is_main in judged:
                self._connection.execute("UPDATE page SET basis = ? WHERE id = ?", (basis, int(page)))
                if is_main is not None:
                    lines, scores = self.lines(page)
                    packed = packed_text(lines, scores, is_main if is_main.any() else None)
                    if packed.mask != self.mask(page):
                        self._connection.execute(all_of_it, (*packed, basis, int(page)))

    def n_by_language(self) -> dict[str, int]:
        with _explained(self.path):
            return dict(self._connection.execute("SELECT language, count(*) FROM page GROUP BY language"))

    def titles(self) -> Iterator[tuple[int, str]]:
        """All pages that have a title, in increasing order."""
        with _explained(self.path):
            yield from self._connection.execute("SELECT id, title FROM page WHERE title != '' ORDER BY id")

    def page(self, page: int, lead_only: bool = False) -> PageText | None:
        """What a page says; None for one that is not here.

        With `lead_only` of its main text the first LEAD_CHARS, and no headings: all of it costs several times as much.
        """
        return self.pages((page,), lead_only).get(page)

    def pages(self, pages: Sequence[int], lead_only: bool = False) -> dict[int, PageText]:
        """The same for several; those that are not here are left out."""
        columns = "'', lead, '', ''" if lead_only else "headings, lead, rest, aside"
        marks = ", ".join("?" * len(pages))
        head = "id, stamp, url, time, type, language, published, changed, title"
        sql = f"SELECT {head}, {columns} FROM page WHERE id IN ({marks})"
        with _explained(self.path):
            with self._lock:
                rows = self._connection.execute(sql, tuple(map(int, pages))).fetchall()
            return {row[0]: _page_text(row) for row in rows}

    def rest(self, page: int) -> str:
        """The main text of a page after its first LEAD_CHARS; "" for one that is not here."""
        return self._text("SELECT rest FROM page WHERE id = ?", page)

    def aside(self, page: int) -> str:
        """What stands on a page aside from its main text; "" for one that is not here."""
        return self._text("SELECT aside FROM page WHERE id = ?", page)

    def _text(self, sql: str, page: int) -> str:
        with _explained(self.path):
            with self._lock:
                row = self._connection.execute(sql, (int(page),)).fetchone()
            return "" if row is None else _unpacked(row[0])

    def urls(self, pages: Sequence[int]) -> dict[int, str]:
        """Their URLs; those that are not here are left out."""
        found: dict[int, str] = {}
        with _explained(self.path), self._lock:
            for start in range(0, len(pages), _IDS_PER_QUERY):
                some = tuple(map(int, pages[start : start + _IDS_PER_QUERY]))
                marks = ", ".join("?" * len(some))
                found |= self._connection.execute(f"SELECT id, url FROM page WHERE id IN ({marks})", some).fetchall()
        return found

    def id_of(self, url: str) -> int | None:
        """The page with this URL."""
        with _explained(self.path), self._lock:
            row = self._connection.execute("SELECT id FROM page WHERE url = ?", (url,)).fetchone()
        return None if row is None else int(row[0])

    def link_texts(self, pages: Iterable[int]) -> list[str]:
        """The texts that links to these pages have, the most frequent ones first."""
        sql = (
            "SELECT text, count(*) FROM anchor WHERE target = ? GROUP BY text "
            f"ORDER BY count(*) DESC, text LIMIT {_MAX_LINK_TEXTS}"
        )
        counts: dict[str, int] = {}
        with _explained(self.path):
            for page in pages:
                for text, n in self._connection.execute(sql, (int(page),)):
                    counts[text] = counts.get(text, 0) + n
        return sorted(counts, key=lambda text: (-counts[text], text))[:_MAX_LINK_TEXTS]

    def replace(self, gone: Iterable[int], pages: Iterable[NewText]) -> None:
        """Forget the pages that are gone, and take in these, in place of what they said before: all or nothing."""
        new = list(pages)
        with _explained(self.path), self._transaction():
            execute, many = self._connection.execute, self._connection.executemany
            for page in (*gone, *(page.id for page in new)):
                for (packed,) in execute("SELECT anchors FROM page WHERE id = ?", (int(page),)).fetchall():
                    said = json.loads(_unpacked(packed))
                    rows = [(target, text, int(page)) for target, text in said]
                    many("DELETE FROM anchor WHERE target = ? AND text = ? AND source = ?", rows)
                execute("DELETE FROM page WHERE id = ?", (int(page),))
            many(f"INSERT INTO page VALUES ({', '.join('?' * 16)}, 0)", [_stored(page) for page in new])
            anchors = sorted({(target, text, page.id) for page in new for target, text in page.anchors})
            many("INSERT INTO anchor VALUES (?, ?, ?)", anchors)  # in the order of the table: it is written once

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        with explained(path):
            yield
    except CrawlFolderError as error:
        if "damaged" not in str(error):
            raise
        raise CrawlFolderError(f"{error}; {MAKE_ANEW}") from None


def packed_text(lines: Sequence[str], scores: bytes = b"", is_main: NDArray[np.bool_] | None = None) -> PackedText:
    """The lines of a page, of which these are its main text; None: all of them."""
    if is_main is None or is_main.all():
        main, aside, mask = "\n".join(lines), "", b""
    else:
        main = "\n".join(compress(lines, is_main))
        aside = "\n".join(compress(lines, ~is_main))
        mask = np.packbits(is_main).tobytes()
    lead, rest = _packed(main[:LEAD_CHARS]), _packed(main[LEAD_CHARS:])
    return PackedText(lead, rest, _packed(aside), mask, bytes(isal_zlib.compress(scores, 1)) if scores else b"")


def _page_text(row: Sequence[Any]) -> PageText:
    """A row, its last three columns packed: beginning and rest of the main text, and what is aside from it."""
    *head, lead, rest, aside = row
    text = _unpacked(lead) + _unpacked(rest) if rest else _unpacked(lead)
    return PageText._make((*head, text, _unpacked(aside) if aside else ""))


def _lines(packed: PackedText) -> Lines:
    main = (_unpacked(packed.lead) + _unpacked(packed.rest)).split("\n")
    scores = _unpacked_bytes(packed.scores)
    if not packed.mask:
        return Lines(main, scores)
    aside = _unpacked(packed.aside).split("\n")
    from_main, from_aside = iter(main), iter(aside)
    bits = np.unpackbits(np.frombuffer(packed.mask, np.uint8)).tolist()
    n_lines = len(aside) + (sum(bits) and len(main))
    return Lines([next(from_main if is_main else from_aside, "") for is_main in bits[:n_lines]], scores)


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
