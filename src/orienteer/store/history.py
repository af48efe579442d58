"""What happened in a crawl, in order: pages were done, pages became known. As arrays, to resume it quickly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.pages.states import PageState
from orienteer.pages.unknown import NOBODY_KNOWS
from orienteer.store.page_row import page_ids

HISTORY_COLUMNS = (
    f"position, id, state, coalesce(redirect_to, -1), links, state != {PageState.BLOCKED:d} OR status > 0, relevance, "
    "{n_unknown}"
)
N_UNKNOWN = "coalesce((SELECT n FROM unknown WHERE unknown.page = page.id), 0)"


@dataclass(frozen=True)
class DonePages:
    """Pages that were done one after the other: fetched, failed, skipped or blocked.

    The links of the k-th are `links[link_offsets[k] : link_offsets[k + 1]]`; `redirects` is the page that it redirects
    to, -1 where it does not. `asked` says which of them count in a budget: somebody was asked for them, and a blocked
    one was answered. `relevance` is how relevant they are, NaN where that is not known; `n_unknown` how many of their
    links are not known (see graph/coverage).
    """

    positions: NDArray[np.int64]
    pages: NDArray[np.uint32]
    states: NDArray[np.uint8]
    redirects: NDArray[np.int64]
    link_offsets: NDArray[np.int64]
    links: NDArray[np.uint32]
    asked: NDArray[np.bool_]
    relevance: NDArray[np.float64]
    n_unknown: NDArray[np.int32]

    @classmethod
    def of_rows(cls, rows: Sequence[tuple[Any, ...]]) -> DonePages:
        """From rows of HISTORY_COLUMNS. TypeError, ValueError or OverflowError where they are damaged."""
        positions, pages, states, redirects, blobs, asked, relevance, n_unknown = zip(*rows, strict=True)
        return cls(
            np.array(positions, np.int64),
            np.array(pages, np.uint32),
            np.array(states, np.uint8),
            np.array(redirects, np.int64),
            *joined(blobs),
            np.array(asked, np.bool_),
            np.array(relevance, np.float64),
            np.array(n_unknown, np.int32),
        )

    def within(self, n_urls: int) -> DonePages:
        """The same; ValueError where a page, or one that it leads to, is none of so many: kernels do not look."""
        expect_ids(self.pages, n_urls)
        expect_ids(self.links, n_urls)
        if self.redirects.max(initial=-1) >= n_urls or self.redirects.min(initial=0) < -1:
            raise ValueError("a page redirects to a URL that there is not")
        if self.n_unknown.min(initial=0) < NOBODY_KNOWS:
            raise ValueError("less than no links are unknown")
        return self

    def before(self, position: int) -> DonePages:
        """Those that were done before a position."""
        n = int(np.searchsorted(self.positions, position))
        offsets = self.link_offsets[: n + 1]
        return DonePages(
            self.positions[:n], self.pages[:n], self.states[:n], self.redirects[:n], offsets, self.links[: offsets[n]],
            self.asked[:n], self.relevance[:n], self.n_unknown[:n],
        )  # fmt: skip


@dataclass(frozen=True)
class KnownPages:
    """Pages that became known otherwise than by a link."""

    position: int
    pages: NDArray[np.uint32]


def expect_ids(pages: NDArray[np.uint32], n_urls: int) -> NDArray[np.uint32]:
    """The same; ValueError where one of them is not the number of a URL."""
    if pages.max(initial=0) >= max(n_urls, 1):
        raise ValueError(f"there is no URL with id {pages.max()}")
    return pages


def joined(blobs: Sequence[bytes]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Where the page ids of each blob begin, and those of all blobs in a row. ValueError where one is cut off."""
    n_bytes = np.zeros(len(blobs) + 1, np.int64)
    np.cumsum([len(blob) for blob in blobs], out=n_bytes[1:])
    if (n_bytes % 4).any():
        raise ValueError("links are cut off")
    return n_bytes // 4, page_ids(blobs)
