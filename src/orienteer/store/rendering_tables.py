"""The tables of crawl.db about rendering: the assets of pages (`part`), and the rendered pages.

An *asset* is an image, style sheet, script, or a response to a script. It is no page of the crawl: it has no links,
does not count in the budget, and is not in the certificate. Its row is added with an empty outcome and updated when it
is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from orienteer.store.archive import Archive, Position
from orienteer.store.connection import DatabaseConnection
from orienteer.store.record import ArchivedPage
from orienteer.store.url_tables import MetaTables

_PART_COLUMNS = (
    "id, url, epoch, outcome, status, time, content_type, digest, archive_file, archive_offset, archive_bytes, "
    "credentials"
)
# A condition with three values: the URL, what unknown credentials count as, and whether they are sent.
_SAME_REQUEST = "url = ? AND coalesce(credentials, ?) = ?"
_NOT_MODIFIED = 304
_LAST_DONE = "SELECT max(id) FROM part WHERE outcome <> '' GROUP BY url"
_GOOD = "'ok', 'not modified'"
_IS_ARCHIVED = f"(archive_bytes IS NOT NULL AND outcome IN ({_GOOD}))"
_HAS_FAILED = f"(outcome NOT IN ('redirect', {_GOOD}) OR outcome = 'not modified' AND archive_bytes IS NULL)"


class AssetRow(NamedTuple):
    """An asset; `outcome` is "" until it is done. `epoch` is that of the request, 0 for the first crawl.

    `digest` is the SHA-1 of the body as received. `archived` is the position of its record: a response, or a revisit if
    the same bytes were already archived; `AssetTables.read` reads both. `with_credentials`: it is requested with
    credentials of the crawl; None if that is unknown, as in rows of older versions and of imports.
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
    with_credentials: bool | None = False


@dataclass(frozen=True)
class AssetFigures:
    """Counts of assets: each URL counts once, by its last response.

    `n_archived` had a response 2xx (also an empty one, such as 204), or later 304, and are in the archive, where they
    take `archive_bytes`. `failures` counts the `n_failed` by reason, such as "http 404", or "not modified" for a 304
    without an earlier response in the archive. Redirects are neither. `n_pending` are not fetched yet.
    """

    n_assets: int = 0
    n_archived: int = 0
    archive_bytes: int = 0
    n_failed: int = 0
    n_pending: int = 0
    failures: dict[str, int] = field(default_factory=dict)


