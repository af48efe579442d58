"""Collapse white space as browsers do: any amount of it is one space, or the end of a line between blocks.

Splitting a text into words and joining them again would take three times as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.kernel import kernel

BLOCK_MARK = "\x1e"  # marks where a block begins or ends: the record separator, which real pages do not use

_SPACE, _LINE_END, _MARK = 0x20, 0x0A, 0x1E
_NO_BREAK_SPACE = 0xC2, 0xA0  # in UTF-8


def lines(text: str) -> str:
    """Return a text with marks between blocks as lines: a line for each block, collapsed, without empty lines.

    Zeros are removed.

    >>> lines(f" a\\n b{BLOCK_MARK} {BLOCK_MARK}c ")
    'a b\\nc'
    """
    return collapsed(text.replace("\0", "")).tobytes().decode().strip()


def collapsed(text: str) -> NDArray[np.uint8]:
    """Return the same in UTF-8, except that other Unicode white space is not stripped at the ends.

    Zeros are retained, before the white space that they occur in.
    """
    page = np.frombuffer(text.encode(), np.uint8)
    rest = np.empty(len(page), np.uint8)
    return rest[: _collapse(page, rest)]


@kernel
def _collapse(page: Any, rest: Any) -> Any:
    n, i, size = len(page), 0, 0
    gap = 0  # the replacement of the white space before i
    while i < n:
        byte = page[i]
        i += 1
        if byte == _SPACE or 9 <= byte <= 13:
            gap = max(gap, 1)
        elif byte == _NO_BREAK_SPACE[0] and i < n and page[i] == _NO_BREAK_SPACE[1]:
            gap = max(gap, 1)
            i += 1
        elif byte == _MARK:
            gap = 2
        elif byte == 0:
            rest[size] = byte
            size += 1
        else:
            if gap and size:
                rest[size] = _SPACE if gap == 1 else _LINE_END
                size += 1
            gap = 0
            rest[size] = byte
            size += 1
    return size
