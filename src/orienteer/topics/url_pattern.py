"""Pages on topic by their URLs alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.topics.topic import PageContent, Topic, topic


@topic
class UrlPattern(Topic):
    """1 where one of the `patterns` is found in the URL (or there are none) and none of `exclude`; else 0.

    Patterns are regular expressions that may match anywhere in the URL, in lower or upper case.
    """

    name = "url-pattern"
    reads_text = False

    def __init__(self, patterns: tuple[str, ...] = (), exclude: tuple[str, ...] = ()) -> None:
        if not patterns and not exclude:
            raise InputError(f"topic {self.name}: it needs patterns, or exclude, or both")
        self._patterns = compiled("patterns", patterns)
        self._exclude = compiled("exclude", exclude)

    def relevance(self, pages: Sequence[PageContent]) -> NDArray[np.float64]:
        return np.array([self._matches(page.url) for page in pages], np.float64)

    def _matches(self, url: str) -> bool:
        if any(pattern.search(url) for pattern in self._exclude):
            return False
        return not self._patterns or any(pattern.search(url) for pattern in self._patterns)


def compiled(setting: str, patterns: Sequence[str]) -> list[re.Pattern[str]]:
    """The patterns, ready to search with; what is wrong with one is one line."""
    found = []
    for pattern in patterns:
        try:
            found.append(re.compile(pattern, re.IGNORECASE))
        except (re.error, RecursionError, OverflowError) as error:
            raise InputError(f"{setting}: {pattern!r} is no regular expression ({error})") from None
    return found