class RenderedRow(NamedTuple):
    """A rendered page: why it was rendered, the result, and the cost. The order of fields is that of the columns.

    `dom` and `view` are the positions of the rendered document and the screenshot in the archive. `url` is the final
    one. The numbers of words and links are those of the page as sent and as rendered. `n_requests` counts its requests
    for assets. `problem` says why rendering is incomplete, "" if it is complete. `sent_digest` is of what the server
    sent; `rendered_digest` of title, text and links after rendering, or of the redirect that a script made, None if
    rendering is incomplete. Rows of version 0.2 have neither.
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
    n_requests: int = 0
    cpu_s: float = 0.0
    problem: str = ""
    sent_digest: bytes | None = None
    rendered_digest: bytes | None = None


@dataclass(frozen=True)
class RenderedTally:
    """Totals of the rendered pages: how many, how many incompletely, and the links and words found by rendering.
    `n_requests` counts their requests for assets. `anchors` names the fields of routes that are treated as positions on
    a page, by host, such as "app.test: ?id"."""

    n_pages: int = 0
    n_incomplete: int = 0
    n_links: int = 0
    n_words: int = 0
    n_requests: int = 0
    cpu_s: float = 0.0
    anchors: tuple[str, ...] = ()


class AssetTables:
    """The table `part`."""

    def __init__(self, connection: DatabaseConnection) -> None:
        self._db = connection

    def add(self, url: str, epoch: int, with_credentials: bool | None = False) -> int:
        """Add an asset to be fetched; return its number."""
        number = int(self._db.first("SELECT coalesce(max(id) + 1, 0) FROM part"))
        sql = "INSERT INTO part (id, url, epoch, credentials) VALUES (?, ?, ?, ?)"
        self._db.write(sql, number, url, epoch, with_credentials)
        return number

    def finish(self, row: AssetRow) -> None:
        """Store the outcome of an asset."""
        sql = (
            "UPDATE part SET outcome = ?, status = ?, time = ?, content_type = ?, digest = ?, archive_file = ?, "
            "archive_offset = ?, archive_bytes = ? WHERE id = ?"
        )
        position = row.archived or (None, None, None)
        self._db.write(sql, row.outcome, row.status, row.time, row.content_type, row.digest, *position, row.id)

    def latest(self, url: str, with_credentials: bool = False, unknown: bool = False) -> AssetRow | None:
        """Return the latest row for this URL, requested with or without credentials.

        Rows for which that is unknown count as `unknown`.
        """
        rows = self._select(f"WHERE {_SAME_REQUEST} ORDER BY id DESC LIMIT 1", url, unknown, with_credentials)
        return next(rows, None)

    def last_finished(self, url: str, with_credentials: bool = False, unknown: bool = False) -> AssetRow | None:
        """Return the latest row for this URL that is done."""
        which = f"WHERE {_SAME_REQUEST} AND outcome <> '' ORDER BY id DESC LIMIT 1"
        return next(self._select(which, url, unknown, with_credentials), None)

    def previous(self, row: AssetRow) -> AssetRow | None:
        """Return the previous row of the same asset with a body that the server sent."""
        has_body = "status <> 304 AND archive_bytes IS NOT NULL"
        which = f"WHERE {_SAME_REQUEST} AND id < ? AND {has_body} ORDER BY id DESC LIMIT 1"
        is_with = bool(row.with_credentials)
        return next(self._select(which, row.url, is_with, is_with, row.id), None)

    def with_digest(self, digest: bytes) -> AssetRow | None:
        """Return the first asset in the archive whose record has a body with this digest."""
        which = "WHERE digest = ? AND archive_bytes IS NOT NULL ORDER BY archive_file, archive_offset LIMIT 1"
        return next(self._select(which, digest), None)

    def all(self) -> Iterator[AssetRow]:
        """Yield all assets, in the order in which they were requested."""
        return self._select("ORDER BY id")

    def newest(self) -> Iterator[AssetRow]:
        """Yield, in the order of requests, the latest archived row of each URL with a body, with credentials and
        without them."""
        groups = "url, coalesce(credentials, 0)"
        newest = f"SELECT max(id) FROM part WHERE archive_bytes IS NOT NULL AND status <> 304 GROUP BY {groups}"
        return self._select(f"WHERE id IN ({newest}) ORDER BY id")

    def at(self, url: str) -> Iterator[AssetRow]:
        """Yield all archived rows of a URL."""
        return self._select("WHERE url = ? AND archive_bytes IS NOT NULL ORDER BY id", url)

    def requested(self) -> Iterator[AssetRow]:
        """Yield the assets that are not done."""
        return self._select("WHERE outcome = '' ORDER BY id")

    def figures(self) -> AssetFigures:
        """Return counts of the assets."""
        n_assets, n_archived, archive_bytes, n_pending = self._db.row(
            f"SELECT count(DISTINCT url), count(DISTINCT iif(id IN ({_LAST_DONE}) AND {_IS_ARCHIVED}, url, NULL)), "
            f"coalesce(sum(iif({_IS_ARCHIVED}, archive_bytes, 0)), 0), count(DISTINCT iif(outcome = '', url, NULL)) "
            "FROM part"
        ) or (0, 0, 0, 0)
        failed = self._db.rows(
            f"SELECT outcome, count(*) FROM part WHERE id IN ({_LAST_DONE}) "
            f"AND {_HAS_FAILED} GROUP BY outcome ORDER BY count(*) DESC, outcome"
        )
        failures = {str(outcome): int(n) for outcome, n in failed}
        return AssetFigures(n_assets, n_archived, archive_bytes, sum(failures.values()), n_pending, failures)

    def _select(self, which: str, *values: Any) -> Iterator[AssetRow]:
        for row in self._db.rows(f"SELECT {_PART_COLUMNS} FROM part {which}", *values):
            yield AssetRow._make((*row[:8], _position(row[8:11]), None if row[11] is None else bool(row[11])))

    def read(self, archive: Archive, row: AssetRow) -> ArchivedPage | None:
        """Return the complete asset from the archive; None if it is not archived.

        When the same bytes are received twice, the second record is a revisit, of the same asset in another epoch or of
        another asset. The body is then in the first record with these bytes, and the headers are in the revisit, or in
        the previous record if the server answered 304. CrawlFolderError if a record is missing or damaged.
        """
        if row.archived is None:
            return None
        page, is_revisit = archive.read_asset(row.archived)[1]
        if not is_revisit:
            return page
        first = None if row.digest is None else self.with_digest(row.digest)
        if first is None or first.archived is None:
            return None
        body = archive.read(first.archived).body
        if row.status == _NOT_MODIFIED:
            previous = self.previous(row)
            if previous is None or previous.archived is None or previous.digest != row.digest:
                return None
            page = archive.read_asset(previous.archived)[1][0]
        return page._replace(time=row.time, body=body)


class RenderedTables:
    """The table `rendered`."""

    def __init__(self, connection: DatabaseConnection, meta: MetaTables) -> None:
        self._db, self._meta = connection, meta

    def set(self, row: RenderedRow) -> None:
        """Insert or replace the rendering of a page."""
        values = (*row[:4], *(row.dom or (None, None, None)), *(row.view or (None, None, None)), *row[6:])
        self._db.write(f"INSERT OR REPLACE INTO rendered VALUES ({', '.join('?' * len(values))})", *values)

    def delete(self, page: int) -> None:
        """Delete the rendering of a page: its latest version was not rendered."""
        self._db.write("DELETE FROM rendered WHERE page = ?", int(page))

    def row(self, page: int) -> RenderedRow | None:
        return next(self._select("WHERE page = ?", int(page)), None)

    def all(self) -> Iterator[RenderedRow]:
        """Yield all rendered pages, in increasing order."""
        return self._select("ORDER BY page")

    def tally(self) -> RenderedTally:
        """Return the totals of the rendered pages."""
        row = self._db.row(
            "SELECT count(*), coalesce(sum(trouble != ''), 0), coalesce(sum(max(n_links - n_links_sent, 0)), 0), "
            "coalesce(sum(max(n_words - n_words_sent, 0)), 0), coalesce(sum(n_parts), 0), coalesce(sum(cpu_s), 0.0) "
            "FROM rendered"
        )
        return RenderedTally() if row is None else replace(RenderedTally(*row), anchors=self._meta.anchors())

    def documents(self) -> dict[int, Position]:
        """Return the positions of rendered documents, by page."""
        return {row.page: row.dom for row in self.all() if row.dom is not None}

    def _select(self, which: str, *values: Any) -> Iterator[RenderedRow]:
        for row in self._db.rows(f"SELECT * FROM rendered {which}", *values):
            yield RenderedRow(*(*row[:4], _position(row[4:7]), _position(row[7:10]), *row[10:]))


def _position(values: tuple[Any, ...]) -> Position | None:
    return Position(*values) if all(isinstance(value, int) and value >= 0 for value in values) else None
