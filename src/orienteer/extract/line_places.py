"""Where the lines of a page stand: the elements around them as arrays, and sums over all that an element holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.blocks import Block, Element
from orienteer.kernel import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MAX_WORDS_CHARS = 400
_NAMING = frozenset(("class", "id", "role"))


@dataclass(slots=True)
class Places:
    """The elements that lines stand in, each after the one around it; the page itself is 0, and has the parent -1.

    `words` are those of class, id and role, in lower case; `linked` are the characters of each line that are links.
    """

    names: list[str]
    words: list[str]
    parents: Ints
    of_lines: Ints
    linked: Floats

    @property
    def depths(self) -> Ints:
        depths = np.zeros(len(self.parents), np.int64)
        _count_down(self.parents, depths)
        return depths

    def of_first(self, n_lines: int) -> Places:
        """Those of the first lines."""
        if n_lines >= len(self.of_lines):
            return self
        return Places(self.names, self.words, self.parents, self.of_lines[:n_lines], self.linked[:n_lines])

    def sums(self, values: Floats) -> Floats:
        """For each element the sum of what all lines in it have; of several columns."""
        total = np.zeros((len(self.parents), values.shape[1]))
        _sum_up(self.parents, self.of_lines, values, total)
        return total

    def above(self, index: Ints) -> Ints:
        """The elements around these; the page where nothing is."""
        return np.maximum(self.parents[index], 0)

    def hashes(self, own: Ints) -> Ints:
        """A number for each path of elements down from the page, of the numbers of its elements."""
        paths = np.zeros(len(own), np.int64)
        _hash_down(self.parents, own, paths)
        return paths

    def flags(self, own: Ints) -> Ints:
        """What bits an element or any around it has."""
        bits = own.copy()
        _or_down(self.parents, bits)
        return bits

    def spread(self, own: Floats) -> tuple[Floats, Floats, Floats]:
        """Of what elements say, (least, most, sum): least, most and sum of it and of all elements around it."""
        all_of = own.copy()
        _spread_down(self.parents, all_of)
        return all_of[:, 0], all_of[:, 1], all_of[:, 2]

    def meeting(self, element: int) -> Ints:
        """For each element the innermost one that holds both it and this one."""
        shared = np.full(len(self.parents), -1, np.int64)
        k = element
        while k >= 0:
            shared[k] = k
            k = int(self.parents[k])
        _take_from_above(self.parents, shared)
        return shared


def placed(
    names: list[str], attributes: list[list[tuple[str, str]]], parents: Ints, of_lines: Ints, linked: Floats
) -> Places:
    """Of elements of these names and attributes, those that a line stands in; the others are left out."""
    is_used = np.zeros(len(parents), np.bool_)
    is_used[of_lines] = True
    is_used[:1] = True
    _use_above(parents, is_used)
    used = np.nonzero(is_used)[0]
    numbers = np.cumsum(is_used) - 1
    kept = used.tolist()
    above = parents[used]
    return Places(
        [names[k] for k in kept],
        [_words_of(attributes[k]) for k in kept],
        np.where(above >= 0, numbers[np.maximum(above, 0)], -1),
        numbers[of_lines],
        linked,
    )


def _words_of(attributes: list[tuple[str, str]]) -> str:
    said = ""
    for name, value in attributes:
        if name in _NAMING and value:
            said = f"{said} {value}"
    return said[:_MAX_WORDS_CHARS].lower()


def places_of(lines: list[Block]) -> Places:
    """Of blocks with a text."""
    found: dict[int, Element] = {}
    for line in lines:
        element: Element | None = line.element
        while element is not None and element.number not in found:
            found[element.number] = element
            element = element.parent
    elements = [found[number] for number in sorted(found)]
    indexes = {element.number: k for k, element in enumerate(elements)}
    return Places(
        [element.name for element in elements],
        [element.words for element in elements],
        np.array([-1 if one.parent is None else indexes[one.parent.number] for one in elements], np.int64),
        np.array([indexes[line.element.number] for line in lines], np.int64),
        np.array([line.n_linked for line in lines], np.float64),
    )


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
def _hash_down(parents: Any, own: Any, paths: Any) -> Any:
    for k in range(len(parents)):
        above = paths[parents[k]] if parents[k] >= 0 else 0
        paths[k] = (above * 1_000_003 + own[k] + 1) & 0xFFFFFFFFFF
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
