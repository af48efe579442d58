"""Hashed words of pages and of links, as bucket numbers.

A word is a run of letters and digits, in lower case. Its bucket is FNV-1a of its bytes, which is the same in all
processes and on all machines. Words of an anchor and words of a URL have different buckets: `courses` as a folder has
another meaning than `courses` in a sentence.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import NDArray

from orienteer.kernel import kernel

N_BUCKETS = 1 << 16  # bucket 0 stays empty, for "no word"
MAX_LINK_WORDS = 32  # of an anchor, and of a URL

_ANCHOR, _URL = 0x811C9DC5, 0x050C5D1F  # the initial values of the hashes
_MAX_WORDS = 20_000


def link_tokens(anchor_text: str, url: str) -> NDArray[np.uint32]:
    """Return the buckets of a link's words: of its anchor, then of the path and query of its URL.

    >>> len(link_tokens("Lecture notes", "http://example.org/courses/notes.html")), len(link_tokens("", ""))
    (5, 0)
    """
    try:
        split = urlsplit(url)
        path = unquote(f"{split.path} {split.query}")
    except ValueError:
        path = url
    anchor = _buckets(anchor_text[: 16 * MAX_LINK_WORDS], _ANCHOR, MAX_LINK_WORDS)
    return np.append(anchor, _buckets(path[: 16 * MAX_LINK_WORDS], _URL, MAX_LINK_WORDS))


def page_tokens(text: str) -> NDArray[np.uint32]:
    """Return the buckets of a page's words in order; for a very long page, those of its first words.

    >>> words = page_tokens("The cat, the dog")
    >>> len(words), bool(words[0] == words[2])
    (4, True)
    """
    return _buckets(text[: 16 * _MAX_WORDS], _ANCHOR, _MAX_WORDS)


def _buckets(text: str, start: int, n_most: int) -> NDArray[np.uint32]:
    letters = np.frombuffer(text.lower().encode(errors="replace"), np.uint8)
    words = np.empty(min(len(letters) // 2 + 1, n_most), np.uint32)
    return words[: _hash_words(letters, np.uint32(start), words)]


@kernel
def _hash_words(letters: Any, start: Any, words: Any) -> Any:
    """Fill `words` with the buckets of the first words; return their number."""
    n_words, n_letters, number = 0, 0, start
    for i in range(len(letters) + 1):
        byte = letters[i] if i < len(letters) else np.uint8(32)
        if 48 <= byte <= 57 or 97 <= byte <= 122 or byte >= 0x80:
            number = np.uint32((number ^ np.uint32(byte)) * np.uint32(0x01000193))
            n_letters += 1
        elif n_letters:
            if n_words == len(words):
                break
            words[n_words] = 1 + (number ^ (number >> np.uint32(16))) % np.uint32(N_BUCKETS - 1)
            n_words, n_letters, number = n_words + 1, 0, start
    return n_words
