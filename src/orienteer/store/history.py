"""The history of a crawl as arrays, for a fast resume: pages that were done, and pages that were discovered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.pages.states import PageState
from orienteer.pages.unknown import UNKNOWN_COUNT
from orienteer.store.page_row import page_ids

HISTORY_COLUMNS = (
    "position, id, state, coalesce(redirect_to, -1) AS redirect_or_none, links, "
    f"state != {PageState.BLOCKED:d} OR status > 0, relevance, "
    "{n_unknown} AS n_unknown"
)
N_UNKNOWN = "coalesce((SELECT n FROM unknown WHERE unknown.page = page.id), 0)"


@dataclass(frozen=True)
class DonePages:
    """Consecutive pages that are done: fetched, failed, skipped or blocked.

    The links of page k are `links[link_offsets[k] : link_offsets[k + 1]]`; `redirects` are the targets of redirects, -1
    for none. `requested` marks the pages that count in the budget: a request was sent, and a blocked page had a
    response. `relevance` is NaN if unknown; `n_unknown` are the numbers of unknown links (see graph/coverage).
    """

    positions: NDArray[np.int64]
    pages: NDArray[np.uint32]
    states: NDArray[np.uint8]
    redirects: NDArray[np.int64]
    link_offsets: NDArray[np.int64]
    links: NDArray[np.uint32]
    requested: NDArray[np.bool_]
    relevance: NDArray[np.float64]
    n_unknown: NDArray[np.int32]

    @classmethod
    def of_rows(cls, rows: Sequence[tuple[Any, ...]]) -> DonePages:
        """Make it from rows of HISTORY_COLUMNS. TypeError, ValueError or OverflowError if they are damaged."""
        positions, pages, states, redirects, blobs, requested, relevance, n_unknown = zip(*rows, strict=True)
        return cls(
            np.array(positions, np.int64),
            np.array(pages, np.uint32),
            np.array(states, np.uint8),
            np.array(redirects, np.int64),
            *joined(blobs),
            np.array(requested, np.bool_),
            np.array(relevance, np.float64),
            np.array(n_unknown, np.int32),
        )

    def within(self, n_urls: int) -> DonePages:
        """Return self; ValueError if an id is not below `n_urls`. Kernels use ids as indexes without a check."""
        expect_ids(self.pages, n_urls)
        expect_ids(self.links, n_urls)
        if self.redirects.max(initial=-1) >= n_urls or self.redirects.min(initial=0) < -1:
            raise ValueError("a page redirects to an unknown URL")
        if self.n_unknown.min(initial=0) < UNKNOWN_COUNT:
            raise ValueError("a negative number of unknown links")
        return self

    def before(self, position: int) -> DonePages:
        """Return the pages that were done before a position."""
        n = int(np.searchsorted(self.positions, position))
        offsets = self.link_offsets[: n + 1]
        return DonePages(
            self.positions[:n], self.pages[:n], self.states[:n], self.redirects[:n], offsets, self.links[: offsets[n]],
            self.requested[:n], self.relevance[:n], self.n_unknown[:n],
        )  # fmt: skip

    def where(self, chosen: NDArray[np.bool_]) -> DonePages:
        """Return the chosen ones of the pages, in the same order."""
        n_links = np.diff(self.link_offsets)
        return DonePages(
            self.positions[chosen], self.pages[chosen], self.states[chosen], self.redirects[chosen],
            np.concatenate(([0], np.cumsum(n_links[chosen]))), self.links[np.repeat(chosen, n_links)],
            self.requested[chosen], self.relevance[chosen], self.n_unknown[chosen],
        )  # fmt: skip


@dataclass(frozen=True)
class KnownPages:
    """Pages that were discovered without a link."""

    position: int
    pages: NDArray[np.uint32]


def expect_ids(pages: NDArray[np.uint32], n_urls: int) -> NDArray[np.uint32]:
    """Return `pages`; ValueError if one of the ids is not below `n_urls`."""
    if pages.max(initial=0) >= max(n_urls, 1):
        raise ValueError(f"there is no URL with id {pages.max()}")
    return pages


def joined(blobs: Sequence[bytes]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return the offsets of the blobs, and their concatenated page ids. ValueError if a blob is truncated."""
    n_bytes = np.zeros(len(blobs) + 1, np.int64)
    np.cumsum([len(blob) for blob in blobs], out=n_bytes[1:])
    if (n_bytes % 4).any():
        raise ValueError("links are cut off")
    return n_bytes // 4, page_ids(blobs)
