"""What a fake web answers: an HTTP response, and the many ways in which it can be sent badly.

    Answer("<p>hello")                                   a page
    Answer(status=301, headers=(("Location", "/new"),))  a redirect
    Answer("<p>hello", delay_s=2.0, bytes_per_s=100)     a page from a slow server
    Answer("<p>hello", cut_after=3)                      the connection is closed in the middle of the body
    Answer(raw=b"rubbish")                               these bytes and nothing else

Nothing here opens a socket: this module says which bytes an answer is, server.py how they go out.
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
class Answer:
    """One response. Without further orders it is sent at once, with a Content-Length, and the connection stays open."""

    body: bytes | str = b""
    status: int = 200
    headers: Headers = ()
    content_type: str | None = "text/html"
    chunked: bool = False
    gzip: bool = False  # compress the body, and say so
    delay_s: float = 0.0  # before the first byte
    held_until: threading.Event | None = None  # set: it may be sent
    bytes_per_s: float | None = None  # the body (or `raw`) drips
    drips_head: bool = False  # the status line and the headers drip too
    cut_after: int | None = None  # bytes of the body (or of `raw`); then the connection is closed
    reset: bool = False  # after `cut_after` bytes, or in place of an answer
    raw: bytes | None = None  # exactly these bytes, whatever else is said; then the connection is closed
    endless: bytes = b""  # sent after the body (or `raw`) again and again until the client leaves
    endless_limit: int = MAX_ENDLESS_BYTES
    hold: bool = False  # at the end say nothing more, but keep the connection open
    close: bool = False  # close the connection after the answer, and announce it
    is_plain: bool = field(init=False, repr=False)  # sent at once and whole

    def __post_init__(self) -> None:
        if self.delay_s < 0:
            raise InputError(f"delay_s is {self.delay_s}; an answer cannot come before its request")
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
        """The connection cannot be used after this answer, for it has no proper end, or is to be closed."""
        improper = self.raw is not None or self.cut_after is not None or self.endless != b""
        return improper or self.reset or self.hold or self.close

    def head(self, n_bytes: int) -> bytes:
        """Status line and headers for a body of so many bytes on the wire."""
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
        """The body as it goes over the wire, without what `endless` adds."""
        body = self.body.encode() if isinstance(self.body, str) else self.body
        if self.status in _WITHOUT_BODY:
            return b""
        if self.gzip:
            body = gzip.compress(body, 6, mtime=0)
        if not self.chunked:
            return body
        chunks = [chunk(body[k : k + CHUNK_BYTES]) for k in range(0, len(body), CHUNK_BYTES)]
        return b"".join(chunks) + (b"" if self.endless else b"0\r\n\r\n")

    def parts(self, head_only: bool = False) -> tuple[bytes, bytes]:
        """Head and body as they go over the wire; where the answer is raw, all is body."""
        if self.raw is not None:
            return b"", self.raw
        payload = self.payload()
        return self.head(len(payload)), b"" if head_only else payload


def chunk(data: bytes) -> bytes:
    """`data` as one chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def redirect_to(location: str, status: int = 301) -> Answer:
    return Answer(b"", status, (("Location", location),))


NOT_FOUND = Answer("<!DOCTYPE html><title>Not found</title><p>There is no such page.", 404)
