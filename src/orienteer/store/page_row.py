"""A page that is done, as the database keeps it."""

from __future__ import annotations

from collections.abc import Iterable
from types import NoneType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.pages.states import PageState
from orienteer.store.archive import Position

NO_LINKS: NDArray[np.uint32] = np.empty(0, np.uint32)


class PageRow(NamedTuple):
    """What came of a page; the fields are the columns of the table. `state` is a PageState.

    The archive_* are None for a page that is not in the archive. `size_bytes` and `digest` are of the decoded content.
    `relevance` is None where there is no topic.
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
        """The page that it repeats, exactly or nearly."""
        return self.near_duplicate_of if self.duplicate_of is None else self.duplicate_of

    def stored(self) -> tuple[Any, ...]:
        """The values as SQLite takes them."""
        values: list[Any] = list(self)
        for place in _TEXTS:
            if not values[place].isascii():
                values[place] = _encodable(values[place])
        values[-2:] = blob_of(self.links), blob_of(self.outside)
        return tuple(values)

    @classmethod
    def of_stored(cls, values: tuple[Any, ...]) -> PageRow:
        row = cls(*values)
        others = (row.redirect_to, row.duplicate_of, row.near_duplicate_of, row.archive_offset, row.archive_bytes)
        is_possible = row.state in _STATES and min(row.id, *(other or 0 for other in others)) >= 0
        if not is_possible or not all(isinstance(value, kind) for value, kind in zip(values, _KINDS, strict=True)):
            raise ValueError(f"the row of page {row.id} holds what none can hold")
        return row._replace(noindex=bool(row.noindex), links=page_ids([values[-2]]), outside=page_ids([values[-1]]))


COLUMNS = ", ".join(PageRow._fields)
_STATES = frozenset(map(int, PageState))
_KINDS: tuple[Any, ...] = (
    int, int, int, str, int, (float, int), *[(int, NoneType)] * 3, (bytes, NoneType), int, str, str, str, int, int,
    *[(int, NoneType)] * 3, str, str, (float, int, NoneType), bytes, bytes,
)  # fmt: skip
_TEXTS = tuple(map(PageRow._fields.index, ("outcome", "content_type", "language", "title", "etag", "last_modified")))


def blob_of(pages: ArrayLike) -> bytes:
    """Page ids as the database keeps them."""
    return np.asarray(pages).astype("<u4", copy=False).tobytes()


def page_ids(blobs: Iterable[bytes]) -> NDArray[np.uint32]:
    """The page ids of all blobs in a row; ValueError where they are none."""
    # In a bytearray, for an array that may be written to: Numba would compile every kernel once more for others.
    return np.frombuffer(bytearray().join(blobs), "<u4").astype(np.uint32, copy=False)


def _encodable(text: str) -> str:
    """A page may hold half a surrogate pair, which is no text to SQLite."""
    return text.encode("utf-8", "replace").decode("utf-8")
