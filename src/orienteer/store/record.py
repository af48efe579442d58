"""One archived response as a WARC record, and back.

What stands in a record is what came over the wire, with three changes that the readers of WARC expect:

    the body is stored without its chunks, so `Transfer-Encoding` becomes `X-Crawler-Transfer-Encoding`
    the status line of HTTP/2 becomes that of HTTP/1.1; `WARC-Protocol` says what was spoken
    header lines end in CRLF, whatever they ended in

The body keeps its content coding. Every record is a gzip member of its own, so one page is read without the others.
A page that was asked for again and is as it was becomes a `revisit`, which points to the record that holds it.
fastwarc writes the framing; ISA-L compresses it, about eight times as fast as zlib and a tenth larger.
"""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from isal import isal_zlib

from orienteer import __version__

with warnings.catch_warnings():
    # fastwarc 1.1 trips over its own deprecated classes while it is imported.
    warnings.simplefilter("ignore", DeprecationWarning)
    from fastwarc.warc import WarcRecord, WarcRecordType

DURATION = "Orienteer-Duration"  # a header of records: the seconds that the answer took

_NO_MORE: Mapping[str, str] = {}
_GZIP = 31  # zlib's number for: a gzip header, and the largest window
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

    `raw_headers` are the status line and the header lines, `body` is as received but for its chunks. `truncated` says
    why the body is not whole, in the words of the standard: "length", "time", "disconnect" or "unspecified".
    """

    url: str
    time: float
    raw_headers: bytes
    body: bytes
    address: str = ""
    protocol: str = ""
    truncated: str | None = None
    body_sha1: bytes | None = None  # if it is known already
    duration_s: float = 0.0  # from asking to the end of the answer; 0: not known

    @property
    def payload_sha1(self) -> bytes:
        return self.body_sha1 or hashlib.sha1(self.body).digest()


class ArchivedPage(NamedTuple):
    """A response as read back. The body is still content-coded; header values are Latin-1, which loses no byte.

    `payload_digest` is as the record states it, such as `sha1:` with letters of base 32; "" where it does not.
    `duration_s` is how long the answer took; None where nobody noted that.
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
        """The status line and the header lines, with the empty line behind them."""
        lines = [f"HTTP/1.1 {self.status} -", *(f"{name}: {value}" for name, value in self.headers), "", ""]
        return "\r\n".join(lines).encode("latin-1", "replace")


class Revisited(NamedTuple):
    """The record that holds a page which was found unchanged: the URL and the time it was archived with.

    `payload_sha1` is of its body as stored, if that is known.
    """

    url: str
    time: float
    payload_sha1: bytes | None = None


def response_record(response: ArchivedResponse, more: Mapping[str, str] = _NO_MORE) -> bytes:
    """The record as a gzip member; `more` are headers of the record."""
    record = _http_record(WarcRecordType.response, response, response.payload_sha1, more)
    if response.truncated:
        record.headers["WARC-Truncated"] = response.truncated
    return _member(record, _head(response.raw_headers) + response.body)


def revisit_record(
    response: ArchivedResponse, earlier: Revisited, not_modified: bool, more: Mapping[str, str] = _NO_MORE
) -> bytes:
    """The record, a gzip member, of a page that is still what it was in the `earlier` one; only its headers are kept.

    With `not_modified` the server said so (304). Otherwise the same payload came again: the digests must be equal, in
    the content coding in which each of them came.
    """
    payload_sha1 = earlier.payload_sha1 if not_modified else response.payload_sha1
    if earlier.payload_sha1 not in (None, payload_sha1):
        raise ValueError(f"{response.url}: its payload is not that of {_date(earlier.time)}")
    record = _http_record(WarcRecordType.revisit, response, payload_sha1, more)
    headers = record.headers
    headers["WARC-Profile"] = _NOT_MODIFIED if not_modified else _SAME_PAYLOAD
    headers["WARC-Refers-To-Target-URI"] = earlier.url
    headers["WARC-Refers-To-Date"] = _date(earlier.time)
    if not not_modified:
        headers["WARC-Truncated"] = "length"  # so the standard calls a payload that is left out
    return _member(record, _head(response.raw_headers))


def resource_record(
    uri: str, time: float, content_type: str, body: bytes, refers_to: str = "", more: Mapping[str, str] = _NO_MORE
) -> bytes:
    """The record, a gzip member, of something that we made of a page, such as `urn:dom:` with its URL.

    `refers_to` is the URL of the page.
    """
    record = WarcRecord()
    record.init_headers(WarcRecordType.resource)
    headers = record.headers
    headers["WARC-Date"] = _date(time)
    headers["WARC-Target-URI"] = uri
    headers["Content-Type"] = content_type
    headers["WARC-Payload-Digest"] = f"sha1:{_base_32(hashlib.sha1(body).digest())}"
    if refers_to:
        headers["WARC-Refers-To-Target-URI"] = refers_to
        headers["WARC-Refers-To-Date"] = _date(time)
    for name, value in more.items():
        headers[name] = value
    return _member(record, body)


class Resource(NamedTuple):
    """A resource record as read back."""

    uri: str
    time: float
    content_type: str
    body: bytes


