"""The responses in an archive: parsed, normalised for our own archive, and in the form of fetched responses.

Some archives keep the chunks of a body, others only the Transfer-Encoding header; some keep the content coding, others
only its header. The result has no chunks, and a coding only if it is both stated and present. Of a truncated body the
received part is used.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import NamedTuple

from orienteer.errors import DamagedArchiveWarning, GraphFileError
from orienteer.pages.outcome import Outcome
from orienteer.progress import Progress
from orienteer.responses.body import BodyError, BodyTooLargeError, TruncatedBodyError, unpacked
from orienteer.responses.headers import Headers
from orienteer.responses.reading import is_html
from orienteer.responses.response import PageRequest, Response, media_type, outcome_of
from orienteer.warc.files import ArchiveFile
from orienteer.warc.records import MAX_BLOCK_BYTES, Record, RecordCounts, blocks, records
from orienteer.wording import counted

MAX_PAGE_BYTES = MAX_BLOCK_BYTES  # unpacked
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


class RecordedResponse(NamedTuple):
    """An archived response; `kind` is that of the record: "response", or "revisit" for an unchanged page."""

    kind: str
    response: Response


def recorded_responses(
    files: Iterable[ArchiveFile], kinds: Container[str], counts: RecordCounts, progress: Progress
) -> Iterator[RecordedResponse]:
    """Yield the responses in records of these kinds, file by file; `counts` counts records and gaps.

    Assets in our own archives are left out.
    """
    for file in files:
        with file.opened() as stream:
            packed = blocks(stream, file.name, _progress_of(progress, file.size_bytes))
            for record in records(packed, kinds, counts, file.name):
                response = None if record.is_asset else response_in(record)
                if response is not None:
                    yield RecordedResponse(record.kind, response)


def html_pages(files: Iterable[ArchiveFile], counts: RecordCounts, progress: Progress) -> Iterator[Response]:
    """Yield the HTML pages of an archive, record by record: a URL with two records occurs twice."""
    for _, response in recorded_responses(files, ("response",), counts, progress):
        if response.outcome is Outcome.OK:
            yield response


def response_in(record: Record) -> Response | None:
    """Return the response in a record; None if there is none, or its URL is unusable. Only HTML has content."""
    url = record.url
    message = None if url is None else response_of(record.block)
    if url is None or message is None:
        return None
    outcome, content = outcome_of(message.status, message.headers, url), b""
    if outcome is Outcome.OK and not is_html(media_type(message.headers)):
        outcome = Outcome.UNWANTED_TYPE
    elif outcome is Outcome.OK:
        try:
            content = content_of(message, MAX_PAGE_BYTES)
        except BodyTooLargeError:
            outcome = Outcome.TOO_LARGE
    return Response(PageRequest(url, 0), outcome, message.status, headers=message.headers, content=content)


def warn_of_damage(counts: RecordCounts, files: Sequence[ArchiveFile]) -> None:
    """Warn once if parts of these files were skipped; GraphFileError if they have no readable record."""
    if not counts.n_records:
        paths = {file.path for file in files}
        name = paths.pop() if len(paths) == 1 else files[0].path.parent
        raise GraphFileError(f"{name}: no WARC records in it{' that can be read' if counts.n_gaps else ''}")
    if counts.n_gaps:
        were_skipped = f"{counted(counts.n_gaps, 'gap')} {'was' if counts.n_gaps == 1 else 'were'} skipped"
        warnings.warn(f"{counts.first_gap} the archive is damaged; {were_skipped}", DamagedArchiveWarning, stacklevel=3)


def _progress_of(progress: Progress, size: int) -> Callable[[int], None]:
    return lambda n_bytes: progress("reading records", n_bytes, size)
