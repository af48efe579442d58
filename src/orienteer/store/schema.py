"""The tables of crawl.db, and the valid values of their columns.

url         every URL; ids are dense from 0, in order of discovery. There is no index on the URL: it would double the
            file, and the frontier looks URLs up in memory
page        a row per page that is done: fetched, failed or blocked. `position` counts the events by which pages were
            first done, and is the rowid: rows are appended, and a resumed crawl reads them in one sequential scan.
            Links are page ids as little-endian uint32, in document order: those inside the scope of the crawl in
            `links`, the others in `outside`. `relevance` is P(on topic), if the crawl has a topic. A refresh updates
            the row of a changed page
unknown     pages with unknown links: how many (-1: the number is unknown), and why. For a blocked page: it redirects to
            an unknown target
session     URLs that contain a session id: the URL without it, the first page found there, the digest of its content
            without the id, and whether another session id gave the same page
canonical   the canonical page that a page declares, if that is another one inside the scope
part        the assets of pages: images, styles, scripts (see `rendering_tables`). They are not pages of the crawl.
            `credentials`: the request carried credentials of the crawl
rendered    rendered pages: why, the result, the position of the document in the archive, and digests of what the server
            sent and of the rendered document, by which a refresh detects changes
added       fields and tags that page hooks added to a page, as JSON; no row if there are none
words       the features of a focused crawl: the hashed words of a page and of its links (see `detail_tables`)
known       pages discovered without a link (sitemaps, feeds), and when: positions are numbered together with `page`
epoch       a row per refresh: when it began and ended, the position of its first visit, its seeds and their trust, the
            maximal number of links from a seed, and the pages that are due. The first crawl has none
visit       the outcome of a page in an epoch: positions are numbered together with `page`, too (see `visits`)
revisit     a row per page that was requested again: how often, and how often it had changed or was missing
survey      a row per coverage survey: the epoch, the number of earlier events (`n_told`), its random seed, and its goal
walks       the walks of a survey that began together: the number of earlier events (`n_told`), their entry pages, and
            the thresholds for their scores (see graph/survey). The rest follows from the seed and the pages
signature   signatures for finding near-duplicates (see ledger/band_index)
band        the pages of each band of a signature, as earlier versions stored them. No longer written
event       other events: abandoned hosts, limits that were reached
meta        single values, as JSON; among them the end of the archive

SQLite stores any type in any column: text in place of a number, a time of 1e300, a truncated array; NaN as NULL. So
that a crafted file is rejected when it is read, `DatabaseConnection` checks every row by the names of its columns; an
expression has a name only with AS."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple

from orienteer.pages.states import PageState
from orienteer.pages.unknown import UNKNOWN_COUNT
from orienteer.store.visits import VisitKind

APPLICATION_ID = 0x4F726965  # "Orie", in the header of the file
VERSION = 9

TABLES = (
    "url", "page", "unknown", "session", "canonical", "part", "rendered", "added", "words", "known", "epoch", "visit",
    "revisit", "survey", "walks", "signature", "band", "event", "meta",
)  # fmt: skip

_ADDED = "CREATE TABLE added (page INTEGER PRIMARY KEY, added TEXT NOT NULL)"
_UNKNOWN = "CREATE TABLE unknown (page INTEGER PRIMARY KEY, n INTEGER NOT NULL, why TEXT NOT NULL)"
_SESSION = (
    "CREATE TABLE session (stripped TEXT PRIMARY KEY, page INTEGER NOT NULL, digest BLOB NOT NULL, "
    "is_same INTEGER NOT NULL) WITHOUT ROWID"
)
_CANONICAL = "CREATE TABLE canonical (page INTEGER PRIMARY KEY, target INTEGER NOT NULL)"
_PART = (
    "CREATE TABLE part (id INTEGER PRIMARY KEY, url TEXT NOT NULL, epoch INTEGER NOT NULL, "
    "outcome TEXT NOT NULL DEFAULT '', status INTEGER NOT NULL DEFAULT 0, time REAL NOT NULL DEFAULT 0, "
    "content_type TEXT NOT NULL DEFAULT '', digest BLOB, archive_file INTEGER, archive_offset INTEGER, "
    "archive_bytes INTEGER)"
)
_PART_CREDENTIALS = "ALTER TABLE part ADD COLUMN credentials INTEGER"  # NULL: unknown
_PART_INDEXES = (
    "CREATE INDEX part_url ON part (url)",
    "CREATE INDEX part_wanted ON part (id) WHERE outcome = ''",
    "CREATE INDEX part_digest ON part (digest) WHERE digest IS NOT NULL",
)
_RENDERED = (
    "CREATE TABLE rendered (page INTEGER PRIMARY KEY, why TEXT NOT NULL, time REAL NOT NULL, url TEXT NOT NULL, "
    "dom_file INTEGER, dom_offset INTEGER, dom_bytes INTEGER, view_file INTEGER, view_offset INTEGER, "
    "view_bytes INTEGER, n_words_sent INTEGER NOT NULL, n_words INTEGER NOT NULL, n_links_sent INTEGER NOT NULL, "
    "n_links INTEGER NOT NULL, n_parts INTEGER NOT NULL, cpu_s REAL NOT NULL, trouble TEXT NOT NULL)"
)
# Values that a refresh compares: digests of the response and of the rendered document; the page of which a page was
# last a duplicate; the outcome of a missing page; and the digest of a page before its last change.
_COMPARED = (
    "ALTER TABLE rendered ADD COLUMN sent_digest BLOB",
    "ALTER TABLE rendered ADD COLUMN rendered_digest BLOB",
    "ALTER TABLE revisit ADD COLUMN repeated INTEGER",
    "ALTER TABLE revisit ADD COLUMN missing_as TEXT",
    "ALTER TABLE revisit ADD COLUMN former_digest BLOB",
)
_SURVEY = (
    "CREATE TABLE survey (id INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, n_told INTEGER NOT NULL, seed TEXT NOT NULL, "
    "until REAL NOT NULL, confidence REAL NOT NULL, error REAL NOT NULL, of_reachable INTEGER NOT NULL, "
    "width INTEGER NOT NULL)"
)
_WALKS = (
    "CREATE TABLE walks (survey INTEGER, number INTEGER, n_told INTEGER NOT NULL, entries BLOB NOT NULL, "
    "allowed REAL NOT NULL, free REAL NOT NULL, stake REAL NOT NULL, PRIMARY KEY (survey, number)) WITHOUT ROWID"
)
# Up to version 3, unwanted types and temporary errors were stored with the state FAILED, too.
_NEW_STATE = "CASE WHEN outcome = 'unwanted type' THEN 5 WHEN outcome IN ('http 404', 'http 410') THEN 3 ELSE 4 END"
_STATES = (
    f"UPDATE visit SET state = (SELECT {_NEW_STATE} FROM page WHERE page.id = visit.page AND page.state = 3) "
    "WHERE state = 3 AND EXISTS (SELECT 1 FROM page WHERE page.id = visit.page AND page.state = 3)",
    f"UPDATE page SET state = {_NEW_STATE} WHERE state = 3",
)


SCHEMA = f"""
{_ADDED};
{_UNKNOWN};
{_SESSION};
{_CANONICAL};
{_PART};
{_PART_CREDENTIALS};
{"; ".join(_PART_INDEXES)};
{_RENDERED};
{_SURVEY};
{_WALKS};
CREATE TABLE url (id INTEGER PRIMARY KEY, url TEXT NOT NULL);
CREATE TABLE page (
    position INTEGER PRIMARY KEY,
    id INTEGER NOT NULL UNIQUE,
    state INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    status INTEGER NOT NULL,
    time REAL NOT NULL,
    archive_file INTEGER,
    archive_offset INTEGER,
    archive_bytes INTEGER,
    digest BLOB,
    size_bytes INTEGER NOT NULL,
    content_type TEXT NOT NULL,
    language TEXT NOT NULL,
    title TEXT NOT NULL,
    noindex INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    redirect_to INTEGER,
    duplicate_of INTEGER,
    near_duplicate_of INTEGER,
    etag TEXT NOT NULL,
    last_modified TEXT NOT NULL,
    relevance REAL,
    links BLOB NOT NULL,
    outside BLOB NOT NULL
);
CREATE INDEX page_relevance ON page (relevance) WHERE relevance IS NOT NULL;
CREATE TABLE words (page INTEGER PRIMARY KEY, words BLOB NOT NULL);
CREATE INDEX page_digest ON page (digest) WHERE digest IS NOT NULL;
CREATE TABLE known (position INTEGER PRIMARY KEY, pages BLOB NOT NULL);
CREATE TABLE epoch (
    id INTEGER PRIMARY KEY,
    began REAL NOT NULL,
    ended REAL,
    position INTEGER NOT NULL,
    hops INTEGER,
    seeds BLOB NOT NULL,
    trust BLOB NOT NULL,
    due BLOB NOT NULL
);
CREATE TABLE visit (
    position INTEGER PRIMARY KEY,
    page INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    state INTEGER NOT NULL,
    time REAL NOT NULL,
    redirect_to INTEGER,
    archive_file INTEGER,
    archive_offset INTEGER,
    archive_bytes INTEGER
);
CREATE TABLE revisit (
    page INTEGER PRIMARY KEY,
    first_time REAL NOT NULL,
    checked REAL NOT NULL,
    n_checks INTEGER NOT NULL,
    n_changes INTEGER NOT NULL,
    n_missing INTEGER NOT NULL,
    missing_since REAL
);
{"; ".join(_COMPARED)};
CREATE TABLE signature (page INTEGER PRIMARY KEY, signature BLOB NOT NULL);
CREATE TABLE band (band INTEGER, page INTEGER, PRIMARY KEY (band, page)) WITHOUT ROWID;
CREATE TABLE event (
    id INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, host INTEGER, detail TEXT NOT NULL
);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
_FIRST_TIME, _LAST_TIME = -62_135_596_800, 253_402_300_799  # Unix time of the years 1 to 9999
_MAX_ID = 2**32 - 1
_MAX_INT = 2**31 - 1
_MAX_COUNT = 2**62
_SIZED = frozenset((bytes, str))


