"""The archive of a crawl as one WARC file, and its index as CDXJ, with the latest version of the pages.

A page is preceded by the redirects to it. A rendered page is followed by its document and its screenshot. The assets
come at the end: the latest version of each image, style sheet and script. Each record occurs once.

For a page that was revisited unchanged the record with the content is exported, not the revisit. An asset may be a
revisit of another one with the same bytes; the record of that one is then included.
"""

from __future__ import annotations

import gzip
import heapq
import json
import re
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple, Self

from orienteer.errors import InputError
from orienteer.exports.exported_crawl import ExportedCrawl, Mask
from orienteer.exports.exporter import Exporter, Staging, Written, exporter, packed
from orienteer.files.compressed import byte_writer
from orienteer.progress import Progress
from orienteer.store.archive import Position
from orienteer.store.page_row import PageRow
from orienteer.store.record import RecordDescription, describe_record, warcinfo_record
from orienteer.store.wrong_digests import states_document_digest, with_own_digest

_WWW = re.compile(r"www\d*\.")
_TYPE_END = re.compile(r"[;\s]")
_URN = "urn:"
_MAX_BYTES = 64 << 20


class ArchivedRecord(NamedTuple):
    """A record of the archive. `member` is the gzip member as stored, except for a corrected digest. `row` is that of a
    page or a redirect, None for assets and renderings."""

    about: RecordDescription
    member: bytes
    position: Position
    row: PageRow | None = None


def archived_records(crawl: ExportedCrawl, assets: bool) -> Iterator[ArchivedRecord]:
    """Yield the records in the order in which the pages were first fetched. Each is parsed, which detects damage.

    With `assets` all assets of the crawl are included, even those of pages that are not selected.
    """
    written: set[tuple[int, int]] = set()
    for row, _ in crawl.rows(archived_mask(crawl), "exporting records"):
        if row.archived is not None:
            rendered = crawl.database.rendered.row(row.id)
            record = _record(crawl, row.archived, row)
            yield record if rendered is None or rendered.dom is None else _corrected(crawl, record, rendered.dom)
            written.add(row.archived[:2])
            for position in () if rendered is None else (rendered.dom, rendered.view):
                if position is not None:
                    yield _record(crawl, position)
    if assets:
        yield from _asset_records(crawl, written)


def _record(crawl: ExportedCrawl, position: Position, row: PageRow | None = None) -> ArchivedRecord:
    member, about = crawl.archive.read_description(position)
    return ArchivedRecord(about, member, position, row)


def _corrected(crawl: ExportedCrawl, record: ArchivedRecord, dom: Position) -> ArchivedRecord:
    """Correct the payload digest in the record of a rendered page, which version 0.2.0 wrote wrongly.

    The record keeps its length, since an index may refer to the record in the crawl folder.
    """
    document = crawl.archive.read_description(dom)[0]
    if record.about.kind != "response" or not states_document_digest(record.member, document):
        return record
    try:
        member = with_own_digest(record.member, len(record.member))
    except ValueError:
        return record
    return record._replace(member=member, about=describe_record(member))


def _asset_records(crawl: ExportedCrawl, written: set[tuple[int, int]]) -> Iterator[ArchivedRecord]:
    """Yield the records of assets that are not written yet."""
    for asset in crawl.database.assets.newest():
        position = asset.archived
        while position is not None and position[:2] not in written:
            written.add(position[:2])
            record = _record(crawl, position)
            yield record
            position = _revisited(crawl, record.about)


def _revisited(crawl: ExportedCrawl, about: RecordDescription) -> Position | None:
    """Return the position of the record that a revisit of an asset refers to."""
    if about.refers_to is None:
        return None
    url, date = about.refers_to
    for asset in crawl.database.assets.at(url):
        assert asset.archived is not None
        if crawl.archive.read_description(asset.archived)[1].date == date:
            return asset.archived
    return None


