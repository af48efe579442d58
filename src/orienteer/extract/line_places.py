"""The enclosing elements of the lines of a page as arrays, and sums over the subtree of each element."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.page_text import NUMBERS, Floats, Ints, PageText, hash_of
from orienteer.kernel import inner, kernel

_MAX_WORDS_BYTES = 400  # of an element
_MAX_CELL_LINES, _MAX_CELL_CHARS = 12, 2_000  # of a table that is not for layout
_CODE, _TABLE, _ROW = NUMBERS["pre"], NUMBERS["table"], NUMBERS["tr"]
_CELLS = (NUMBERS["td"], NUMBERS["th"])
_NOT_IN_TABLES = (_CODE, _TABLE, *(NUMBERS[f"h{level}"] for level in range(1, 7)))
_QUOTE, _EQUALS, _AMPERSAND, _SEMICOLON, _SPACE = b'"=&; '


@dataclass(slots=True)
class Places:
    """The elements that contain lines, each after its parent; the page itself is 0, with the parent -1.

    `names` are numbers (`page_text`). `words` has class, id and role of the elements in lower case and UTF-8,
    concatenated; `word_ends` are the ends of the elements in it. `linked` counts the characters of each line in links.
    """

    names: Ints
    words: NDArray[np.uint8]
    word_ends: Ints
    parents: Ints
    of_lines: Ints
    linked: Floats

    def words_of(self, element: int) -> str:
        start = self.word_ends[element - 1] if element else 0
        return self.words[start : self.word_ends[element]].tobytes().decode(errors="replace")

    @property
    def depths(self) -> Ints:
        depths = np.zeros(len(self.parents), np.int64)
        _count_down(self.parents, depths)
        return depths

    def of_first(self, n_lines: int) -> Places:
        """Return the places of the first lines."""
        if n_lines >= len(self.of_lines):
            return self
        return replace(self, of_lines=self.of_lines[:n_lines], linked=self.linked[:n_lines])

    def sums(self, values: Floats) -> Floats:
        """Return for each element the sums of the values of all lines in it, by column."""
        total = np.zeros((len(self.parents), values.shape[1]))
        _sum_up(self.parents, self.of_lines, values, total)
        return total

    def above(self, index: Ints) -> Ints:
        """Return the parents of these elements; the parent of the page is the page."""
        return np.maximum(self.parents[index], 0)

    def kinds(self) -> tuple[Ints, Ints]:
        """Return two hashes for each element: of its name, words and parent's name, and of the names on its path."""
        calls, paths = np.zeros(len(self.names), np.int64), np.zeros(len(self.names), np.int64)
        _hash_kinds(self.parents, self.names, self.words, self.word_ends, calls, paths)
        return calls, paths

    def flags(self, own: Ints) -> Ints:
        """Return for each element the bits of it and all of its ancestors."""
        bits = own.copy()
        _or_down(self.parents, bits)
        return bits

    def spread(self, own: Floats) -> Floats:
        """Combine (minimum, maximum, sum) of each element with those of all of its ancestors."""
        all_of = own.copy()
        _spread_down(self.parents, all_of)
        return all_of

    def groups(self, chars: Floats) -> Ints:
        """Return for each line, of `chars` characters, its code block or its table, as element; -1: none.

        Tables with headings, code, other tables or long texts in them are for layout.
        """
        own = np.where(self.names == _CODE, np.arange(len(self.names)), -1)
        if (self.names == _TABLE).any():
            tables = self._data_tables(chars)
            own[tables] = tables
        if (own < 0).all():
            return np.full(len(self.of_lines), -1)
        _nearest_above(self.parents, own)
        groups: Ints = own[self.of_lines]
        return groups

    def numbered_groups(self, groups: Ints) -> bytes:
        """Return the `groups` as a byte for each line: 0 for none, odd for code, even for a table.

        Those of adjacent groups differ.
        """
        if (groups < 0).all():
            return b""
        is_table = self.names[groups] == _TABLE
        n_before = np.cumsum(np.diff(groups, prepend=-1) != 0)
        return np.where(groups < 0, 0, 1 + 2 * (n_before % 100) + is_table).astype(np.uint8).tobytes()

    def _data_tables(self, chars: Floats) -> Ints:
        held = self.sums(np.stack([np.ones(len(chars)), chars], axis=1))
        is_long = (held[:, 0] > _MAX_CELL_LINES) | (held[:, 1] > _MAX_CELL_CHARS)
        is_not_data = np.isin(self.names, _NOT_IN_TABLES) | (np.isin(self.names, _CELLS) & is_long)
        is_around = np.zeros(len(self.names), np.bool_)
        is_around[self.above(np.nonzero(is_not_data)[0])] = True
        _use_above(self.parents, is_around)
        rows = self.above(np.nonzero(self.names == _ROW)[0])
        bodies = np.where(self.names[rows] == _TABLE, rows, self.above(rows))
        n_rows = np.bincount(bodies, minlength=len(self.names))
        tables: Ints = np.nonzero((self.names == _TABLE) & ~is_around & (n_rows >= 2))[0]
        return tables

    def meeting(self, element: int) -> Ints:
        """Return the lowest common ancestor of each element and this one."""
        shared = np.full(len(self.parents), -1, np.int64)
        k = element
        while k >= 0:
            shared[k] = k
            k = int(self.parents[k])
        _take_from_above(self.parents, shared)
        return shared


