"""The tables of crawl.db.

url         every URL seen; ids are dense from 0, in order of discovery. There is no index on the URL: it would
            double the file, and the frontier's interner answers that question from memory
page        a row per page that is done: fetched, failed or blocked. `position` is the order in which that happened
            first; it is the row's place in the file, so rows are appended, and a resumed crawl reads them in one sweep.
            Links are page ids as little-endian uint32, in the order of the document: those inside the scope of the
            crawl in `links`, the others in `outside`. `relevance` is that to the topic of the crawl, if it has one. A
            page that is seen to have changed has its row changed
unknown     pages some of whose links are not known: how many (-1: nobody knows), and why. Of a blocked page it says
            that it redirects to somewhere that is not known
session     what is known of URLs that hold a session: the URL without it, the page that was found there first, the
            digest of its content without the session, and whether another session was seen to get the same page
canonical   the page that a page names as the canonical one in its place, where that is another one inside the scope
part        what pages are shown with: pictures, styles, scripts (see `shown_tables`). They are no pages of the crawl
rendered    pages that a browser has shown: why, what that found, and where the document stands in the archive
added       fields and tags that page hooks added to a page, as JSON; no row where there are none
words       what a focused crawl reads of a page: its words and those of its links, hashed (see `page_words`)
known       pages known from elsewhere than links (seeds, sitemaps), and when: they share the numbering with `page`
epoch       a row per refresh: when it began and ended, the position of its first visit, where it starts (pages, their
            trust), how many links it goes, and the pages that are due in it. The first crawl has none
visit       what came of a page in an epoch: they share the numbering, too (see `visits`)
revisit     a row per page that was asked for again: how often, and how often it was found changed, or missing
survey      a row per survey of the coverage: the epoch, how many events had been told when it began, its randomness,
            and what it is to find out
walks       the walks of a survey that began together: after how many events, where they entered, and what their
            scores are held to (see graph/survey). All else about them follows from the seed and the pages
signature   what near-duplicates are found by (see ledger/band_index)
band        what earlier versions found them by: the pages of each band of a signature. Not written any more
event       what happened besides: hosts that were given up, limits that were hit
meta        single values, as JSON; among them the end of the archive
"""

from __future__ import annotations

from typing import NamedTuple

APPLICATION_ID = 0x4F726965  # "Orie", in the file's head: tells our database from any other
VERSION = 7

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
_SURVEY = (
    "CREATE TABLE survey (id INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, n_told INTEGER NOT NULL, seed TEXT NOT NULL, "
    "until REAL NOT NULL, confidence REAL NOT NULL, error REAL NOT NULL, of_reachable INTEGER NOT NULL, "
    "width INTEGER NOT NULL)"
)
_WALKS = (
    "CREATE TABLE walks (survey INTEGER, number INTEGER, n_told INTEGER NOT NULL, entries BLOB NOT NULL, "
    "allowed REAL NOT NULL, free REAL NOT NULL, stake REAL NOT NULL, PRIMARY KEY (survey, number)) WITHOUT ROWID"
)
# Up to version 3 a page that nobody asked for, or that may be there all the same, counted as failed.
_NEW_STATE = "CASE WHEN outcome = 'unwanted type' THEN 5 WHEN outcome IN ('http 404', 'http 410') THEN 3 ELSE 4 END"
_STATES = (
    f"UPDATE visit SET state = (SELECT {_NEW_STATE} FROM page WHERE page.id = visit.page AND page.state = 3) "
    "WHERE state = 3 AND EXISTS (SELECT 1 FROM page WHERE page.id = visit.page AND page.state = 3)",
    f"UPDATE page SET state = {_NEW_STATE} WHERE state = 3",
)


class Upgrade(NamedTuple):
    """What makes a database of one version one of the next: new tables, and other changes."""

    tables: tuple[str, ...]
    statements: tuple[str, ...]


UPGRADES = {  # by the version they start from
    2: Upgrade(("added",), (_ADDED,)),
    3: Upgrade(("unknown", "session"), (_UNKNOWN, _SESSION, *_STATES)),
    4: Upgrade(("survey", "walks"), (_SURVEY, _WALKS)),
    5: Upgrade(("canonical",), (_CANONICAL,)),
    6: Upgrade(("part", "rendered"), (_PART, *_PART_INDEXES, _RENDERED)),
}

SCHEMA = f"""
{_ADDED};
{_UNKNOWN};
{_SESSION};
{_CANONICAL};
{_PART};
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
CREATE TABLE signature (page INTEGER PRIMARY KEY, signature BLOB NOT NULL);
CREATE TABLE band (band INTEGER, page INTEGER, PRIMARY KEY (band, page)) WITHOUT ROWID;
CREATE TABLE event (
    id INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, host INTEGER, detail TEXT NOT NULL
);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
