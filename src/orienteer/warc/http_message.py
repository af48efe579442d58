"""An HTTP response as an archive holds it: taken apart, and put as our own archive wants it.

Some archives keep the chunks in which a body came, others only the header that says there were some; some keep the
content coding, others only its header. What comes out has no chunks, and a coding only if it is stated and there. Of a
body that was cut off, what came of it counts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from orienteer.answers.body import BodyCutOffError, BodyError, BodyTooLargeError, unpacked
from orienteer.answers.headers import Headers

_MAX_HEAD_BYTES = 1 << 19
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})(?!\d)")
_CHUNK = re.compile(rb"[ \t]*([0-9a-fA-F]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_CONTENT_ENCODING = re.compile(rb"^Content-Encoding(?=[ \t]*:)", re.IGNORECASE | re.MULTILINE)
_UNPRINTABLE = re.compile(r"[^\x20-\x7e]+")


class Message(NamedTuple):
    """`raw_headers` are the status line and the header lines, with the empty line behind them."""

    status: int
    headers: Headers
    raw_headers: bytes
    body: bytes


def response_of(block: bytes) -> Message | None:
    """The response in the block of a record; None where there is none, or its headers have no end."""
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
    """A file that was archived without a response, as the response that would have brought it."""
    line = _UNPRINTABLE.sub("", content_type)
    raw = f"HTTP/1.1 200 OK\r\nContent-Type: {line}\r\n\r\n".encode()
    return Message(200, Headers([("Content-Type", line)]), raw, block)


def content_of(message: Message, max_bytes: int) -> bytes:
    """The body without its content coding; as it stands where it does not have the one that is stated.

    A body that is too large when unpacked is a BodyTooLargeError.
    """
    try:
        return unpacked(message.body, message.headers.get_all("content-encoding"), max_bytes)
    except BodyTooLargeError:
        raise
    except BodyCutOffError as error:
        return error.came
    except BodyError:
        return message.body


def truly_coded(message: Message, max_bytes: int) -> Message:
    """The same, without a Content-Encoding that the body does not have; unpacked, if it was cut off."""
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
    """The body without the chunks in which it came, as far as it came; as it is where it is in no chunks.

    >>> without_chunks(b"4\\r\\nWiki\\r\\n3;x=y\\r\\nped\\r\\n0\\r\\n\\r\\n"), without_chunks(b"<p>plain")
    (b'Wikiped', b'<p>plain')
    """
    parts = []
    at = 0
    while (head := _CHUNK.match(body, at)) is not None:
        size = int(head[1], 16)
        if size == 0:
            break
        parts.append(body[head.end() : head.end() + size])
        at = head.end() + size
        at += 2 if body.startswith(b"\r\n", at) else body.startswith(b"\n", at)
    return b"".join(parts) if parts or head is not None else body
