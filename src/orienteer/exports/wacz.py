"""WACZ 1.1.1: the latest version of the pages, with indexes, in one file for ReplayWeb.page.

    archive/data.warc.gz        the records, as in a WARC export
    indexes/index.cdx.gz        their positions: sorted CDXJ, in gzip members of 1,024 lines
    indexes/index.idx           the first line and the offset of each of those members
    pages/pages.jsonl           the pages with their titles and texts; seeds are marked
    datapackage.json            the size and the hash of each of these files
    datapackage-digest.json     the hash of datapackage.json

https://specs.webrecorder.net/wacz/1.1.1/. Keys of the index follow ReplayWeb.page. pywb removes a trailing slash from
keys, so a URL with a trailing slash is indexed under both keys.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby, islice
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer import __version__
from orienteer.exports.archived_records import SortedLines, archived_mask, archived_records, cdxj_line
from orienteer.exports.exported_crawl import ExportedCrawl
from orienteer.exports.exporter import Exporter, Staging, Written, exporter
from orienteer.exports.page_texts import full_texts, iso_time
from orienteer.exports.tables import as_line
from orienteer.ledger.plan import CrawlPlan
from orienteer.progress import Progress
from orienteer.store.folder_view import settings_of_folder
from orienteer.store.record import warcinfo_record

_VERSION = "1.1.1"
_WARC, _INDEX = "data.warc.gz", "index.cdx.gz"
_LINES_PER_MEMBER = 1024
# An unused extra field. If the central directory has no extra field for a file, ReplayWeb.page assumes that the local
# header has none, either; but zip64 puts one there, for files larger than 4 GiB.
_EXTRA = b"Or\0\0"


@exporter
class Wacz(Exporter):
    name = "wacz"
    about = "the newest response of each page with indexes, for ReplayWeb.page"
    suffixes = (".wacz",)

    def __init__(self, assets: bool = True) -> None:
        """`assets`: include images, style sheets and scripts."""
        self._assets = assets

    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        with _Package(staging) as package, SortedLines(staging.folder) as lines:
            times = _write_archive(crawl, package, lines, self._assets)
            _write_index(package, lines)
            first = _write_pages(crawl, package, times)
            package.describe(f"{crawl.path.resolve().name}, as crawled by Orienteer", first)
        return Written(int((archived_mask(crawl) & crawl.pages).sum()))


class _MainPage(NamedTuple):
    """The start page: the first page that was fetched."""

    url: str
    time: str


def _write_archive(crawl: ExportedCrawl, package: _Package, lines: SortedLines, assets: bool) -> NDArray[np.float64]:
    """Write the records, and their index to `lines`. Return the times of the records by page."""
    times = np.zeros(len(crawl.pages))
    with package.file(f"archive/{_WARC}") as out:
        offset = out.write(warcinfo_record(_WARC))
        for record in archived_records(crawl, assets):
            for line in {cdxj_line(record, _WARC, offset, keep_slash) for keep_slash in (True, False)}:
                lines.add(line)
            offset += out.write(record.member)
            if record.row is not None:
                times[record.row.id] = record.about.time
    return times


def _write_index(package: _Package, lines: SortedLines) -> None:
    """Write the index, and the index of the index, with which a reader fetches only the members that it needs.

    URNs are in members of their own: ReplayWeb.page detects the form of keys from the first lines.
    """
    heads = [b'!meta 0 {"format": "cdxj-gzip-1.0", "filename": "%s"}\n' % _INDEX.encode()]
    offset = 0
    with package.file(f"indexes/{_INDEX}") as out:
        for _, alike in groupby(lines, key=lambda line: line.startswith(b"urn:")):
            while block := list(islice(alike, _LINES_PER_MEMBER)):
                member = gzip.compress(b"".join(block), 6, mtime=0)
                digest = f"sha256:{hashlib.sha256(member).hexdigest()}"
                about = json.dumps({"offset": offset, "length": len(member), "digest": digest})
                heads.append(block[0].partition(b"{")[0] + about.encode() + b"\n")
                offset += out.write(member)
    with package.file("indexes/index.idx", packed=True) as out:
        out.writelines(heads)


def _write_pages(crawl: ExportedCrawl, package: _Package, times: NDArray[np.float64]) -> _MainPage | None:
    """Write the list of pages; return the start page."""
    first = None
    seeds = _seeds(crawl)
    with package.file("pages/pages.jsonl", packed=True) as out:
        out.write(as_line({"format": "json-pages-1.0", "id": "pages", "title": "Pages", "hasText": True}))
        for row, url, text in full_texts(crawl, crawl.pages & crawl.is_archived):
            time = iso_time(float(times[row.id]))
            page = {"id": str(row.id), "url": url, "ts": time, "title": row.title or url, "text": text}
            out.write(as_line(page | ({"seed": True} if url in seeds else {})))
            first = first or _MainPage(url, time)
    return first


def _seeds(crawl: ExportedCrawl) -> set[str]:
    """Return the seeds of the crawl, and the targets of seeds that redirect."""
    settings = settings_of_folder(crawl.path)
    stated = () if settings is None else CrawlPlan.parse(settings, str(crawl.path)).crawl.seeds
    seeds = set(stated)
    for page in np.flatnonzero(crawl.is_redirect & (crawl.names >= 0)).tolist():
        if crawl.url(page) in seeds:
            seeds.add(crawl.url(int(crawl.names[page])))
    return seeds


class _Package:
    """A zip file with a description of its contents. Compressed contents are stored without further compression."""

    def __init__(self, staging: Staging) -> None:
        self._zip = zipfile.ZipFile(staging.main, "w")
        self._now = datetime.now(UTC)
        self._resources: list[dict[str, Any]] = []

    def __enter__(self) -> _Package:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._zip.close()

    @contextmanager
    def file(self, path: str, packed: bool = False) -> Iterator[_Hashed]:
        with self._zip.open(self._info(path, packed), "w", force_zip64=True) as out:
            hashed = _Hashed(out)
            yield hashed
        name = path.rpartition("/")[2]
        self._resources.append(
            {"name": name, "path": path, "hash": f"sha256:{hashed.hash.hexdigest()}", "bytes": hashed.n_bytes}
        )

    def describe(self, title: str, main: _MainPage | None) -> None:
        """Write the last files, which describe the others."""
        about: dict[str, Any] = {
            "profile": "data-package",
            "wacz_version": _VERSION,
            "software": f"Orienteer {__version__}",
            "title": title,
            "created": self._now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "resources": self._resources,
        }
        if main is not None:
            about |= {"mainPageUrl": main.url, "mainPageDate": main.time}
        text = json.dumps(about, indent=2).encode()
        self._zip.writestr(self._info("datapackage.json", True), text)
        digest = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(text).hexdigest()}"}
        self._zip.writestr(self._info("datapackage-digest.json", True), json.dumps(digest, indent=2))

    def _info(self, path: str, packed: bool) -> zipfile.ZipInfo:
        info = zipfile.ZipInfo(path, self._now.timetuple()[:6])
        info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
        info.external_attr = 0o644 << 16
        info.extra = _EXTRA
        return info


class _Hashed:
    """A file in the package, hashed while it is written."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self.hash = hashlib.sha256()
        self.n_bytes = 0

    def write(self, data: bytes) -> int:
        self._out.write(data)
        self.hash.update(data)
        self.n_bytes += len(data)
        return len(data)

    def writelines(self, lines: list[bytes]) -> None:
        for line in lines:
            self.write(line)
