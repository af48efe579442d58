"""Exact and near duplicates of pages.

Two texts are as similar as their sets of shingles (four words in a row) overlap: their Jaccard similarity J, shared
shingles over all shingles. A MinHash signature has 256 slots, and two signatures agree in a slot with probability J. So
the share of slots in which they agree estimates J with a standard error of sqrt(J (1 - J) / 256), at most 0.031.

To find similar pages without comparing all pairs, a signature has 12 bands of 10 slots; pages with an equal band are
candidates. A pair becomes a candidate with probability 1 - (1 - J^10)^12, and a near duplicate if its signatures also
agree in `NEAR` = 85 % of their slots:

    J                       0.95    0.90    0.85    0.80    0.70    0.50    0.30
    candidate               0.9999  0.994   0.93    0.74    0.29    0.012   0.0001
    and a near duplicate    0.9999  0.989   0.48    0.015   0       0       0

Slots keep 16 bits of their hash, so unequal slots agree by chance once in 65,536. Shingles are hashed by a kernel that
reads the text once; no word becomes a Python string, which would take ten times as long as all the rest.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

import numpy as np
from rensa import RMinHash

from orienteer.kernel import kernel
from orienteer.url import SESSION_VALUES, session_of

MIN_WORDS = 20  # the similarity of shorter texts is not meaningful
NEAR = 0.85

SHINGLE_WORDS = 4
N_SLOTS = 256
N_BANDS = 12
BAND_SLOTS = 10

SLOT_TYPE = np.dtype("<u2")
SIGNATURE_BYTES = N_SLOTS * SLOT_TYPE.itemsize
_MINHASH_SEED = 1

# A band is hashed by a sum with odd factors of its own, so that equal slots in two different bands are no match.
BAND_FACTORS = 1 | np.random.default_rng(1).integers(0, 2**64, (N_BANDS, BAND_SLOTS), np.uint64)

_SESSION_VALUES = re.compile(SESSION_VALUES.encode(), re.IGNORECASE)


def digest(content: bytes) -> bytes:
    """Return the SHA-1 of a page's content, equal for exact duplicates; WARC has the same digest in base 32."""
    return hashlib.sha1(content, usedforsecurity=False).digest()


def digest_without_session(url: str, content: bytes) -> bytes | None:
    """Return the digest of a content without the session id of its URL.

    None if the URL has no session, or if the content has other session ids: these may be a list of similar names.
    """
    session = session_of(url)
    if session is None:
        return None
    own = {value.encode() for value in session.values}
    named = {value for groups in _SESSION_VALUES.findall(content) for value in groups if value}
    if not named <= own:
        return None
    for value in own:
        content = content.replace(value, b"")
    return digest(content)


def signature(text: str) -> bytes | None:
    """Return the MinHash signature of a text, 512 bytes; None for a text shorter than MIN_WORDS.

    Case, punctuation and white space do not count. A character of Chinese, Japanese, Thai, Lao, Khmer or Burmese is a
    word: they have no spaces between words.
    """
    letters = np.frombuffer(text.encode(errors="replace"), np.uint8)
    hashes = np.empty(len(letters) // 2 + 1, np.uint64)
    n_words = _hash_shingles(letters, hashes)
    if n_words < MIN_WORDS:
        return None
    n_shingles = n_words - SHINGLE_WORDS + 1
    matrix = RMinHash.digest_matrix_from_flat_token_hashes(hashes[:n_shingles], [0, n_shingles], N_SLOTS, _MINHASH_SEED)
    return np.array(matrix.to_rows()[0], np.uint32).astype(SLOT_TYPE).tobytes()


def bands(signature: bytes) -> list[int]:
    """Return the hashes of the bands as signed 64-bit numbers; similar pages share at least one."""
    slots = np.frombuffer(signature, SLOT_TYPE)[: N_BANDS * BAND_SLOTS].reshape(N_BANDS, BAND_SLOTS)
    sums: list[int] = (slots * BAND_FACTORS).sum(axis=1, dtype=np.uint64).view(np.int64).tolist()
    return sums


def similarity(one: bytes, other: bytes) -> float:
    """Return the estimated Jaccard similarity of the texts of two signatures; near duplicates have at least `NEAR`."""
    return float(np.mean(np.frombuffer(one, SLOT_TYPE) == np.frombuffer(other, SLOT_TYPE)))


@kernel
def _hash_shingles(letters: Any, hashes: Any) -> Any:
    """Fill `hashes` with a hash for each shingle; return the number of words."""
    n, i, n_words = len(letters), 0, 0
    first = second = third = np.uint64(0)  # the three words before
    while i < n:
        word = np.uint64(0)
        start = i
        i = _word_end(letters, i)
        if i == start:
            i += _gap_bytes(letters[i])
            continue
        for k in range(start, i):
            byte = letters[k]
            if 65 <= byte <= 90:
                byte += 32
            word = (word ^ np.uint64(byte)) * np.uint64(0x100000001B3)
        word = _mixed(word)
        n_words += 1
        if n_words >= SHINGLE_WORDS:
            hashes[n_words - SHINGLE_WORDS] = _mixed(_mixed(_mixed(first) + second) + third) + word
        first, second, third = second, third, word
    return n_words


@kernel
def _word_end(letters: Any, start: Any) -> Any:
    """Return the end of the word that begins at `start`, in UTF-8; `start` itself if none begins there.

    Everything from U+0080 to U+00BF and from U+2000 to U+2FFF counts as punctuation.
    """
    i = start
    while i < len(letters):
        byte = letters[i]
        if byte < 0x80:
            if not (48 <= byte <= 57 or 97 <= byte | 32 <= 122):
                break
        elif byte == 0xC2 or byte == 0xE2:
            break
        elif 0xE0 <= byte <= 0xE9 and _is_sign(letters, i):
            if i == start:
                i = min(i + 3, len(letters))
            break
        i += 1
    return i


@kernel
def _is_sign(letters: Any, i: Any) -> Any:
    """Whether a character of three bytes of a script without spaces begins here, which is a word by itself."""
    byte = letters[i]
    if byte >= 0xE3:  # U+3000 to U+9FFF: Chinese and Japanese
        return True
    following = letters[i + 1] if i + 1 < len(letters) else 0
    if byte == 0xE0:
        return 0xB8 <= following <= 0xBB  # Thai, Lao
    return byte == 0xE1 and (0x80 <= following <= 0x82 or 0x9E <= following <= 0x9F)  # Burmese, Khmer


@kernel
def _gap_bytes(byte: Any) -> Any:
    return 3 if byte == 0xE2 else 2 if byte == 0xC2 else 1


@kernel
def _mixed(number: Any) -> Any:
    """Mix the bits of a number (the finalizer of SplitMix64)."""
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))
