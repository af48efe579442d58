"""Which pages share a band of their signatures, in memory: about 60 bytes a page, found in about a microsecond.

A hash table of 32-bit words with open addressing, a word per band of a page. A band is hashed to a *key* of 28 bits.
The key determines the *home*, the slot where the word belongs, and the word holds the *remainder* of the key, so that
the key can be recovered when the table grows without reading from the disk. A word is at its home or a few slots
behind; it holds its home modulo 128, too, and is never farther away than that. It also holds the *number* of the page
in this index, counted from 1; `pages` maps it to the page.

    word = ((home % 128) * (number of remainders) + remainder) * (maximum of numbers) + number     0: the slot is free

Words are in the order of their homes (Robin Hood hashing), so that a search ends where a word would belong, and the
table works when nine in ten slots are taken. A large one grows by an eighth. Different bands may have the same key:
among a million pages, about every second `find` returns a page that shares no band. The caller compares signatures.

The key depends on a secret, so that the author of pages cannot crowd the table.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import zeros
from orienteer.extract.near_duplicates import BAND_FACTORS, BAND_SLOTS, N_BANDS, N_SLOTS, SLOT_TYPE
from orienteer.kernel import kernel

PER_BAND = 20  # pages that are indexed: those with the lowest ids

_KEY_BITS = 28
_MAX_DISTANCE = 128
_MAX_LOAD = 0.9
_GROWTH, _EARLY_GROWTH = 1.125, 1.5
_FEW_SLOTS = 1 << 18  # a megabyte; smaller tables grow faster
_LEAST_SLOTS = 1024
_MAX_PAGES = 1 << 22  # larger numbers do not fit into a word
_WORDS = 1 << 32
_FACTORS = BAND_FACTORS.ravel().copy()


class BandIndex:
    """The pages of each band; of a band with many, the `PER_BAND` with the lowest ids."""

    def __init__(self, n_pages: int = 0) -> None:
        """Reserve room for `n_pages` pages."""
        self._secret = np.uint64(secrets.randbits(64))
        self._words: NDArray[np.uint32] = np.zeros(0, np.uint32)
        self._pages: NDArray[np.uint32] = np.zeros(1024, np.uint32)  # by number
        self._n_numbers = 1  # given to pages, and 0
        self._n_words = 0
        self._keys: NDArray[np.int64] = np.zeros(N_BANDS, np.int64)
        self._matches: NDArray[np.uint32] = np.zeros(N_BANDS * PER_BAND, np.uint32)
        self._lay_out(max(_LEAST_SLOTS, int(min(n_pages, _MAX_PAGES) * N_BANDS / _MAX_LOAD) + 1))

    @property
    def is_full(self) -> bool:
        """Whether more pages need another index."""
        return self._n_numbers > _MAX_PAGES

    @property
    def n_bytes(self) -> int:
        """The size in memory."""
        return self._words.nbytes + self._pages.nbytes

    def find(self, signature: bytes) -> list[int]:
        """Return the pages that share a band with this signature, in order, with a few false positives."""
        n = _find_all(
            np.frombuffer(signature, SLOT_TYPE), _FACTORS, self._secret, self._keys, self._words, self._pages,
            self._n_slots, self._n_remainders, self._max_numbers, self._matches,
        )  # fmt: skip
        return sorted(set(self._matches[:n].tolist())) if n else []

    def add(self, pages: NDArray[np.uint32], signatures: bytes) -> None:
        """Add pages with their concatenated signatures. None of them may be in the index yet."""
        slots = np.frombuffer(signatures, SLOT_TYPE)
        self._pages = _with_room(self._pages, self._n_numbers + len(pages))
        self._pages[self._n_numbers : self._n_numbers + len(pages)] = pages
        n_done, n_all = 0, N_BANDS * len(pages)
        while n_done < n_all:
            if self._n_words + N_BANDS > _MAX_LOAD * self._n_slots or self._n_numbers + len(pages) > self._max_numbers:
                self._grow()
                continue
            n_free = int(_MAX_LOAD * self._n_slots) - self._n_words
            until = min(n_all, n_done + n_free)
            n_done, n_new = _add_all(
                slots, n_done, until, self._n_numbers, _FACTORS, self._secret, self._keys, self._words, self._pages,
                self._n_slots, self._n_remainders, self._max_numbers,
            )  # fmt: skip
            self._n_words += n_new
            if n_done < until:
                self._grow()
        self._n_numbers += len(pages)

    def remove(self, page: int, signature: bytes) -> None:
        """Remove the entries of a page with this signature."""
        self._n_words -= _remove_all(
            np.frombuffer(signature, SLOT_TYPE), page, _FACTORS, self._secret, self._keys, self._words, self._pages,
            self._n_slots, self._n_remainders, self._max_numbers,
        )  # fmt: skip

    def _lay_out(self, n_slots: int) -> None:
        self._n_slots = n_slots
        self._n_remainders = (1 << _KEY_BITS) // n_slots + 1
        self._max_numbers = _WORDS // (_MAX_DISTANCE * self._n_remainders)
        self._words = zeros(n_slots + _MAX_DISTANCE, np.uint32)

    def _grow(self) -> None:
        """Move all words to a larger table; to an even larger one where a word does not fit."""
        n_slots = self._n_slots
        before = self._words, self._n_slots, self._n_remainders, self._max_numbers
        while True:
            n_slots = int(n_slots * (_EARLY_GROWTH if n_slots < _FEW_SLOTS else _GROWTH)) + 1
            self._lay_out(n_slots)
            if _fill(*before, self._words, self._pages, self._n_slots, self._n_remainders, self._max_numbers):
                return


def _with_room(array: NDArray[np.uint32], n: int) -> NDArray[np.uint32]:
    """Like `grown`, but in small steps."""
    if n <= len(array):
        return array
    larger = zeros(max(n, int(len(array) * _GROWTH)), array.dtype)
    larger[: len(array)] = array
    return larger


@kernel
def _keys_of(slots: Any, first: int, factors: Any, secret: Any, keys: Any) -> None:
    """Compute the keys of the signature whose slots begin at `first`."""
    for band in range(N_BANDS):
        total = np.uint64(0)
        for k in range(BAND_SLOTS):
            total += np.uint64(slots[first + band * BAND_SLOTS + k]) * np.uint64(factors[band * BAND_SLOTS + k])
        total = (total ^ secret) * np.uint64(0xBF58476D1CE4E5B9)
        total = (total ^ (total >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
        keys[band] = np.int64(total >> np.uint64(64 - _KEY_BITS))


@kernel
def _home(key: int, n_slots: int) -> Any:
    return (key * n_slots) >> _KEY_BITS


@kernel
def _first_key(home: int, n_slots: int) -> Any:
    """Return the lowest key with this home."""
    return ((home << _KEY_BITS) + n_slots - 1) // n_slots


@kernel
def _distance(word: Any, slot: int, n_remainders: int, max_numbers: int) -> Any:
    """Return how far a word is from its home."""
    return (slot - np.int64(word) // (n_remainders * max_numbers)) & (_MAX_DISTANCE - 1)


@kernel
def _find_all(
    slots: Any, factors: Any, secret: Any, keys: Any, words: Any, pages: Any, n_slots: int, n_remainders: int,
    max_numbers: int, matches: Any,
) -> Any:  # fmt: skip
    """Fill `found` with the pages that share a key with the signature; return their number."""
    _keys_of(slots, 0, factors, secret, keys)
    n = 0
    for k in range(len(keys)):
        home = _home(keys[k], n_slots)
        remainder = keys[k] - _first_key(home, n_slots)
        distance = 0
        while distance < _MAX_DISTANCE and words[home + distance] != 0:
            word = np.int64(words[home + distance])
            other_distance = _distance(word, home + distance, n_remainders, max_numbers)
            if other_distance < distance:
                break
            if other_distance == distance and word // max_numbers % n_remainders == remainder:
                matches[n] = pages[word % max_numbers]
                n += 1
            distance += 1
    return n


@kernel
def _put(
    key: int, number: int, words: Any, pages: Any, n_slots: int, n_remainders: int, max_numbers: int
) -> Any:  # fmt: skip
    """Insert a word; return 1 if there is one more, 0 if it replaced another or is not needed, -1 without room."""
    home = _home(key, n_slots)
    remainder = key - _first_key(home, n_slots)
    word = ((home & (_MAX_DISTANCE - 1)) * n_remainders + remainder) * max_numbers + number
    n_same, last = 0, -1  # words with this key, and the slot of the one whose page has the highest id
    slot = home
    while slot < home + _MAX_DISTANCE and words[slot] != 0:
        other = np.int64(words[slot])
        other_distance = _distance(other, slot, n_remainders, max_numbers)
        if other_distance < slot - home:
            break
        if other_distance == slot - home and other // max_numbers == word // max_numbers:
            n_same += 1
            if last < 0 or pages[other % max_numbers] > pages[np.int64(words[last]) % max_numbers]:
                last = slot
        slot += 1
    if n_same >= PER_BAND:
        if pages[number] < pages[np.int64(words[last]) % max_numbers]:
            words[last] = word
        return 0
    if slot == home + _MAX_DISTANCE:
        return -1
    end = slot
    while end < len(words) and words[end] != 0:
        if _distance(words[end], end, n_remainders, max_numbers) + 1 == _MAX_DISTANCE:
            return -1
        end += 1
    if end == len(words):
        return -1
    for k in range(end - slot):
        words[end - k] = words[end - k - 1]
    words[slot] = word
    return 1


@kernel
def _add_all(
    slots: Any, start: int, until: int, first_number: int, factors: Any, secret: Any, keys: Any, words: Any,
    pages: Any, n_slots: int, n_remainders: int, max_numbers: int,
) -> Any:  # fmt: skip
    """Insert the bands from `start` to `until`, counted over all pages; return (end, number of new words).

    It ends early where there is no room for a word.
    """
    n_new = 0
    for k in range(start, until):
        row, band = k // N_BANDS, k % N_BANDS
        if band == 0 or k == start:
            _keys_of(slots, row * N_SLOTS, factors, secret, keys)
        result = _put(keys[band], first_number + row, words, pages, n_slots, n_remainders, max_numbers)
        if result < 0:
            return k, n_new
        n_new += result
    return until, n_new


@kernel
def _fill(
    old: Any, old_slots: int, old_remainders: int, old_numbers: int, words: Any, pages: Any, n_slots: int,
    n_remainders: int, max_numbers: int,
) -> Any:  # fmt: skip
    """Insert the words of another table into this one, which is empty; return False if there is no room."""
    for slot in range(len(old)):
        if old[slot] != 0:
            word = np.int64(old[slot])
            home = slot - _distance(word, slot, old_remainders, old_numbers)
            key = _first_key(home, old_slots) + word // old_numbers % old_remainders
            if _put(key, word % old_numbers, words, pages, n_slots, n_remainders, max_numbers) < 0:
                return False
    return True


@kernel
def _remove_all(
    slots: Any, page: int, factors: Any, secret: Any, keys: Any, words: Any, pages: Any, n_slots: int,
    n_remainders: int, max_numbers: int,
) -> Any:  # fmt: skip
    """Remove the words of a page with this signature; return their number."""
    _keys_of(slots, 0, factors, secret, keys)
    n = 0
    for k in range(len(keys)):
        home = _home(keys[k], n_slots)
        remainder = keys[k] - _first_key(home, n_slots)
        slot = home
        while slot < home + _MAX_DISTANCE and words[slot] != 0:
            word = np.int64(words[slot])
            other_distance = _distance(word, slot, n_remainders, max_numbers)
            is_same = other_distance == slot - home and word // max_numbers % n_remainders == remainder
            if is_same and pages[word % max_numbers] == page:
                while words[slot + 1] != 0 and _distance(words[slot + 1], slot + 1, n_remainders, max_numbers) > 0:
                    words[slot] = words[slot + 1]
                    slot += 1
                words[slot] = 0
                n += 1
                break
            slot += 1
    return n
