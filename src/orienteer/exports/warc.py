"""WARC: one file with the pages as they are now, the redirects to them, and what they are shown with; for everything
that reads web archives.

The records are those of the crawl's own archive, byte by byte. What it holds besides, earlier versions of pages,
revisits and failures, stays there.
"""

from __future__ import annotations

import gzip
from itertools import chain

from orienteer.exports.archived_records import archived_mask, archived_records
from orienteer.exports.exported_crawl import ExportedCrawl
from orienteer.exports.exporter import Exporter, Written, exporter
from orienteer.exports.staging import Staging
from orienteer.progress import Progress
from orienteer.store.record import warcinfo_record


@exporter
class Warc(Exporter):
    name = "warc"
    about = "the responses as they came, the newest of each page"
    suffixes = (".warc.gz", ".warc")

    def __init__(self, requisites: bool = True) -> None:
        """`requisites`: also the pictures, styles and scripts that pages are shown with."""
        self._requisites = requisites

    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        packed = staging.name.lower().endswith(".gz")
        with staging.main.open("wb") as out:
            records = archived_records(crawl, self._requisites)
            for member in chain([warcinfo_record(staging.name)], (record.member for record in records)):
                out.write(member if packed else gzip.decompress(member))
        return Written(int((archived_mask(crawl) & crawl.pages).sum()))
