"""Topics from rules that the user writes: patterns of URLs, or a list of words and phrases.

For words and phrases:

    evidence = sum over words of weight * (3 in title + 2 in headings + 2 in URL + log2(1 + occurrences in the text))
    relevance = 1 - 2 ^ (-evidence / enough)

where "in" is 1 if the word occurs there, else 0; negative evidence counts as 0. So a page with an evidence of `enough`
has a relevance of 1/2, one with twice as much 3/4, one without any of the words 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.topics.topic import PageContent, Topic, topic
from orienteer.topics.words import is_unspaced

_IN_TITLE, _IN_HEADINGS, _IN_URL = 3.0, 2.0, 2.0


@topic
class Keywords(Topic):
    """Words and phrases, ignoring case; `compil*` matches all words with this prefix.

    `weights` has a number for each word (default 1), below 0 for words that are evidence against the topic.
    """

    name = "keywords"

    def __init__(self, words: tuple[str, ...] = (), weights: tuple[float, ...] = (), enough: float = 4.0) -> None:
        if not any(word.strip(" *") for word in words):
            raise InputError(f"topic {self.name}: it needs words")
        if weights and len(weights) != len(words):
            raise InputError(f"weights: {len(weights)} numbers for {len(words)} words")
        if not all(math.isfinite(weight) for weight in weights):
            raise InputError("weights: they must be finite numbers")
        if not (enough > 0 and math.isfinite(enough)):
            raise InputError(f"enough is {enough}; it must be above 0")
        self.enough = float(enough)
        self._words = [_Word(word, weight) for word, weight in zip(words, weights or [1.0] * len(words), strict=True)]

    def relevance(self, pages: Sequence[PageContent]) -> NDArray[np.float64]:
        evidence = np.array([self._evidence(page) for page in pages], np.float64)
        return np.asarray(1 - np.exp2(-np.maximum(evidence, 0) / self.enough))

    def _evidence(self, page: PageContent) -> float:
        title, headings, text = _plain(page.title), _plain("\n".join(page.headings)), _plain(page.text)
        url = re.sub(r"[\W_]+", " ", page.url).lower()
        total = 0.0
        for word in self._words:
            found = math.log2(1 + word.count(text))
            found += _IN_TITLE * bool(word.count(title)) + _IN_HEADINGS * bool(word.count(headings))
            found += _IN_URL * bool(word.count(url))
            total += word.weight * found
        return total


class _Word:
    """A word or phrase, which matches as a whole, not inside of a word."""

    def __init__(self, text: str, weight: float) -> None:
        self.weight = weight
        plain = _plain(text)
        self._plain = plain.rstrip("* ")
        if not self._plain:
            raise InputError(f"words: {text!r} is no word")
        first, last = self._plain[0], self._plain[-1]
        before = r"(?<!\w)" if _ends_at_space(first) else ""
        behind = r"(?!\w)" if _ends_at_space(last) and not plain.endswith("*") else ""
        self._pattern = re.compile(before + re.escape(self._plain) + behind)

    def count(self, text: str) -> int:
        # The substring test is many times faster, and most pages do not have the word.
        return sum(1 for _ in self._pattern.finditer(text)) if self._plain in text else 0


def _ends_at_space(character: str) -> bool:
    return character.isalnum() and not is_unspaced(character)


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


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