def resource_of(member: bytes) -> Resource:
    """The resource in a gzip member; ValueError where it is not one that `resource_record` made."""
    record = _record_in(member)
    uri = record.headers.get("WARC-Target-URI")
    if record.record_type != WarcRecordType.resource or uri is None:
        raise ValueError("no resource")
    time = record.record_date.timestamp()
    return Resource(uri, time, record.headers.get("Content-Type") or "", record.reader.read())


class Described(NamedTuple):
    """What an index says of a record. `kind` is "response", "revisit" or "resource".

    `status` is 0 where no server answered. `refers_to` are the URL and the date of the record that holds what a
    revisit speaks of.
    """

    kind: str
    url: str
    date: str
    time: float
    status: int
    content_type: str
    payload_digest: str
    refers_to: tuple[str, str] | None = None


def description_of(member: bytes) -> Described:
    """What stands in a gzip member that was made here; ValueError where it was not."""
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
    digest, time = headers.get("WARC-Payload-Digest") or "", record.record_date.timestamp()
    return Described(headers.get("WARC-Type") or "", url, date, time, status, content_type, digest, earlier)


def warcinfo_record(file_name: str) -> bytes:
    """The record that every file begins with: who wrote it, and to which standard. A gzip member."""
    record = WarcRecord()
    record.init_headers(WarcRecordType.warcinfo)
    record.headers["WARC-Filename"] = file_name
    record.headers["Content-Type"] = "application/warc-fields"
    fields = {"software": f"Orienteer/{__version__}", "format": "WARC File Format 1.1", "conformsTo": _STANDARD}
    return _member(record, "".join(f"{name}: {value}\r\n" for name, value in fields.items()).encode())


def page_of(member: bytes) -> ArchivedPage:
    """The page in a gzip member; ValueError where it is not one that `response_record` made."""
    return _page_in(_record_in(member), (WarcRecordType.response,))


def page_or_revisit_of(member: bytes) -> tuple[ArchivedPage, bool]:
    """The same, also of a revisit, which has no body; and whether it is one."""
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
    digest = record.headers.get("WARC-Payload-Digest") or ""
    time, duration_s = record.record_date.timestamp(), _seconds(record.headers.get(DURATION) or "")
    return ArchivedPage(url, time, headers.status_code or 0, pairs, record.reader.read(), digest, duration_s)


def _seconds(text: str) -> float | None:
    """The seconds that a header states; None where it states none."""
    return float(text) if _SECONDS.fullmatch(text) else None


def _record_in(member: bytes) -> WarcRecord:
    try:
        return WarcRecord.from_bytes(isal_zlib.decompress(member, _GZIP))
    except (isal_zlib.error, OSError) as error:  # type: ignore[misc]  # isal says `error` were an instance
        raise ValueError(str(error)) from None


def _http_record(
    kind: WarcRecordType, response: ArchivedResponse, payload_sha1: bytes | None, more: Mapping[str, str]
) -> WarcRecord:
    """A record without its block: what is said of every response, whether it is kept whole or not."""
    record = WarcRecord()
    record.init_headers(kind)
    headers = record.headers
    headers["WARC-Date"] = _date(response.time)
    headers["WARC-Target-URI"] = response.url
    headers["Content-Type"] = "application/http; msgtype=response"
    if payload_sha1 is not None:
        headers["WARC-Payload-Digest"] = f"sha1:{_base_32(payload_sha1)}"
    if response.address:
        headers["WARC-IP-Address"] = response.address
    if response.protocol:
        headers["WARC-Protocol"] = response.protocol
    if response.duration_s > 0:
        headers[DURATION] = f"{response.duration_s:.4f}"
    for name, value in more.items():
        headers[name] = value
    return record


def _date(time: float) -> str:
    """As WARC writes it. A revisit finds its page by this text, so it is the same for the same time."""
    return datetime.fromtimestamp(time, UTC).isoformat().replace("+00:00", "Z")


def _head(raw_headers: bytes) -> bytes:
    """The status line and headers as they stand in the record, with the blank line behind them."""
    is_plain = raw_headers.endswith(b"\r\n\r\n") and raw_headers.count(b"\n") == raw_headers.count(b"\r\n")
    if is_plain and raw_headers.startswith(b"HTTP/1") and b"transfer-encoding" not in raw_headers.lower():
        return raw_headers
    lines = [line for line in (line.rstrip(b"\r") for line in raw_headers.split(b"\n")) if line]
    if not lines:
        raise ValueError("a response begins with a status line")
    head = _NEWER_HTTP.sub(b"HTTP/1.1", b"\r\n".join((*lines, b"", b"")))
    return _TRANSFER_ENCODING.sub(b"X-Crawler-Transfer-Encoding", head)


def _base_32(sha1: bytes) -> str:
    """As base64.b32encode has it, which takes fifteen times as long."""
    number = int.from_bytes(sha1)
    return "".join([_BASE_32[number >> shift & 1023] for shift in range(150, -1, -10)])


def _member(record: WarcRecord, block: bytes) -> bytes:
    record.set_bytes_content(block)
    content = io.BytesIO()
    record.write(content, chunk_size=1 << 14)
    return isal_zlib.compress(content.getvalue(), _COMPRESSION_LEVEL, _GZIP)