UPGRADES: Mapping[int, tuple[str, ...]] = {  # the statements that lead from a version to the next one
    2: (_ADDED,),
    3: (_UNKNOWN, _SESSION, *_STATES),
    4: (_SURVEY, _WALKS),
    5: (_CANONICAL,),
    6: (_PART, *_PART_INDEXES, _RENDERED),
    7: (_PART_CREDENTIALS,),
    8: _COMPARED,
}


class Range(NamedTuple):
    """Values of these types from `least` to `most`; for bytes and texts the bounds and `unit` are of the length."""

    types: frozenset[type]
    least: float
    most: float
    unit: int = 1

    def holds(self, value: Any) -> bool:
        if value is None:
            return NoneType in self.types
        if type(value) not in self.types:
            return False
        amount = len(value) if isinstance(value, (bytes, str)) else value
        return self.least <= amount <= self.most and (self.unit == 1 or amount % self.unit == 0)

    def holds_all(self, values: Sequence[Any]) -> bool:
        """Return whether the range holds all values, much faster than one by one."""
        types = set(map(type, values))
        if not types <= self.types:
            return False
        if NoneType in types:
            values = [value for value in values if value is not None]
        if not values:
            return True
        if types & _SIZED:
            values = [len(value) for value in values]
        if not (self.least <= min(values) and max(values) <= self.most):
            return False
        return self.unit == 1 or all(value % self.unit == 0 for value in values)