def archived_mask(crawl: ExportedCrawl) -> Mask:
    """Return the mask of the selected pages, and of the redirects to them."""
    pages = crawl.pages & crawl.is_archived
    if not pages.any():
        raise InputError(f"{crawl.path}: the crawl has no archive, so there are no records to export")
    leads_to_page = (crawl.names >= 0) & crawl.pages[crawl.names]
    return pages | (crawl.is_redirect & crawl.is_archived & leads_to_page)


def cdxj_line(record: ArchivedRecord, file_name: str, offset: int, keep_slash: bool) -> bytes:
    """Return the CDXJ line for a record."""
    about = record.about
    is_revisit = about.kind == "revisit"
    block = {
        "url": about.url,
        "mime": "warc/revisit" if is_revisit else _TYPE_END.split(about.content_type.strip(), maxsplit=1)[0],
        "status": str(about.status),
        "digest": about.payload_digest,
        "length": str(len(record.member)),
        "offset": str(offset),
        "filename": file_name,
    }
    if not about.status:  # a resource: there was no request
        del block["status"]
    time = datetime.fromtimestamp(about.time, UTC).strftime("%Y%m%d%H%M%S")
    return f"{searchable_url(about.url, keep_slash)} {time} {json.dumps(block)}\n".encode()


def searchable_url(url: str, keep_slash: bool) -> str:
    """Return the key of a URL in indexes of archives (SURT): lower case, host labels reversed, parameters sorted.

    Readers differ in whether a trailing slash belongs to the key. The key of a `urn:view:` or the like is the URN
    itself: unchanged with `keep_slash`, and never reversed.

    >>> searchable_url("https://www.Example.org:8080/A/?b=2&a=1", keep_slash=False)
    'org,example:8080)/a?a=1&b=2'
    """
    if url.startswith(_URN):
        return url if keep_slash else _searchable_urn(url)
    host, _, target = url.partition("#")[0].partition("://")[2].lower().partition("/")
    path, _, query = target.partition("?")
    name, _, port = host.partition(":") if not host.startswith("[") else (host, "", "")
    name = _WWW.sub("", name, count=1) if _WWW.match(name) else name
    reversed_name = ",".join(reversed(name.split(".")))
    if not keep_slash:
        path = path.removesuffix("/")
    parameters = _sorted(query)
    key_host = f"{reversed_name}:{port}" if port else reversed_name
    return f"{key_host})/{path}" + (f"?{parameters}" if parameters else "")


def _searchable_urn(urn: str) -> str:
    path, _, query = urn.lower().partition("#")[0].partition("?")
    return path.removesuffix("/") + (f"?{_sorted(query)}" if query else "")


def _sorted(query: str) -> str:
    return "&".join("=".join(pair) for pair in sorted(field.split("=", 1) for field in query.split("&")))


class SortedLines:
    """An external merge sort of lines by their bytes.

    Sorts lines with at most `max_bytes` in memory; the others are in unnamed temporary files in `folder`.
    """

    def __init__(self, folder: Path, max_bytes: int = _MAX_BYTES) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._lines: list[bytes] = []
        self._n_bytes = 0
        self._runs: list[IO[bytes]] = []

    def add(self, line: bytes) -> None:
        """Add a line, which includes its line end."""
        self._lines.append(line)
        self._n_bytes += len(line)
        if self._n_bytes > self._max_bytes:
            self._spill()

    def __iter__(self) -> Iterator[bytes]:
        self._lines.sort()
        for run in self._runs:
            run.seek(0)
        return heapq.merge(self._lines, *self._runs)

    def _spill(self) -> None:
        run = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 (closed in __exit__)
        self._runs.append(run)
        self._lines.sort()
        run.writelines(self._lines)
        run.flush()
        self._lines, self._n_bytes = [], 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for run in self._runs:
            run.close()


@exporter
class Warc(Exporter):
    """The records are copied unchanged, without earlier versions of pages, revisits and failures."""

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


@exporter
class Cdxj(Exporter):
    """An index sorted by URL, for pywb and similar programs.

        org,example)/visit 20260131180509 {"url": "http://example.org/visit", "status": "200", "filename": ...}

    The file names are those in the folder `archive`: no record is copied. Keys follow pywb, without a trailing slash.
    """

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
