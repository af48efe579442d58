"""Which pages of a crawl repeat another, exactly or nearly."""

from __future__ import annotations

from orienteer.extract import near_duplicates
from orienteer.store.database import Database

# A page with the content of another, but with links of its own since they are relative, is followed like any page. So
# are this many copies; a trap makes more.
COPIES_FOLLOWED = 4


class Duplicates:
    """Finds for each page the first one that it repeats; kinds that are not looked for are never found."""

    def __init__(self, database: Database, exact: bool, near: bool) -> None:
        self._database = database
        self._exact = exact
        self._near = near

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
        bands = near_duplicates.bands(signature)
        for other in self._database.pages_in_bands(bands):
            seen_before = self._database.signature(other)
            if seen_before is not None and near_duplicates.similarity(signature, seen_before) >= near_duplicates.NEAR:
                return other
        # Only here: what repeats a page need not be found by a third.
        self._database.add_bands(page, bands, signature)
        return None

    def _forget(self, page: int) -> None:
        signature = self._database.signature(page)
        if signature is not None:
            self._database.remove_bands(page, near_duplicates.bands(signature))
