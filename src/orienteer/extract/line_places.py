"""The enclosing elements of the lines of a page as arrays, and sums over the subtree of each element."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.blocks import Block, Element
from orienteer.extract.elements import NUMBERS
from orienteer.extract.markup_notes import NodeTable
from orienteer.extract.reader import LINE_NODES
from orienteer.extract.tags import copy_naming, hash_of
from orienteer.kernel import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MAX_WORDS_BYTES = 400  # of an element


@dataclass(slots=True)
class Places:
    """The elements that contain lines, each after its parent; the page itself is 0, with the parent -1.

    `names` are numbers (`elements`). `words` has class, id and role of the elements in lower case and UTF-8,
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

    def meeting(self, element: int) -> Ints:
        """Return the lowest common ancestor of each element and this one."""
        shared = np.full(len(self.parents), -1, np.int64)
        k = element
        while k >= 0:
            shared[k] = k
            k = int(self.parents[k])
        _take_from_above(self.parents, shared)
        return shared


def placed(nodes: NodeTable, html: bytes, of_lines: Ints, linked: Floats) -> Places:
    """Return the elements of a page in UTF-8 that contain lines; others are omitted."""
    is_used = np.zeros(len(nodes.parents), np.bool_)
    is_used[of_lines] = True
    is_used[:1] = True
    _use_above(nodes.parents, is_used)
    used = np.nonzero(is_used)[0]
    numbers = np.cumsum(is_used) - 1
    above, starts, ends = nodes.parents[used], nodes.starts[used], nodes.ends[used]
    words, word_ends = np.empty(int((ends - starts).sum()), np.uint8), np.empty(len(used), np.int64)
    n_bytes = _copy_words(np.frombuffer(html, np.uint8), starts, ends, words, word_ends)
    parents = np.where(above >= 0, numbers[np.maximum(above, 0)], -1)
    return Places(nodes.names[used], words[:n_bytes], word_ends, parents, numbers[of_lines], linked)


def places_of(lines: list[Block]) -> Places:
    """Return the places of blocks with a text. Inline elements such as `b` are omitted, as in `line_reader`."""
    found: dict[int, Element] = {}
    for line in lines:
        element: Element | None = line.element
        while element is not None and element.number not in found:
            found[element.number] = element
            element = _parent_block(element)
    elements = [found[number] for number in sorted(found)]
    indexes = {element.number: k for k, element in enumerate(elements)}
    words = [element.words.encode() for element in elements]
    above = [_parent_block(element) for element in elements]
    return Places(
        np.array([NUMBERS.get(element.name, 0) for element in elements], np.int64),
        np.frombuffer(b"".join(words), np.uint8),
        np.cumsum([len(one) for one in words], dtype=np.int64),
        np.array([-1 if one is None else indexes[one.number] for one in above], np.int64),
        np.array([indexes[line.element.number] for line in lines], np.int64),
        np.array([line.n_linked for line in lines], np.float64),
    )


def _parent_block(element: Element) -> Element | None:
    """Return the nearest ancestor that is a block or a link, or else the page."""
    above = element.parent
    while above is not None and above.parent is not None and above.name not in LINE_NODES:
        above = above.parent
    return above


@kernel
def _copy_words(page: Any, starts: Any, ends: Any, words: Any, word_ends: Any) -> Any:
    size = 0
    for k in range(len(starts)):
        size = copy_naming(page, starts[k], ends[k], words, size, _MAX_WORDS_BYTES)
        word_ends[k] = size
    return size


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
