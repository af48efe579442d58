"""The tables of crawl.db about pages as a browser shows them: their parts, and what was rendered.

A *part* is what a page is shown with: a picture, a style, a script, what a script asks for. It is no page of the crawl:
it has no links, no budget, and no place in the certificate. It is wanted first, without an outcome; then it is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from orienteer.store.archive import Position
from orienteer.store.survey_tables import SurveyTables

_PART_COLUMNS = (
    "id, url, epoch, outcome, status, time, content_type, digest, archive_file, archive_offset, archive_bytes"
)


class PartRow(NamedTuple):
    """A part of pages; `outcome` is "" while it is only wanted. `epoch` is when it was wanted, 0 the first crawl.

    `digest` is the SHA-1 of the body as it came. `archived` is where its record stands: a response, or a revisit where
    the same bytes stand in the archive already; `part_reading` reads both.
    """

    id: int
    url: str
    epoch: int
    outcome: str = ""
    status: int = 0
    time: float = 0.0
    content_type: str = ""
    digest: bytes | None = None
    archived: Position | None = None


class PartFigures(NamedTuple):
    """How many parts there are, how many stand in the archive and what they take there, failed, are still wanted."""

    n_parts: int = 0
    n_archived: int = 0
    archive_bytes: int = 0
    n_failed: int = 0
    n_wanted: int = 0


class RenderedRow(NamedTuple):
    """A page that a browser has shown: why it was rendered, what that found, and what it cost.

    `dom` and `view` are where the document and the picture of it stand in the archive. `url` is where the page was at
    the end. The numbers of words and links are those of the page as it was sent, and as it was shown. `trouble` says
    why it was not shown whole, "" where it was.
    """

    page: int
    why: str
    time: float
    url: str
    dom: Position | None = None
    view: Position | None = None
    n_words_sent: int = 0
    n_words: int = 0
    n_links_sent: int = 0
    n_links: int = 0
    n_parts: int = 0
    cpu_s: float = 0.0
    trouble: str = ""


class RenderedTally(NamedTuple):
    """All pages that were rendered: how many, how many of these not to the end, and how many links and words that
    found. `n_parts` were asked for by them."""

    n_pages: int = 0
    n_in_trouble: int = 0
    n_links: int = 0
    n_words: int = 0
    n_parts: int = 0
    cpu_s: float = 0.0


class ShownTables(SurveyTables):
    """The tables `part` and `rendered`."""

    def add_part(self, url: str, epoch: int) -> int:
        """A part is wanted; its number."""
        number = int(self._first("SELECT coalesce(max(id) + 1, 0) FROM part"))
        self._write("INSERT INTO part (id, url, epoch) VALUES (?, ?, ?)", number, url, epoch)
        return number

    def end_part(self, row: PartRow) -> None:
        """What came of it."""
        sql = (
            "UPDATE part SET outcome = ?, status = ?, time = ?, content_type = ?, digest = ?, archive_file = ?, "
            "archive_offset = ?, archive_bytes = ? WHERE id = ?"
        )
        place = row.archived or (None, None, None)
        self._write(sql, row.outcome, row.status, row.time, row.content_type, row.digest, *place, row.id)

    def part(self, url: str) -> PartRow | None:
        """The part at this URL that was wanted last."""
        rows = self._parts("WHERE url = ? ORDER BY id DESC LIMIT 1", url)
        return next(rows, None)

    def last_part_done(self, url: str) -> PartRow | None:
        """What came of it last."""
        return next(self._parts("WHERE url = ? AND outcome <> '' ORDER BY id DESC LIMIT 1", url), None)

    def part_before(self, row: PartRow) -> PartRow | None:
        """The same part, as the server sent it when it came before."""
        which = "WHERE url = ? AND id < ? AND status <> 304 AND archive_bytes IS NOT NULL ORDER BY id DESC LIMIT 1"
        return next(self._parts(which, row.url, row.id), None)

    def part_with_digest(self, digest: bytes) -> PartRow | None:
        """The part whose record holds the bytes with this digest: of all those that have them, the first one."""
        which = "WHERE digest = ? AND archive_bytes IS NOT NULL ORDER BY archive_file, archive_offset LIMIT 1"
        return next(self._parts(which, digest), None)

    def parts(self) -> Iterator[PartRow]:
        """All of them, in the order in which they were wanted."""
        return self._parts("ORDER BY id")

    def newest_parts(self) -> Iterator[PartRow]:
        """Those that stand in the archive, of each URL the last that a server sent, in the order they were wanted."""
        newest = "SELECT max(id) FROM part WHERE archive_bytes IS NOT NULL AND status <> 304 GROUP BY url"
        return self._parts(f"WHERE id IN ({newest}) ORDER BY id")

    def archived_parts(self, url: str) -> Iterator[PartRow]:
        """All that stands in the archive of a part."""
        return self._parts("WHERE url = ? AND archive_bytes IS NOT NULL ORDER BY id", url)

    def parts_wanted(self) -> Iterator[PartRow]:
        """Those that are wanted, and not done."""
        return self._parts("WHERE outcome = '' ORDER BY id")

    def part_figures(self) -> PartFigures:
        """What came of them, in a few numbers."""
        if "part" in self.missing_tables:
            return PartFigures()
        sql = (
            "SELECT count(*), count(archive_bytes), coalesce(sum(archive_bytes), 0), "
            "coalesce(sum(outcome <> '' AND outcome NOT IN ('ok', 'redirect', 'not modified')), 0), "
            "coalesce(sum(outcome = ''), 0) FROM part"
        )
        row = self._row(sql)
        return PartFigures() if row is None else PartFigures._make(map(int, row))

    def _parts(self, which: str, *values: Any) -> Iterator[PartRow]:
        if "part" in self.missing_tables:
            return
        for row in self._rows(f"SELECT {_PART_COLUMNS} FROM part {which}", *values):
            yield PartRow._make((*row[:8], _place(row[8:])))

    def set_rendered(self, row: RenderedRow) -> None:
        """A browser has shown the page, in place of what it showed before."""
        values = (*row[:4], *(row.dom or (None, None, None)), *(row.view or (None, None, None)), *row[6:])
        self._write(f"INSERT OR REPLACE INTO rendered VALUES ({', '.join('?' * len(values))})", *values)

    def unset_rendered(self, page: int) -> None:
        """What is known of the page by now was not rendered."""
        self._write("DELETE FROM rendered WHERE page = ?", int(page))

    def rendered_page(self, page: int) -> RenderedRow | None:
        return next(self._rendered("WHERE page = ?", int(page)), None)

    def rendered(self) -> Iterator[RenderedRow]:
        """All pages that were rendered, in the order of their numbers."""
        return self._rendered("ORDER BY page")

    def rendered_tally(self) -> RenderedTally:
        """All of them in a few figures."""
        if "rendered" in self.missing_tables:
            return RenderedTally()
        row = self._row(
            "SELECT count(*), coalesce(sum(trouble != ''), 0), coalesce(sum(max(n_links - n_links_sent, 0)), 0), "
            "coalesce(sum(max(n_words - n_words_sent, 0)), 0), coalesce(sum(n_parts), 0), coalesce(sum(cpu_s), 0.0) "
            "FROM rendered"
        )
        return RenderedTally() if row is None else RenderedTally._make(row)

    def documents_shown(self) -> dict[int, Position]:
        """Where the documents stand that a browser has shown, by page."""
        return {row.page: row.dom for row in self.rendered() if row.dom is not None}

    def _rendered(self, which: str, *values: Any) -> Iterator[RenderedRow]:
        if "rendered" in self.missing_tables:
            return
        for row in self._rows(f"SELECT * FROM rendered {which}", *values):
            yield RenderedRow._make((*row[:4], _place(row[4:7]), _place(row[7:10]), *row[10:]))


def _place(values: tuple[Any, ...]) -> Position | None:
    return Position(*values) if all(isinstance(value, int) and value >= 0 for value in values) else None
