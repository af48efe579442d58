"""HTTP responses in records of archives: parsed, and normalised for our own archive.

Some archives keep the chunks of a body, others only the Transfer-Encoding header; some keep the content coding, others
only its header. The result has no chunks, and a coding only if it is both stated and present. Of a truncated body the
received part is used.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from orienteer.responses.body import BodyError, BodyTooLargeError, TruncatedBodyError, unpacked
from orienteer.responses.headers import Headers

_MAX_HEAD_BYTES = 1 << 19
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})(?!\d)")
_CHUNK = re.compile(rb"[ \t]*([0-9a-fA-F]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_CONTENT_ENCODING = re.compile(rb"^Content-Encoding(?=[ \t]*:)", re.IGNORECASE | re.MULTILINE)
_UNPRINTABLE = re.compile(r"[^\x20-\x7e]+")


class Message(NamedTuple):
    """A parsed response; `raw_headers` are the status line and the header lines, with the empty line at the end."""

    status: int
    headers: Headers
    raw_headers: bytes
    body: bytes


def response_of(block: bytes) -> Message | None:
    """Parse the response in the block of a record; None if there is none, or its headers are unterminated."""
    status = _STATUS.match(block)
    end = None if status is None else _HEAD_END.search(block, 0, _MAX_HEAD_BYTES)
    if status is None or end is None:
        return None
    raw, body = block[: end.end()], block[end.end() :]
    headers = Headers.from_lines(raw.splitlines()[1:])
    if "chunked" in ",".join(headers.get_all("transfer-encoding")).lower():
        body = without_chunks(body)
    return Message(int(status[1]), headers, raw, body)


def resource_of(block: bytes, content_type: str) -> Message:
    """Make a response for a file that was archived without one."""
    line = _UNPRINTABLE.sub("", content_type)
    raw = f"HTTP/1.1 200 OK\r\nContent-Type: {line}\r\n\r\n".encode()
    return Message(200, Headers([("Content-Type", line)]), raw, block)


def content_of(message: Message, max_bytes: int) -> bytes:
    """Decode the content coding of the body; unchanged if it does not have the stated coding.

    BodyTooLargeError if the decoded body exceeds `max_bytes`.
    """
    try:
        return unpacked(message.body, message.headers.get_all("content-encoding"), max_bytes)
    except BodyTooLargeError:
        raise
    except TruncatedBodyError as error:
        return error.partial
    except BodyError:
        return message.body


def truly_coded(message: Message, max_bytes: int) -> Message:
    """Return a message without a wrong Content-Encoding header; a truncated body is decoded."""
    codings = message.headers.get_all("content-encoding")
    if not codings:
        return message
    try:
        unpacked(message.body, codings, max_bytes)
    except BodyTooLargeError:
        return message
    except BodyError:
        raw = _CONTENT_ENCODING.sub(b"X-Crawler-Content-Encoding", message.raw_headers)
        headers = Headers.from_lines(raw.splitlines()[1:])
        return message._replace(raw_headers=raw, headers=headers, body=content_of(message, max_bytes))
    return message


def without_chunks(body: bytes) -> bytes:
    """Decode a chunked body as far as it is complete; unchanged if it is not chunked.

    >>> without_chunks(b"4\\r\\nWiki\\r\\n3;x=y\\r\\nped\\r\\n0\\r\\n\\r\\n"), without_chunks(b"<p>plain")
    (b'Wikiped', b'<p>plain')
    """
    chunks = []
    at = 0
    while (head := _CHUNK.match(body, at)) is not None:
        size = int(head[1], 16)
        if size == 0:
            break
        chunks.append(body[head.end() : head.end() + size])
        at = head.end() + size
        at += 2 if body.startswith(b"\r\n", at) else body.startswith(b"\n", at)
    return b"".join(chunks) if chunks or head is not None else body
