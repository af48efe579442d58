"""Responses of a fake web: plain HTTP responses, and the many ways to send them badly.

    FakeResponse("<p>hello")                                   a page
    FakeResponse(status=301, headers=(("Location", "/new"),))  a redirect
    FakeResponse("<p>hello", delay_s=2.0, bytes_per_s=100)     a page from a slow server
    FakeResponse("<p>hello", cut_after=3)                      the connection is closed in the middle of the body
    FakeResponse(raw=b"rubbish")                               exactly these bytes

No I/O here: this module encodes responses, server.py sends them.
"""

from __future__ import annotations

import gzip
import threading
from dataclasses import dataclass, field
from http import HTTPStatus

from orienteer.errors import InputError

MAX_ENDLESS_BYTES = 200 << 20
CHUNK_BYTES = 4096

_REASONS = {status.value: status.phrase for status in HTTPStatus}
_WITHOUT_BODY = frozenset((204, 304))

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class FakeResponse:
    """One response. By default it is sent at once, with a Content-Length, and the connection stays open."""

    body: bytes | str = b""
    status: int = 200
    headers: Headers = ()
    content_type: str | None = "text/html"
    chunked: bool = False
    gzip: bool = False  # compress the body, with a Content-Encoding
    delay_s: float = 0.0  # before the first byte
    held_until: threading.Event | None = None  # not sent before it is set
    bytes_per_s: float | None = None  # send the body (or `raw`) at this rate
    drips_head: bool = False  # the rate applies to status line and headers, too
    cut_after: int | None = None  # close the connection after this many bytes of the body (or of `raw`)
    reset: bool = False  # reset the connection after `cut_after` bytes, or without a response
    raw: bytes | None = None  # send exactly these bytes, then close the connection; overrides the rest
    endless: bytes = b""  # repeated after the body (or `raw`) until the client disconnects
    endless_limit: int = MAX_ENDLESS_BYTES
    hold: bool = False  # at the end, send no more, but keep the connection open
    close: bool = False  # close the connection after the response, with a header
    is_plain: bool = field(init=False, repr=False)  # sent at once and completely

    def __post_init__(self) -> None:
        if self.delay_s < 0:
            raise InputError(f"delay_s is {self.delay_s}; it must be 0 or more")
        if self.bytes_per_s is not None and self.bytes_per_s <= 0:
            raise InputError(f"bytes_per_s is {self.bytes_per_s}; it must be more than 0 (or use hold)")
        if self.cut_after is not None and self.cut_after < 0:
            raise InputError(f"cut_after is {self.cut_after}; it counts bytes")
        if not 0 <= self.endless_limit <= MAX_ENDLESS_BYTES:
            raise InputError(f"endless_limit is {self.endless_limit}; it must be from 0 to {MAX_ENDLESS_BYTES:,}")
        at_once = not self.delay_s and self.held_until is None and self.bytes_per_s is None
        object.__setattr__(self, "is_plain", at_once and not self.ends_connection)

    @property
    def ends_connection(self) -> bool:
        """Whether the connection cannot be reused: the response has no proper end, or closes it."""
        improper = self.raw is not None or self.cut_after is not None or self.endless != b""
        return improper or self.reset or self.hold or self.close

    def head(self, n_bytes: int) -> bytes:
        """Return status line and headers for a body of `n_bytes` on the wire."""
        lines = [f"HTTP/1.1 {self.status} {_REASONS.get(self.status, 'Strange')}"]
        if self.content_type is not None:
            lines.append(f"Content-Type: {self.content_type}")
        if self.gzip:
            lines.append("Content-Encoding: gzip")
        if self.chunked:
            lines.append("Transfer-Encoding: chunked")
        elif not self.endless and self.status not in _WITHOUT_BODY and self.status >= 200:
            lines.append(f"Content-Length: {n_bytes}")
        if self.close or (self.endless and not self.chunked):
            lines.append("Connection: close")
        lines += [f"{name}: {value}" for name, value in self.headers]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape")

    def payload(self) -> bytes:
        """Return the body as sent over the wire, without the `endless` repetitions."""
        body = self.body.encode() if isinstance(self.body, str) else self.body
        if self.status in _WITHOUT_BODY:
            return b""
        if self.gzip:
            body = gzip.compress(body, 6, mtime=0)
        if not self.chunked:
            return body
        chunks = [chunk(body[k : k + CHUNK_BYTES]) for k in range(0, len(body), CHUNK_BYTES)]
        return b"".join(chunks) + (b"" if self.endless else b"0\r\n\r\n")

    def encode(self, head_only: bool = False) -> tuple[bytes, bytes]:
        """Return head and body as sent over the wire; a raw response is all body."""
        if self.raw is not None:
            return b"", self.raw
        payload = self.payload()
        return self.head(len(payload)), b"" if head_only else payload


def chunk(data: bytes) -> bytes:
    """Encode `data` as one chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def redirect_to(location: str, status: int = 301) -> FakeResponse:
    return FakeResponse(b"", status, (("Location", location),))


NOT_FOUND = FakeResponse("<!DOCTYPE html><title>Not found</title><p>There is no such page.", 404)
