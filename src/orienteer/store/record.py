"""Archived responses as WARC records: writing and reading.

A record holds what was received, with three changes that readers of WARC expect:

    the body is stored without its chunks, so `Transfer-Encoding` becomes `X-Crawler-Transfer-Encoding`
    the status line of HTTP/2 becomes that of HTTP/1.1; `WARC-Protocol` names the original protocol
    header lines end in CRLF

The body keeps its content coding. Every record is a gzip member of its own, so that it can be read alone. An unchanged
page that is fetched again becomes a `revisit` record, which points to the record with the body. ISA-L compresses the
records, about eight times as fast as zlib and a tenth larger.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Mapping
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import uuid4

from isal import isal_zlib

from orienteer import __version__
from orienteer.responses.body import BodyError, unpacked
from orienteer.responses.headers import Headers
from orienteer.store.archive_members import unpacked_member
from orienteer.warc.records import Record, record_time, whole_record

DOM, VIEW = "urn:dom:", "urn:view:"  # prefixes of a page URL: its rendered document, its screenshot
PAYLOAD_DIGEST = "WARC-Payload-Digest"
DURATION = "Orienteer-Duration"  # a header of records: seconds from the request to the end of the response

_NO_HEADERS: Mapping[str, str] = {}
_GZIP = 31  # wbits of zlib: gzip header, largest window
_COMPRESSION_LEVEL = 2
_STATUS = re.compile(rb"\S+[ \t]+(\d{3})(?!\d)")
_STANDARD = "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
_SAME_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"

# Two letters of base 32 for every ten bits.
_BASE_32 = [a + b for a in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" for b in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"]

_SECONDS = re.compile(r"\d{1,6}\.\d{4}")
_NEWER_HTTP = re.compile(rb"\AHTTP/[23](?:\.\d)?(?=\s)")
_CONTENT_TYPE = re.compile(rb"^Content-Type[ \t]*:([^\r\n]*)", re.IGNORECASE | re.MULTILINE)
_TRANSFER_ENCODING = re.compile(rb"^Transfer-Encoding(?=[ \t]*:)", re.IGNORECASE | re.MULTILINE)


class ArchivedResponse(NamedTuple):
    """A response to be archived; `time` is Unix time in seconds.

    `raw_headers` are the status line and the header lines, `body` is as received without its chunks. `truncated` is the
    reason why the body is incomplete, a value of the standard: "length", "time", "disconnect" or "unspecified".
    """

    url: str
    time: float
    raw_headers: bytes
    body: bytes
    address: str = ""
    protocol: str = ""
    truncated: str | None = None
    body_sha1: bytes | None = None  # if already computed
    duration_s: float = 0.0  # from the request to the end of the response; 0: unknown

    @property
    def payload_sha1(self) -> bytes:
        return self.body_sha1 or hashlib.sha1(self.body).digest()


class ArchivedPage(NamedTuple):
    """A response as read back. The body is still content-coded.

    `raw_headers` are the status line and the header lines, with the empty line at the end. `payload_digest` is as
    stated in the record, such as `sha1:` with a base 32 digest; "" if missing. `duration_s` is None if it was not
    recorded.
    """

    url: str
    time: float
    status: int
    headers: Headers
    body: bytes
    payload_digest: str = ""
    duration_s: float | None = None
    raw_headers: bytes = b""

    def content(self, max_bytes: int) -> bytes:
        """Return the decoded body; empty if it cannot be decoded, or is larger than this."""
        try:
            return unpacked(self.body, self.headers.get_all("content-encoding"), max_bytes)
        except BodyError:
            return b""


class EarlierRecord(NamedTuple):
    """The earlier record of an unchanged page: its URL and time, and the SHA-1 of the stored body if that is known."""

    url: str
    time: float
    payload_sha1: bytes | None = None


def response_record(response: ArchivedResponse, more: Mapping[str, str] = _NO_HEADERS) -> bytes:
    """Return the record as a gzip member; `more` are additional headers of the record."""
    headers = _http_headers(response, response.payload_sha1, more)
    if response.truncated:
        headers["WARC-Truncated"] = response.truncated
    return _member("response", headers, _head(response.raw_headers), response.body)


def revisit_record(
    response: ArchivedResponse, earlier: EarlierRecord, not_modified: bool, more: Mapping[str, str] = _NO_HEADERS
) -> bytes:
    """Return a revisit record, a gzip member, of a page that is unchanged since the `earlier` one: headers, no body.

    With `not_modified` the server answered 304. Otherwise it sent the same payload again: the digests of the payloads,
    as content-coded, must be equal.
    """
    payload_sha1 = earlier.payload_sha1 if not_modified else response.payload_sha1
    if earlier.payload_sha1 not in (None, payload_sha1):
        raise ValueError(f"{response.url}: its payload is not that of {_date(earlier.time)}")
    headers = _http_headers(response, payload_sha1, more)
    headers["WARC-Profile"] = _NOT_MODIFIED if not_modified else _SAME_PAYLOAD
    headers["WARC-Refers-To-Target-URI"] = earlier.url
    headers["WARC-Refers-To-Date"] = _date(earlier.time)
    if not not_modified:
        headers["WARC-Truncated"] = "length"  # required by the standard for an omitted payload
    return _member("revisit", headers, _head(response.raw_headers))


def resource_record(
    uri: str, time: float, content_type: str, body: bytes, refers_to: str = "", more: Mapping[str, str] = _NO_HEADERS
) -> bytes:
    """Return a record, a gzip member, of a document made from a page, such as `urn:dom:` with its URL.

    `refers_to` is the URL of the page.
    """
    headers = {
        "WARC-Date": _date(time),
        "WARC-Target-URI": uri,
        "Content-Type": content_type,
        PAYLOAD_DIGEST: stated_digest(hashlib.sha1(body).digest()),
    }
    if refers_to:
        headers |= {"WARC-Refers-To-Target-URI": refers_to, "WARC-Refers-To-Date": headers["WARC-Date"]}
    return _member("resource", {**headers, **more}, body)


class Resource(NamedTuple):
    """A resource record as read back."""

    uri: str
    time: float
    content_type: str
    body: bytes


def resource_of(member: bytes) -> Resource:
    """Parse a gzip member made by `resource_record`; ValueError for any other."""
    record = _record_in(member, ("resource",), "no resource")
    headers = record.headers
    return Resource(headers["warc-target-uri"], _time_in(record), headers.get("content-type", ""), record.block)


class RecordDescription(NamedTuple):
    """The facts about a record for an index. `kind` is "response", "revisit" or "resource".

    `status` is 0 without a response. `refers_to` are URL and date of the record with the payload of a revisit.
    `is_asset`: it is an asset, and no page.
    """

    kind: str
    url: str
    date: str
    time: float
    status: int
    content_type: str
    payload_digest: str
    refers_to: tuple[str, str] | None = None
    is_asset: bool = False


def describe_record(member: bytes) -> RecordDescription:
    """Describe a record written by this module; ValueError for any other."""
    record = _record_in(member, ("response", "revisit", "resource"), "neither a response nor a revisit nor a resource")
    headers, status, earlier = record.headers, 0, None
    content_type = headers.get("content-type", "")
    if record.kind != "resource":
        head = record.block.partition(b"\r\n\r\n")[0]
        status, stated = _status_in(head), _CONTENT_TYPE.search(head)
        content_type = "" if stated is None else stated[1].decode("latin-1").strip()
    if record.kind == "revisit":
        earlier = headers.get("warc-refers-to-target-uri", ""), headers.get("warc-refers-to-date", "")
    return RecordDescription(
        record.kind, headers["warc-target-uri"], headers.get("warc-date", ""), _time_in(record), status, content_type,
        headers.get(PAYLOAD_DIGEST.lower(), ""), earlier, record.is_asset,
    )  # fmt: skip


def warcinfo_record(file_name: str) -> bytes:
    """Return the first record of every file, a gzip member: the software and the version of the standard."""
    headers = {
        "WARC-Date": _date(datetime.now(UTC).timestamp()),
        "WARC-Filename": file_name,
        "Content-Type": "application/warc-fields",
    }
    fields = {"software": f"Orienteer/{__version__}", "format": "WARC File Format 1.1", "conformsTo": _STANDARD}
    return _member("warcinfo", headers, "".join(f"{name}: {value}\r\n" for name, value in fields.items()).encode())


def page_of(member: bytes) -> ArchivedPage:
    """Parse a gzip member made by `response_record`; ValueError for any other."""
    return _page_in(_record_in(member, ("response",), "no response"))


def page_or_revisit_of(member: bytes) -> tuple[ArchivedPage, bool]:
    """Parse a response or a revisit, which has no body; and return whether it is a revisit."""
    record = _record_in(member, ("response", "revisit"), "no response")
    return _page_in(record), record.kind == "revisit"


def _page_in(record: Record) -> ArchivedPage:
    head, end, body = record.block.partition(b"\r\n\r\n")
    return ArchivedPage(
        record.headers["warc-target-uri"],
        _time_in(record),
        _status_in(head),
        Headers.from_lines(head.split(b"\r\n")[1:]),
        body,
        record.headers.get(PAYLOAD_DIGEST.lower(), ""),
        _seconds(record.headers.get(DURATION.lower(), "")),
        head + end,
    )


def _status_in(head: bytes) -> int:
    """Return the HTTP status; 0 if it is malformed."""
    status = _STATUS.match(head)
    return 0 if status is None else int(status[1])


def _seconds(text: str) -> float | None:
    """Return the seconds stated in a header; None if it is malformed."""
    return float(text) if _SECONDS.fullmatch(text) else None


def _record_in(member: bytes, kinds: Container[str], otherwise: str) -> Record:
    """Parse a gzip member with a record of one of these kinds; ValueError for any other."""
    record = whole_record(unpacked_member(member))
    if record.kind not in kinds or "warc-target-uri" not in record.headers:
        raise ValueError(otherwise)
    return record


def _time_in(record: Record) -> float:
    time = record_time(record.headers.get("warc-date", ""))
    if time is None:
        raise ValueError("a record without a date")
    return time


def stated_digest(sha1: bytes) -> str:
    """Format a SHA-1 for a record: `sha1:` and base 32."""
    return f"sha1:{_base_32(sha1)}"


def _http_headers(response: ArchivedResponse, payload_sha1: bytes | None, more: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that responses and revisits have in common."""
    headers = {
        "WARC-Date": _date(response.time),
        "WARC-Target-URI": response.url,
        "Content-Type": "application/http; msgtype=response",
    }
    if payload_sha1 is not None:
        headers[PAYLOAD_DIGEST] = stated_digest(payload_sha1)
    if response.address:
        headers["WARC-IP-Address"] = response.address
    if response.protocol:
        headers["WARC-Protocol"] = response.protocol
    if response.duration_s > 0:
        headers[DURATION] = f"{response.duration_s:.4f}"
    return {**headers, **more}


