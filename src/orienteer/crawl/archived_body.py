"""The content of a page, as the archive of its crawl has it."""

from __future__ import annotations

from orienteer.fetch.body import BodyError, unpacked
from orienteer.fetch.headers import Headers
from orienteer.fetch.outcome import charset_in
from orienteer.store.archive import Archive, Position

_MAX_BYTES = 64 << 20  # more than any crawl keeps of a page


def archived_body(archive: Archive, place: Position) -> tuple[bytes, str | None]:
    """What came, unpacked, and the charset that the header states; nothing where it cannot be unpacked."""
    archived = archive.read(place)
    headers = Headers(archived.headers)
    try:
        body = unpacked(archived.body, headers.get_all("content-encoding"), _MAX_BYTES)
    except BodyError:
        body = b""
    return body, charset_in(headers)
