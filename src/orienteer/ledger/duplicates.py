"""Find the pages of a crawl that repeat another page, exactly or nearly, or but for a session in the URL.

A session in a URL (`?sid=...`, `;jsessionid=...`) mostly identifies a visit; but the same parameters also name other
things. So such URLs are different pages until two of them had the same content, apart from the session itself. From
then on all URLs that differ from these in the session alone count as the first of them, and are not requested.

Same content: equal once the session of the URL is removed from it, and without any other session in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import zeros
from orienteer.extract import near_duplicates
from orienteer.ledger.band_index import BandIndex
from orienteer.store.database import Database
from orienteer.store.detail_tables import SessionRow
from orienteer.store.failures import damaged
from orienteer.store.page_row import PageRow
from orienteer.url import session_of

# A copy of a page whose relative links lead to other URLs is followed like any page, up to this many copies: a trap
# makes more.
COPIES_FOLLOWED = 4

_LEAST_DIGESTS = 1 << 12  # room of a filter
_BITS_PER_DIGEST = 16


class Duplicates:
    """Finds the first page that a page repeats, exactly or nearly, for the comparisons that are enabled."""

    def __init__(self, database: Database, exact: bool, near: bool) -> None:
        self._database = database
        self._exact = exact
        self._near = near
        self._indexes: list[BandIndex] = []  # all but the last are full
        self._digests: DigestFilter | None = None

    def exact(self, page: int, digest: bytes) -> int | None:
        """Return the first other page with exactly the same content."""
        if not self._exact:
            return None
        if self._digests is None or self._digests.is_full:  # on first use, as with the signatures
            self._digests = DigestFilter(self._database.pages.digests())
        return self._database.pages.with_digest(digest, page) if self._digests.add(digest) else None

    def still_repeats(self, row: PageRow) -> bool:
        """Whether the original of this copy still has the same content; True if the page was no copy."""
        if row.duplicate_of is None:
            return True
        other = self._database.pages.row(row.duplicate_of)
        return other is not None and other.digest == row.digest

    def near(self, page: int, signature: bytes | None, was_known: bool) -> int | None:
        """Return the first page with a similar signature. If there is none, this page is indexed for later ones.

        A page that `was_known` has other content now: its old signature is removed.
        """
        if not self._near:
            return None
        if was_known:
            self._forget(page)
        if signature is None:
            return None
        for other in self._sharing_a_band(signature):
            seen_before = self._database.signatures.of(other)
            if seen_before is not None and near_duplicates.similarity(signature, seen_before) >= near_duplicates.NEAR:
                return other
        # Only here: a near duplicate need not be indexed, since later ones find the first page.
        self._database.signatures.add(page, signature)
        self._add(np.array([page], np.uint32), signature)
        return None

    def _forget(self, page: int) -> None:
        signature = self._database.signatures.of(page)
        if signature is not None:
            self._database.signatures.remove(page)
            for index in self._indexes:
                index.remove(page, signature)

    def _sharing_a_band(self, signature: bytes) -> list[int]:
        """Return the pages to compare with, in order."""
        if not self._indexes:
            self._read_signatures()
        if len(self._indexes) == 1:
            return self._indexes[0].find(signature)
        return sorted({page for index in self._indexes for page in index.find(signature)})

    def _read_signatures(self) -> None:
        """Fill the index, on first use: many commands open a folder, and few continue its crawl."""
        self._indexes.append(BandIndex(self._database.signatures.count()))
        for pages, signatures in self._database.signatures.all():
            if any(len(signature) != near_duplicates.SIGNATURE_BYTES for signature in signatures):
                raise damaged(self._database.path, "a signature is cut off")
            self._add(pages, b"".join(signatures))

    def _add(self, pages: NDArray[np.uint32], signatures: bytes) -> None:
        if self._indexes[-1].is_full:
            self._indexes.append(BandIndex())
        self._indexes[-1].add(pages, signatures)


class DigestFilter:
    """Which digests may be stored, in memory: two to eight bytes a page, and one in sixteen is a false positive.

    >>> known = DigestFilter([b"one digest"])
    >>> known.add(b"one digest"), known.add(b"two digests"), known.add(b"two digests")
    (True, False, True)
    """

    def __init__(self, digests: Iterable[bytes] = ()) -> None:
        bits = np.fromiter(map(_bit, digests), np.uint64)
        self._room = max(_LEAST_DIGESTS, 4 * len(bits))
        self._n_bits = _BITS_PER_DIGEST * self._room
        mask = zeros(self._n_bits, np.bool_)
        mask[bits % np.uint64(self._n_bits)] = True
        self._bits = bytearray(np.packbits(mask, bitorder="little"))
        self._n = len(bits)

    @property
    def is_full(self) -> bool:
        """Whether a new filter is needed, with more room."""
        return self._n >= self._room

    def add(self, digest: bytes) -> bool:
        """Add a digest; return whether it may have been there."""
        at, bit = divmod(_bit(digest) % self._n_bits, 8)
        was_known = bool(self._bits[at] >> bit & 1)
        self._bits[at] |= 1 << bit
        self._n += not was_known
        return was_known


def _bit(digest: bytes) -> int:
    return int.from_bytes(digest[:8], "little")


class Sessions:
    """What a crawl has learned about the sessions in its URLs; it is stored in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def canonical(self, urls: Sequence[str]) -> Sequence[str]:
        """Replace URLs whose session does not matter by the first one that was found."""
        if "=" not in "".join(urls):
            return urls
        changed = {k: first for k, url in enumerate(urls) if "=" in url and (first := self._first(url)) is not None}
        return [changed.get(k, url) for k, url in enumerate(urls)] if changed else urls

    def original_of(self, page: int, url: str, digest: bytes | None) -> int | None:
        """Return the page with another session that this page repeats, if there is one.

        `digest` is that of its content without the session (see extract/near_duplicates).
        """
        session = None if digest is None else session_of(url)
        if session is None or digest is None:
            return None
        known = self._database.details.session(session.stripped)
        if known is None:
            self._database.details.set_session(session.stripped, SessionRow(page, digest, is_same=False))
            return None
        if known.page == page or known.digest != digest:
            return None
        if not known.is_same:
            self._database.details.set_session(session.stripped, known._replace(is_same=True))
        return known.page

    def _first(self, url: str) -> str | None:
        session = session_of(url)
        if session is None:
            return None
        known = self._database.details.session(session.stripped)
        return self._database.urls.of(known.page) if known is not None and known.is_same else None
