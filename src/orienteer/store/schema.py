"""The tables of crawl.db.

url         every URL seen; ids are dense from 0, in order of discovery. There is no index on the URL: it would
            double the file, and the frontier's interner answers that question from memory
page        a row per page that is done: fetched, failed or blocked. `position` is the order in which that happened;
            it is the row's place in the file, so rows are appended, and a resumed crawl reads them in one sweep.
            Links are page ids as little-endian uint32, in the order of the document: those inside the scope of the
            crawl in `links`, the others in `outside`
known       pages known from elsewhere than links (seeds, sitemaps), and when: they share the numbering with `page`
signature, band    what near-duplicates are found by: a page's signature, and the pages of each band of it
event       what happened besides: hosts that were given up, limits that were hit
meta        single values, as JSON; among them the end of the archive
"""

from __future__ import annotations

APPLICATION_ID = 0x4F726965  # "Orie", in the file's head: tells our database from any other
VERSION = 1

TABLES = ("url", "page", "known", "signature", "band", "event", "meta")

SCHEMA = """
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
    links BLOB NOT NULL,
    outside BLOB NOT NULL
);
CREATE INDEX page_digest ON page (digest) WHERE digest IS NOT NULL;
CREATE TABLE known (position INTEGER PRIMARY KEY, pages BLOB NOT NULL);
CREATE TABLE signature (page INTEGER PRIMARY KEY, signature BLOB NOT NULL);
CREATE TABLE band (band INTEGER, page INTEGER, PRIMARY KEY (band, page)) WITHOUT ROWID;
CREATE TABLE event (
    id INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, host INTEGER, detail TEXT NOT NULL
);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
