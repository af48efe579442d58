"""A topic from patterns of URLs."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.topics.topic import PageContent, Topic, topic


@topic
class UrlPattern(Topic):
    """Relevance 1 if one of the `patterns` (or there are none) and none of `exclude` matches the URL; else 0.

    Patterns are regular expressions that match anywhere in the URL, ignoring case.
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
    """Compile the patterns of a setting; InputError if one is no regular expression."""
    found = []
    for pattern in patterns:
        try:
            found.append(re.compile(pattern, re.IGNORECASE))
        except (re.error, RecursionError, OverflowError) as error:
            raise InputError(f"{setting}: {pattern!r} is no regular expression ({error})") from None
    return found