def _date(time: float) -> str:
    """Format a time for WARC. A revisit refers to its page by this text, so equal times must give equal texts."""
    return datetime.fromtimestamp(time, UTC).isoformat().replace("+00:00", "Z")


def _head(raw_headers: bytes) -> bytes:
    """Return the status line and the headers for the record, with the blank line at the end."""
    is_plain = raw_headers.endswith(b"\r\n\r\n") and raw_headers.count(b"\n") == raw_headers.count(b"\r\n")
    if is_plain and raw_headers.startswith(b"HTTP/1") and b"transfer-encoding" not in raw_headers.lower():
        return raw_headers
    lines = [line for line in (line.rstrip(b"\r") for line in raw_headers.split(b"\n")) if line]
    if not lines:
        raise ValueError("a response begins with a status line")
    head = _NEWER_HTTP.sub(b"HTTP/1.1", b"\r\n".join((*lines, b"", b"")))
    return _TRANSFER_ENCODING.sub(b"X-Crawler-Transfer-Encoding", head)


def _base_32(sha1: bytes) -> str:
    """Return the same as base64.b32encode, in a fifteenth of the time."""
    number = int.from_bytes(sha1)
    return "".join([_BASE_32[number >> shift & 1023] for shift in range(150, -1, -10)])


def _member(kind: str, headers: Mapping[str, str], *block: bytes) -> bytes:
    """Return a record as a gzip member; the pieces of its block are written one after the other.

    A header with a line break could pass for several; its line breaks become spaces.
    """
    lines = [
        "WARC/1.1",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: <{uuid4().urn}>",
        *(f"{name}: {value}" for name, value in headers.items()),
        f"Content-Length: {sum(map(len, block))}",
    ]
    head = "\r\n".join(lines)
    if head.count("\r") != len(lines) - 1 or head.count("\n") != len(lines) - 1:
        head = "\r\n".join(" ".join(line.splitlines()) for line in lines)
    record = b"".join((head.encode(), b"\r\n\r\n", *block, b"\r\n\r\n"))
    return isal_zlib.compress(record, _COMPRESSION_LEVEL, _GZIP)
