"""Which pages of a crawl repeat another, exactly or nearly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orienteer.extract import near_duplicates
from orienteer.ledger.band_index import BandIndex
from orienteer.store.database import Database
from orienteer.store.failures import damaged

# A page with the content of another, but with links of its own since they are relative, is followed like any page. So
# are this many copies; a trap makes more.
COPIES_FOLLOWED = 4


class Duplicates:
    """Finds for each page the first one that it repeats; kinds that are not looked for are never found."""

    def __init__(self, database: Database, exact: bool, near: bool) -> None:
        self._database = database
        self._exact = exact
        self._near = near
        self._indexes: list[BandIndex] = []  # all but the last are full

    def exact(self, page: int, digest: bytes) -> int | None:
        """The first other page with the very same content."""
        return self._database.page_with_digest(digest, page) if self._exact else None

    def near(self, page: int, signature: bytes | None, was_known: bool) -> int | None:
        """The first page with a text much like that of this signature. If there is none, later pages may find this one.

        A page that `was_known` says something else now: it is not found any more by what it said.
        """
        if not self._near:
            return None
        if was_known:
            self._forget(page)
        if signature is None:
            return None
        for other in self._sharing_a_band(signature):
            seen_before = self._database.signature(other)
            if seen_before is not None and near_duplicates.similarity(signature, seen_before) >= near_duplicates.NEAR:
                return other
        # Only here: what repeats a page need not be found by a third.
        self._database.add_signature(page, signature)
        self._add(np.array([page], np.uint32), signature)
        return None

    def _forget(self, page: int) -> None:
        signature = self._database.signature(page)
        if signature is not None:
            self._database.remove_signature(page)
            for index in self._indexes:
                index.remove(page, signature)

    def _sharing_a_band(self, signature: bytes) -> list[int]:
        """The pages to compare with, in order."""
        if not self._indexes:
            self._read_signatures()
        if len(self._indexes) == 1:
            return self._indexes[0].find(signature)
        return sorted({page for index in self._indexes for page in index.find(signature)})

    def _read_signatures(self) -> None:
        """Only when a page is to be compared: many commands open a folder, and few go on with its crawl."""
        self._indexes.append(BandIndex(self._database.n_signatures()))
        for pages, signatures in self._database.signatures():
            if any(len(signature) != near_duplicates.SIGNATURE_BYTES for signature in signatures):
                raise damaged(self._database.path, "a signature is cut off")
            self._add(pages, b"".join(signatures))

    def _add(self, pages: NDArray[np.uint32], signatures: bytes) -> None:
        if self._indexes[-1].is_full:
            self._indexes.append(BandIndex())
        self._indexes[-1].add(pages, signatures)
