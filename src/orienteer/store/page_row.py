"""The database row of a page that is done."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.store.archive import Position

NO_LINKS: NDArray[np.uint32] = np.empty(0, np.uint32)
_STORED_TYPE = np.dtype("<u4")


class PageRow(NamedTuple):
    """The outcome of a page; the fields are the columns of the table. `state` is a PageState.

    The archive_* are None for a page that is not in the archive. `size_bytes` and `digest` are of the decoded content.
    `relevance` is None without a topic.
    """

    id: int
    position: int
    state: int
    outcome: str = ""
    status: int = 0
    time: float = 0.0
    archive_file: int | None = None
    archive_offset: int | None = None
    archive_bytes: int | None = None
    digest: bytes | None = None
    size_bytes: int = 0
    content_type: str = ""
    language: str = ""
    title: str = ""
    noindex: bool = False
    depth: int = 0
    redirect_to: int | None = None
    duplicate_of: int | None = None
    near_duplicate_of: int | None = None
    etag: str = ""
    last_modified: str = ""
    relevance: float | None = None
    links: NDArray[np.uint32] = NO_LINKS
    outside: NDArray[np.uint32] = NO_LINKS

    @property
    def archived(self) -> Position | None:
        if self.archive_file is None or self.archive_offset is None or self.archive_bytes is None:
            return None
        return Position(self.archive_file, self.archive_offset, self.archive_bytes)

    @property
    def repeats(self) -> int | None:
        """The page of which this is a duplicate or near-duplicate."""
        return self.near_duplicate_of if self.duplicate_of is None else self.duplicate_of

    def stored(self, archived: Position | None = None) -> tuple[Any, ...]:
        """Return the values for SQLite; `archived` replaces the position in the archive."""
        values: list[Any] = list(self)
        if archived is not None:
            values[_ARCHIVED] = archived
        for index in _TEXTS:
            if not values[index].isascii():
                values[index] = _encodable(values[index])
        values[-2:] = blob_of(self.links), blob_of(self.outside)
        return tuple(values)

    @classmethod
    def of_stored(cls, values: tuple[Any, ...]) -> PageRow:
        """Make a row from values that are in the ranges of `schema`."""
        row = cls(*values)
        return row._replace(noindex=bool(row.noindex), links=page_ids([values[-2]]), outside=page_ids([values[-1]]))


COLUMNS = ", ".join(PageRow._fields)
_ARCHIVED = slice(PageRow._fields.index("archive_file"), PageRow._fields.index("archive_bytes") + 1)
_TEXTS = tuple(map(PageRow._fields.index, ("outcome", "content_type", "language", "title", "etag", "last_modified")))


def blob_of(pages: ArrayLike) -> bytes:
    """Encode page ids for the database: little-endian uint32."""
    ids = np.asarray(pages)
    return ids.tobytes() if ids.dtype == _STORED_TYPE else ids.astype(_STORED_TYPE).tobytes()


def page_ids(blobs: Iterable[bytes]) -> NDArray[np.uint32]:
    """Return the concatenated page ids of all blobs; ValueError if their length is no multiple of 4."""
    # A bytearray makes the array writable: Numba would compile every kernel again for read-only arrays.
    return np.frombuffer(bytearray().join(blobs), "<u4").astype(np.uint32, copy=False)


def _encodable(text: str) -> str:
    """Replace lone surrogates, which SQLite cannot encode."""
    return text.encode("utf-8", "replace").decode("utf-8")
