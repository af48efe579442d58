"""Pages on topic by the length of their text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.topics.topic import PageContent, Topic


class LongText(Topic):
    """1 where the text of a page has at least so many `words`; else 0."""

    name: ClassVar[str] = "long-text"

    def __init__(self, words: int = 100) -> None:
        if words < 1:
            raise InputError(f"words is {words}; it must be at least 1")
        self._words = words

    def relevance(self, pages: Sequence[PageContent]) -> NDArray[np.float64]:
        return np.array([len(page.text.split()) >= self._words for page in pages], np.float64)
