"""Topics that the user writes: patterns of URLs, a list of words and phrases, or a list of labelled pages.

For words and phrases:

    evidence = sum over words of weight * (3 in title + 2 in headings + 2 in URL + log2(1 + occurrences in the text))
    relevance = 1 - 2 ^ (-evidence / enough)

where "in" is 1 if the word occurs there, else 0; negative evidence counts as 0. So a page with an evidence of `enough`
has a relevance of 1/2, one with twice as much 3/4, one without any of the words 0.

Labelled pages are for simulations in which the truth is known: a text file (.gz, .zst: compressed) with lines `page`,
which is on topic, or `page value`; a page is a URL, or an id in graphs without URLs, and a value is a number from 0 to
1. The separator is a tab, or else the last space of the line. With the setting `label` the value is the name of a
class: `page label`, and a page may have several. Lines that start with # are comments. Pages that are not in the list
have the relevance 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError, OrienteerError
from orienteer.files.compressed import text_of
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.page_names import is_number, page_named
from orienteer.topics.topic import PageContent, Topic, topic
from orienteer.topics.words import is_unspaced
from orienteer.url import canonical_url

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


@topic
class Labels(Topic):
    """The relevance of pages by a file; a page without a URL is given by its id: `PageContent("17", "", "")`."""

    name = "labels"
    reads_text = False
    file_settings = ("file",)

    def __init__(self, file: str = "", label: str = "") -> None:
        if not file:
            raise InputError(f"topic {self.name}: it needs a file of pages and values")
        self.file, self.label = Path(file), label
        self._values: dict[str, tuple[int, float]] = {}  # by page: the line, the value
        for line, name, value in self._lines():
            page = name if is_number(name) else canonical_url(name) or name
            if page in self._values and not label:
                raise InputError(f"{file}, line {line}: page {name!r} is named twice")
            if page not in self._values or value > self._values[page][1]:
                self._values[page] = line, value
        if not any(value for _, value in self._values.values()):
            raise InputError(f"{file}: no page in it is " + (f"labelled {label!r}" if label else "on topic"))

    def relevance(self, pages: Sequence[PageContent]) -> NDArray[np.float64]:
        return np.array([self._value(page.url) for page in pages], np.float64)

    def of_graph(self, web: LinkGraph) -> NDArray[np.float64]:
        """Return the relevance of all pages of a graph; a listed page that is not in the graph is an error."""
        relevance = np.zeros(web.n_pages)
        for name, (line, value) in self._values.items():
            try:
                page = page_named(web, name)
            except OrienteerError as error:
                raise InputError(f"{self.file}, line {line}: {error}") from None
            relevance[page] = max(relevance[page], value)
        return relevance

    def _value(self, url: str) -> float:
        found = self._values.get(url) or self._values.get(canonical_url(url) or "")
        return found[1] if found else 0.0

    def _lines(self) -> Iterator[tuple[int, str, float]]:
        """Yield the number, page and value of each line."""
        text = text_of(self.file, str(self.file), "no such file of labels")
        for number, line in enumerate(text.splitlines(), 1):
            line = line.strip()
            if line and not line.startswith("#"):
                name, _, value = line.rpartition("\t" if "\t" in line else " ")
                if self.label:
                    yield number, name.strip(), float(value.strip() == self.label)
                elif name.strip():
                    yield number, name.strip(), self._number(number, value)
                else:
                    yield number, line, 1.0

    def _number(self, line: int, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise InputError(f"{self.file}, line {line}: {text.strip()!r} is no number (or set label)") from None
        if not 0 <= value <= 1:
            raise InputError(f"{self.file}, line {line}: the value {text.strip()} must be from 0 to 1")
        return value
