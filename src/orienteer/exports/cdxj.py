"""CDXJ: where in the archive of the crawl folder each page stands, sorted by URL; for pywb and its kin.

    org,example)/visit 20260131180509 {"url": "http://example.org/visit", "status": "200", "filename": ...}

The file names are those in the folder `archive`: nothing is copied. Keys are as pywb makes them, without a slash at the
end of the path.
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

    def __init__(self, requisites: bool = True) -> None:
        """`requisites`: also the pictures, styles and scripts that pages are shown with."""
        self._requisites = requisites

    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        with SortedLines(staging.folder) as lines:
            for record in archived_records(crawl, self._requisites):
                name = crawl.archive.path(record.place.file).name
                lines.add(cdxj_line(record, name, record.place.offset, keep_slash=False))
            with byte_writer(staging.main, staging.name) as out:
                out.writelines(lines)
        return Written(int((archived_mask(crawl) & crawl.pages).sum()))
