"""The hashed words of a page and of its links, stored as uint32 numbers in one blob.

number of links, of their words, of the page's words
the target of each link
the offset of the words of each link, and the end of those of the last
the words of the links, link by link
the words of the page
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.store.page_row import page_ids

_HEAD = 3


class PageWords(NamedTuple):
    """Link k leads to `targets[k]`, with the words `link_words[offsets[k] : offsets[k + 1]]`."""

    targets: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    link_words: NDArray[np.uint32]
    words: NDArray[np.uint32]


def packed(words: PageWords) -> bytes:
    arrays: list[ArrayLike] = [[len(words.targets), len(words.link_words), len(words.words)], *words]
    return b"".join(np.asarray(array).astype("<u4").tobytes() for array in arrays)


def unpacked(blob: bytes) -> PageWords:
    """Return the inverse of `packed`; ValueError if the blob is malformed."""
    numbers = page_ids([blob])
    if len(numbers) < _HEAD:
        raise ValueError("words are cut off")
    n_links, n_link_words, n_words = (int(number) for number in numbers[:_HEAD])
    sizes = (n_links, n_links + 1, n_link_words, n_words)
    if len(numbers) != _HEAD + sum(sizes):
        raise ValueError("words are cut off")
    targets, offsets, link_words, words = np.split(numbers[_HEAD:], np.cumsum(sizes[:-1]))
    if offsets[0] != 0 or offsets[-1] != n_link_words or (offsets[1:] < offsets[:-1]).any():
        raise ValueError("words of links overlap")
    return PageWords(targets, offsets.astype(np.int64), link_words, words)
