"""Archived responses as WARC records: writing and reading.

A record holds what was received, with three changes that readers of WARC expect:

    the body is stored without its chunks, so `Transfer-Encoding` becomes `X-Crawler-Transfer-Encoding`
    the status line of HTTP/2 becomes that of HTTP/1.1; `WARC-Protocol` names the original protocol
    header lines end in CRLF

The body keeps its content coding. Every record is a gzip member of its own, so that it can be read alone. An unchanged
page that is fetched again becomes a `revisit` record, which points to the record with the body. ISA-L compresses the
records, about eight times as fast as zlib and a tenth larger; fastwarc parses them.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import uuid4

from isal import isal_zlib

from orienteer import __version__
from orienteer.warc.records import ASSET_HEADER

with warnings.catch_warnings():
    # fastwarc 1.1 uses its own deprecated classes while it is imported.
    warnings.simplefilter("ignore", DeprecationWarning)
    from fastwarc.warc import WarcRecord, WarcRecordType

DOM, VIEW = "urn:dom:", "urn:view:"  # prefixes of a page URL: its rendered document, its screenshot
PAYLOAD_DIGEST = "WARC-Payload-Digest"
DURATION = "Orienteer-Duration"  # a header of records: seconds from the request to the end of the response

_NO_HEADERS: Mapping[str, str] = {}
_GZIP = 31  # wbits of zlib: gzip header, largest window
_COMPRESSION_LEVEL = 2
_MAX_HEAD_BYTES = 1 << 20
_STANDARD = "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
_SAME_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"

# Two letters of base 32 for every ten bits.
_BASE_32 = [a + b for a in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" for b in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"]

_SECONDS = re.compile(r"\d{1,6}\.\d{4}")
_NEWER_HTTP = re.compile(rb"\AHTTP/[23](?:\.\d)?(?=\s)")
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
    """A response as read back. The body is still content-coded; header values are decoded as Latin-1, without loss.

    `payload_digest` is as stated in the record, such as `sha1:` with a base 32 digest; "" if missing. `duration_s` is
    None if it was not recorded.
    """

    url: str
    time: float
    status: int
    headers: list[tuple[str, str]]
    body: bytes
    payload_digest: str = ""
    duration_s: float | None = None

    @property
    def raw_headers(self) -> bytes:
        """The status line and the header lines, with the empty line at the end."""
        lines = [f"HTTP/1.1 {self.status} -", *(f"{name}: {value}" for name, value in self.headers), "", ""]
        return "\r\n".join(lines).encode("latin-1", "replace")


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
    record = _record_in(member)
    uri = record.headers.get("WARC-Target-URI")
    if record.record_type != WarcRecordType.resource or uri is None:
        raise ValueError("no resource")
    time = record.record_date.timestamp()
    return Resource(uri, time, record.headers.get("Content-Type") or "", record.reader.read())


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
    record = _record_in(member)
    headers, kind = record.headers, record.record_type
    url, content_type, status = headers.get("WARC-Target-URI"), headers.get("Content-Type") or "", 0
    if url is None or kind not in (WarcRecordType.response, WarcRecordType.revisit, WarcRecordType.resource):
        raise ValueError("neither a response nor a revisit nor a resource")
    if kind != WarcRecordType.resource:
        record.parse_http("none", max_header_len=_MAX_HEAD_BYTES)
        status, content_type = record.http_headers.status_code or 0, record.http_headers.get("Content-Type") or ""
    date, earlier = headers.get("WARC-Date") or "", None
    if kind == WarcRecordType.revisit:
        earlier = headers.get("WARC-Refers-To-Target-URI") or "", headers.get("WARC-Refers-To-Date") or ""
    digest, time = headers.get(PAYLOAD_DIGEST) or "", record.record_date.timestamp()
    kind_name, is_asset = headers.get("WARC-Type") or "", headers.get(ASSET_HEADER) is not None
    return RecordDescription(kind_name, url, date, time, status, content_type, digest, earlier, is_asset)


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
    return _page_in(_record_in(member), (WarcRecordType.response,))


def page_or_revisit_of(member: bytes) -> tuple[ArchivedPage, bool]:
    """Parse a response or a revisit, which has no body; and return whether it is a revisit."""
    record = _record_in(member)
    page = _page_in(record, (WarcRecordType.response, WarcRecordType.revisit))
    return page, record.record_type == WarcRecordType.revisit


def _page_in(record: WarcRecord, kinds: tuple[WarcRecordType, ...]) -> ArchivedPage:
    url = record.headers.get("WARC-Target-URI")
    if record.record_type not in kinds or url is None:
        raise ValueError("no response")
    record.parse_http("none", max_header_len=_MAX_HEAD_BYTES)
    headers = record.http_headers
    pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.items_bytes()]
    digest = record.headers.get(PAYLOAD_DIGEST) or ""
    time, duration_s = record.record_date.timestamp(), _seconds(record.headers.get(DURATION) or "")
    return ArchivedPage(url, time, headers.status_code or 0, pairs, record.reader.read(), digest, duration_s)


def _seconds(text: str) -> float | None:
    """Return the seconds stated in a header; None if it is malformed."""
    return float(text) if _SECONDS.fullmatch(text) else None


def _record_in(member: bytes) -> WarcRecord:
    decoder = isal_zlib.decompressobj(_GZIP)
    try:
        content = decoder.decompress(member)
        if not decoder.eof or decoder.unused_data:
            raise ValueError("it is not exactly one gzip member")
        return WarcRecord.from_bytes(content)
    except (isal_zlib.error, OSError) as error:  # type: ignore[misc]  # isal says `error` were an instance
        raise ValueError(str(error)) from None


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