def placed(text: PageText) -> Places:
    """Return the elements of a page that contain lines; others are omitted."""
    parents, names, starts, ends = text.nodes
    is_used = np.zeros(len(parents), np.bool_)
    is_used[text.of_lines] = True
    is_used[:1] = True
    _use_above(parents, is_used)
    used = np.nonzero(is_used)[0]
    numbers = np.cumsum(is_used) - 1
    above, starts, ends = parents[used], starts[used], ends[used]
    words, word_ends = np.empty(int((ends - starts).sum()), np.uint8), np.empty(len(used), np.int64)
    n_bytes = _copy_words(text.page, starts, ends, words, word_ends)
    new_parents = np.where(above >= 0, numbers[np.maximum(above, 0)], -1)
    return Places(names[used], words[:n_bytes], word_ends, new_parents, numbers[text.of_lines], text.linked)


_NAMING = np.zeros((3, 8), np.uint8)  # attributes whose values are words of an element
for _row, _word in enumerate((b" class=", b" id=", b" role=")):
    _NAMING[_row, : len(_word)] = np.frombuffer(_word, np.uint8)


@kernel
def _copy_words(page: Any, starts: Any, ends: Any, words: Any, word_ends: Any) -> Any:
    """Copy the values of class, id and role of elements in lower case, each after a space.

    What the HTML library escapes is no part of a word, so it becomes a space.
    """
    size = 0
    for k in range(len(starts)):
        limit, i = size + _MAX_WORDS_BYTES, starts[k]
        while i < ends[k]:
            name = i
            while page[i] != _EQUALS or i == name + 1:  # a name may begin with one
                i += 1
            i += 2
            is_naming = _is_naming(page, name)
            if is_naming and size < limit:
                words[size] = _SPACE
                size += 1
            while i < ends[k] and page[i] != _QUOTE:
                byte = page[i]
                if byte == _AMPERSAND:
                    while page[i] != _SEMICOLON:
                        i += 1
                    byte = _SPACE
                if is_naming and size < limit:
                    words[size] = byte + 32 if 65 <= byte <= 90 else byte
                    size += 1
                i += 1
            i += 1
        word_ends[k] = size
    return size


@inner
def _is_naming(page: Any, i: Any) -> Any:
    """Whether the attribute behind the space at i is one of _NAMING."""
    for row in range(len(_NAMING)):
        k = 0
        while _NAMING[row, k] != 0 and page[i + k] == _NAMING[row, k]:
            k += 1
        if _NAMING[row, k] == 0:
            return True
    return False


@kernel
def _use_above(parents: Any, is_used: Any) -> Any:
    for k in range(len(parents) - 1, 0, -1):
        if is_used[k]:
            is_used[parents[k]] = True
    return 0


@kernel
def _count_down(parents: Any, depths: Any) -> Any:
    for k in range(len(parents)):
        if parents[k] >= 0:
            depths[k] = depths[parents[k]] + 1
    return 0


@kernel
def _nearest_above(parents: Any, own: Any) -> Any:
    for k in range(len(parents)):
        if own[k] < 0 and parents[k] >= 0:
            own[k] = own[parents[k]]
    return 0


@kernel
def _sum_up(parents: Any, of_lines: Any, values: Any, total: Any) -> Any:
    for line in range(len(of_lines)):
        for c in range(values.shape[1]):
            total[of_lines[line], c] += values[line, c]
    for k in range(len(parents) - 1, 0, -1):
        for c in range(values.shape[1]):
            total[parents[k], c] += total[k, c]
    return 0


@kernel
def _hash_kinds(parents: Any, names: Any, words: Any, ends: Any, calls: Any, paths: Any) -> Any:
    start = 0
    for k in range(len(parents)):
        above, parent_name = (paths[parents[k]], names[parents[k]]) if parents[k] >= 0 else (0, 0)
        paths[k] = (above * 1_000_003 + names[k] + 1) & 0xFFFFFFFFFF
        call = hash_of(words, start, ends[k])
        calls[k] = (call ^ (call >> 32)) * 0x10001 + names[k] * 256 + parent_name
        start = ends[k]
    return 0


@kernel
def _or_down(parents: Any, bits: Any) -> Any:
    for k in range(len(parents)):
        if parents[k] >= 0:
            bits[k] |= bits[parents[k]]
    return 0


@kernel
def _spread_down(parents: Any, all_of: Any) -> Any:
    for k in range(len(parents)):
        p = parents[k]
        if p >= 0:
            all_of[k, 0] = min(all_of[k, 0], all_of[p, 0])
            all_of[k, 1] = max(all_of[k, 1], all_of[p, 1])
            all_of[k, 2] += all_of[p, 2]
    return 0


@kernel
def _take_from_above(parents: Any, shared: Any) -> Any:
    for k in range(len(parents)):
        if shared[k] < 0:
            shared[k] = shared[parents[k]]
    return 0
