"""CDXJ: an index of the archive of a crawl folder, sorted by URL; for pywb and similar programs.

    org,example)/visit 20260131180509 {"url": "http://example.org/visit", "status": "200", "filename": ...}

The file names are those in the folder `archive`: no record is copied. Keys follow pywb, without a trailing slash.
"""

from __future__ import annotations

from orienteer.exports.archived_records import archived_mask, archived_records, cdxj_line
from orienteer.exports.exported_crawl import ExportedCrawl
from orienteer.exports.exporter import Exporter, Written, exporter, packed
from orienteer.exports.sorted_lines import SortedLines
from orienteer.exports.staging import Staging
from orienteer.files.compressed import byte_writer
from orienteer.progress import Progress


@exporter
class Cdxj(Exporter):
    name = "cdxj"
    about = "an index to the WARC files of the crawl folder"
    suffixes = packed(".cdxj")

    def __init__(self, assets: bool = True) -> None:
        """`assets`: include images, style sheets and scripts."""
        self._assets = assets

    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        with SortedLines(staging.folder) as lines:
            for record in archived_records(crawl, self._assets):
                name = crawl.archive.path(record.position.file).name
                lines.add(cdxj_line(record, name, record.position.offset, keep_slash=False))
            with byte_writer(staging.main, staging.name) as out:
                out.writelines(lines)
        return Written(int((archived_mask(crawl) & crawl.pages).sum()))
