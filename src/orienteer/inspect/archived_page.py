"""A page as it stands in the archive of its crawl, read."""

from __future__ import annotations

from orienteer.answers.answer import charset_in
from orienteer.answers.body import BodyError, unpacked
from orienteer.answers.headers import Headers
from orienteer.answers.reading import read_page
from orienteer.extract.page import Page
from orienteer.store.archive import Archive, Position

_MAX_BYTES = 64 << 20  # more than any crawl keeps of a page


def archived_page(archive: Archive, place: Position, content_type: str, url: str) -> Page:
    """What a page says; nothing where its content cannot be unpacked."""
    archived = archive.read(place)
    headers = Headers(archived.headers)
    try:
        content = unpacked(archived.body, headers.get_all("content-encoding"), _MAX_BYTES)
    except BodyError:
        content = b""
    return read_page(content, url, content_type, charset_in(headers))
