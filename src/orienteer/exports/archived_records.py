"""The records of a crawl's archive that hold its pages as they are now, and the redirects to them.

A page that was seen again, unchanged, has a revisit record besides; what stands here is the record with the content.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from orienteer.errors import InputError
from orienteer.exports.exported_crawl import ExportedCrawl, Mask
from orienteer.store.archive import Position
from orienteer.store.page_row import PageRow
from orienteer.store.record import ArchivedPage

_WWW = re.compile(r"www\d*\.")
_TYPE_END = re.compile(r"[;\s]")


class ArchivedRecord(NamedTuple):
    """`member` is the record as it stands in the archive: a gzip member."""

    row: PageRow
    page: ArchivedPage
    member: bytes
    place: Position


def archived_records(crawl: ExportedCrawl) -> Iterator[ArchivedRecord]:
    """In the order in which the pages were fetched first. Each is read, so that nothing damaged is passed on."""
    for row, _ in crawl.rows(archived_mask(crawl), "exporting records"):
        if row.archived is not None:
            member, page = crawl.archive.read_record(row.archived)
            yield ArchivedRecord(row, page, member, row.archived)


def archived_mask(crawl: ExportedCrawl) -> Mask:
    """The pages that are wanted, and the redirects to them."""
    pages = crawl.pages & crawl.is_archived
    if not pages.any():
        raise InputError(f"{crawl.path}: the crawl kept no archive, so there are no records to export")
    leads_there = (crawl.names >= 0) & crawl.pages[crawl.names]
    return pages | (crawl.is_redirect & crawl.is_archived & leads_there)


def cdxj_line(record: ArchivedRecord, file_name: str, offset: int, keep_slash: bool) -> bytes:
    """Where a record is to be found, as a line of CDXJ."""
    page = record.page
    content_type = next((value for name, value in page.headers if name.lower() == "content-type"), "")
    block = {
        "url": page.url,
        "mime": _TYPE_END.split(content_type.strip(), maxsplit=1)[0],
        "status": str(page.status),
        "digest": page.payload_digest,
        "length": str(len(record.member)),
        "offset": str(offset),
        "filename": file_name,
    }
    time = datetime.fromtimestamp(page.time, UTC).strftime("%Y%m%d%H%M%S")
    return f"{searchable_url(page.url, keep_slash)} {time} {json.dumps(block)}\n".encode()


def searchable_url(url: str, keep_slash: bool) -> str:
    """The URL as archives sort and look it up (SURT): in lower case, the host turned round, parameters sorted.

    Readers differ in whether a slash at the end of a path is a part of it.

    >>> searchable_url("https://www.Example.org:8080/A/?b=2&a=1", keep_slash=False)
    'org,example:8080)/a?a=1&b=2'
    """
    host, _, rest = url.partition("://")[2].lower().partition("/")
    path, _, query = rest.partition("?")
    name, _, port = host.partition(":") if not host.startswith("[") else (host, "", "")
    name = _WWW.sub("", name, count=1) if _WWW.match(name) else name
    turned = ",".join(reversed(name.split(".")))
    if not keep_slash:
        path = path.removesuffix("/")
    parameters = "&".join("=".join(pair) for pair in sorted(part.split("=", 1) for part in query.split("&")))
    place = f"{turned}:{port}" if port else turned
    return f"{place})/{path}" + (f"?{parameters}" if parameters else "")
