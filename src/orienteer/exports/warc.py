"""WARC: one file with the latest version of the pages, the redirects to them and their assets.

The records are copied unchanged from the archive of the crawl. Earlier versions of pages, revisits and failures are not
included.
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
    about = "the latest response of each page, as received"
    suffixes = (".warc.gz", ".warc")

    def __init__(self, assets: bool = True) -> None:
        """`assets`: include images, style sheets and scripts."""
        self._assets = assets

    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        packed = staging.name.lower().endswith(".gz")
        with staging.main.open("wb") as out:
            records = archived_records(crawl, self._assets)
            for member in chain([warcinfo_record(staging.name)], (record.member for record in records)):
                out.write(member if packed else gzip.decompress(member))
        return Written(int((archived_mask(crawl) & crawl.pages).sum()))
