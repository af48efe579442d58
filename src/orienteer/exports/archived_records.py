"""The records of a crawl's archive that hold its pages as they are now, and the redirects to them.

Behind a page that a browser has shown stand the document and the picture of it. At the end stands what pages are shown
with: pictures, styles, scripts, of each the newest. Each record comes once.

A page that was seen again, unchanged, has a revisit record besides; what stands here is the record with the content. A
part may be a revisit of another one with the same bytes, which is here, too.
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
from orienteer.store.record import Described

_WWW = re.compile(r"www\d*\.")
_TYPE_END = re.compile(r"[;\s]")
_URN = "urn:"


class ArchivedRecord(NamedTuple):
    """`member` is the record as it stands in the archive: a gzip member. `row` is that of a page or a redirect."""

    about: Described
    member: bytes
    place: Position
    row: PageRow | None = None


def archived_records(crawl: ExportedCrawl, requisites: bool) -> Iterator[ArchivedRecord]:
    """In the order in which the pages were fetched first. Each is read, so that nothing damaged is passed on.

    With `requisites` all parts of pages that the crawl has, whichever pages are wanted.
    """
    told: set[tuple[int, int]] = set()
    for row, _ in crawl.rows(archived_mask(crawl), "exporting records"):
        if row.archived is not None:
            yield _record(crawl, row.archived, row)
            told.add(row.archived[:2])
            rendered = crawl.survey.rendered_page(row.id)
            for place in () if rendered is None else (rendered.dom, rendered.view):
                if place is not None:
                    yield _record(crawl, place)
    if requisites:
        yield from _parts(crawl, told)


def _record(crawl: ExportedCrawl, place: Position, row: PageRow | None = None) -> ArchivedRecord:
    member, about = crawl.archive.read_described(place)
    return ArchivedRecord(about, member, place, row)


def _parts(crawl: ExportedCrawl, told: set[tuple[int, int]]) -> Iterator[ArchivedRecord]:
    """What pages are shown with, but for what was told already."""
    for part in crawl.survey.newest_parts():
        place = part.archived
        while place is not None and place[:2] not in told:
            told.add(place[:2])
            record = _record(crawl, place)
            yield record
            place = _revisited(crawl, record.about)


def _revisited(crawl: ExportedCrawl, about: Described) -> Position | None:
    """Where the part stands that a revisit speaks of."""
    if about.refers_to is None:
        return None
    url, date = about.refers_to
    for part in crawl.survey.archived_parts(url):
        assert part.archived is not None
        if crawl.archive.read_described(part.archived)[1].date == date:
            return part.archived
    return None


def archived_mask(crawl: ExportedCrawl) -> Mask:
    """The pages that are wanted, and the redirects to them."""
    pages = crawl.pages & crawl.is_archived
    if not pages.any():
        raise InputError(f"{crawl.path}: the crawl kept no archive, so there are no records to export")
    leads_there = (crawl.names >= 0) & crawl.pages[crawl.names]
    return pages | (crawl.is_redirect & crawl.is_archived & leads_there)


def cdxj_line(record: ArchivedRecord, file_name: str, offset: int, keep_slash: bool) -> bytes:
    """Where a record is to be found, as a line of CDXJ."""
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
    if not about.status:  # nobody was asked for it
        del block["status"]
    time = datetime.fromtimestamp(about.time, UTC).strftime("%Y%m%d%H%M%S")
    return f"{searchable_url(about.url, keep_slash)} {time} {json.dumps(block)}\n".encode()


def searchable_url(url: str, keep_slash: bool) -> str:
    """The URL as archives sort and look it up (SURT): in lower case, the host turned round, parameters sorted.

    Readers differ in whether a slash at the end of a path is a part of it. What was made of a page, such as `urn:view:`
    with its URL, stands under that name: as it is for those who keep the slash, and never turned round.

    >>> searchable_url("https://www.Example.org:8080/A/?b=2&a=1", keep_slash=False)
    'org,example:8080)/a?a=1&b=2'
    """
    if url.startswith(_URN):
        return url if keep_slash else _searchable_urn(url)
    host, _, rest = url.partition("#")[0].partition("://")[2].lower().partition("/")
    path, _, query = rest.partition("?")
    name, _, port = host.partition(":") if not host.startswith("[") else (host, "", "")
    name = _WWW.sub("", name, count=1) if _WWW.match(name) else name
    turned = ",".join(reversed(name.split(".")))
    if not keep_slash:
        path = path.removesuffix("/")
    parameters = _sorted(query)
    place = f"{turned}:{port}" if port else turned
    return f"{place})/{path}" + (f"?{parameters}" if parameters else "")


def _searchable_urn(urn: str) -> str:
    path, _, query = urn.lower().partition("#")[0].partition("?")
    return path.removesuffix("/") + (f"?{_sorted(query)}" if query else "")


def _sorted(query: str) -> str:
    return "&".join("=".join(pair) for pair in sorted(part.split("=", 1) for part in query.split("&")))