def _integer(least: int, most: int) -> Range:
    return Range(frozenset((int,)), least, most)


def _number(least: float, most: float) -> Range:
    return Range(frozenset((int, float)), least, most)


def _optional(range: Range) -> Range:
    return range._replace(types=range.types | {NoneType})


_COUNT, _SMALL, _PAGE, _FLAG = _integer(0, _MAX_COUNT), _integer(0, _MAX_INT), _integer(0, _MAX_ID), _integer(0, 1)
_TIME, _SHARE, _ANY_NUMBER = _number(_FIRST_TIME, _LAST_TIME), _number(0.0, 1.0), _number(float("-inf"), float("inf"))
_STATE = _integer(PageState.FETCHED, PageState.SKIPPED)  # of pages that are done
_TEXT = Range(frozenset((str,)), 0, _MAX_INT)
_BLOB = Range(frozenset((bytes,)), 0, _MAX_INT)
_IDS, _WEIGHTS, _DIGEST = _BLOB._replace(unit=4), _BLOB._replace(unit=8), _BLOB._replace(least=20, most=20)


def _named(names: str, range: Range) -> dict[str, Range]:
    return dict.fromkeys(names.split(), range)


RANGES: Mapping[str, Range] = {
    **_named("position id epoch survey number n_told size_bytes", _COUNT),
    **_named("page target n_checks n_changes n_missing", _PAGE),
    **_named("redirect_to duplicate_of near_duplicate_of repeated", _optional(_PAGE)),
    **_named("status depth width n_words_sent n_words n_links_sent n_links n_parts", _SMALL),
    **_named("noindex is_same of_reachable", _FLAG),
    **_named("credentials", _optional(_FLAG)),
    **_named("archive_file dom_file view_file hops", _optional(_SMALL)),
    **_named("archive_offset archive_bytes dom_offset dom_bytes view_offset view_bytes", _optional(_COUNT)),
    **_named("time first_time checked began", _TIME),
    **_named("ended missing_since first_time_or_none last_time_or_none", _optional(_TIME)),
    **_named("until confidence error", _SHARE),
    **_named("allowed stake", _ANY_NUMBER),
    "free": _number(sys.float_info.min, float("inf")),  # walks begin only where there is mass; it is divided by
    **_named("cpu_s", _number(0.0, 1e12)),
    **_named("relevance", _optional(_SHARE)),
    **_named("url outcome content_type language title etag last_modified why trouble", _TEXT),
    **_named("stripped detail value event_kind added seed", _TEXT),
    "missing_as": _optional(_TEXT),
    **_named("links outside pages seeds due entries", _IDS),
    **_named("trust", _WEIGHTS),
    **_named("signature words", _BLOB),
    **_named("digest sent_digest rendered_digest former_digest", _optional(_DIGEST)),
    "redirect_or_none": _integer(-1, _MAX_ID),  # -1: none
    "state": _STATE,
    "state_or_none": _optional(_STATE),
    "links_or_none": _optional(_IDS),
    "kind": _integer(min(VisitKind), max(VisitKind)),
    "n": _integer(UNKNOWN_COUNT, _MAX_INT),
    "n_unknown": _integer(UNKNOWN_COUNT, _MAX_INT),
    "host": _optional(_SMALL),
}


class RowRanges:
    """The ranges of rows with these columns; a column without a range is not checked."""

    def __init__(self, columns: Iterable[str], ranges: Mapping[str, Range] = RANGES) -> None:
        self._columns = [(index, name, ranges[name]) for index, name in enumerate(columns) if name in ranges]

    def check(self, row: Sequence[Any]) -> None:
        """Raise ValueError if a value is out of its range."""
        for index, name, range in self._columns:
            if not range.holds(row[index]):
                raise ValueError(f"{name} is {_describe(row[index])}")

    def check_all(self, rows: Sequence[Sequence[Any]]) -> None:
        for index, _, range in self._columns:
            if not range.holds_all([row[index] for row in rows]):
                for row in rows:
                    self.check(row)


def _describe(value: Any) -> str:
    return f"{len(value)} bytes" if isinstance(value, bytes) else f"{value!r:.60}"
