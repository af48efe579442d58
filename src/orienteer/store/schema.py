"""The tables of crawl.db.

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
"""

from __future__ import annotations

from typing import NamedTuple

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


class Upgrade(NamedTuple):
    """The upgrade of a database to the next version: new tables, statements, and new columns ("part.credentials")."""

    tables: tuple[str, ...]
    statements: tuple[str, ...]
    columns: tuple[str, ...] = ()


UPGRADES = {  # by the version they start from
    2: Upgrade(("added",), (_ADDED,)),
    3: Upgrade(("unknown", "session"), (_UNKNOWN, _SESSION, *_STATES)),
    4: Upgrade(("survey", "walks"), (_SURVEY, _WALKS)),
    5: Upgrade(("canonical",), (_CANONICAL,)),
    6: Upgrade(("part", "rendered"), (_PART, *_PART_INDEXES, _RENDERED)),
    7: Upgrade((), (_PART_CREDENTIALS,), ("part.credentials",)),
    8: Upgrade((), _COMPARED),
}

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
