"""Query completions: titles and frequent words by prefix, in `completions.npz` of an index.

The file has sorted keys, normalized like indexed words (see `words`), so that `cafe` is a prefix of `Café` and a title
in any script matches by its first characters; the text of each key, and its weight. The keys with a given prefix are
adjacent: a completion is a binary search and a pass over the matching keys.

Titles come from the pages of the highest rank, each once; words are those that occur on the most pages. A title
matches from its beginning and from each of its first words: `charts` completes to `Old sea charts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tantivy
from numpy.typing import NDArray

from orienteer.files.plain import replaced_inside
from orienteer.search.page_columns import ArrayFile, damaged_index
from orienteer.search.query import FIELDS
from orienteer.search.text_index import WRITTEN, tantivy_errors
from orienteer.search.words import PLAIN, words_of
from orienteer.store.failures import map_disk_errors
from orienteer.store.page_texts import PageTexts

FILE = "completions.npz"
WORD, TITLE = 0, 1
MAX_TYPED_CHARS = 200  # longer queries are not completed
_RULE = re.compile(rf'"|\b({"|".join(FIELDS)}):', re.IGNORECASE)
MAX_TITLES = 50_000
MAX_WORDS = 50_000
_MAX_STARTS = 8  # words of a title from which it matches
_MAX_TITLE_CHARS = 120
_MIN_WORD_CHARS = 3  # shorter words are quicker to type than to choose; also excludes single characters of CJK scripts


@dataclass(frozen=True)
class Suggestion:
    """A suggested query; `kind` is `word` or `title`."""

    text: str
    kind: str


def cleaned(title: str) -> str:
    """Return a title without the operators of the query language.

    >>> cleaned('  "Red"  +apples - and Title:pears')
    'Red apples and Title pears'
    """
    words = (word.lstrip("+-") for word in _RULE.sub(r"\1 ", title).split())
    return " ".join(word for word in words if word)


class Completions:
    """The completions of an index; empty if the index has no file of them yet."""

    def __init__(self, folder: Path) -> None:
        path = folder / FILE
        arrays = ArrayFile(path).read() if path.exists() else {}
        try:
            self._keys = _Texts(arrays, "key")
            self._texts = _Texts(arrays, "text")
            self._targets, self._weights, self._kinds = (
                arrays.get(name, np.zeros(0, np.int64)) for name in ("targets", "weights", "kinds")
            )
            self._check()
        except (KeyError, ValueError, TypeError) as error:
            raise damaged_index(path, error) from None

    def words(self, typed: str, n: int) -> list[str]:
        """Return the n words with this prefix that occur on the most pages; none if `typed` is several words."""
        keys = words_of(typed, PLAIN)
        return self._best(keys[0], WORD, n) if len(keys) == 1 and len(typed) <= MAX_TYPED_CHARS else []

    def titles(self, typed: str, n: int) -> list[str]:
        """Return the n titles of the highest rank that have these words, the last one as a prefix."""
        key = " ".join(words_of(typed, PLAIN)) if len(typed) <= MAX_TYPED_CHARS else ""
        is_complete = key and not typed[-1:].isalnum() and key.isascii()  # a space ends a word
        return self._best(key + " " * bool(is_complete), TITLE, n) if key else []

    def _best(self, key: str, kind: int, n: int) -> list[str]:
        first, end = self._keys.beginning_with(key.encode())
        found = self._targets[first:end]
        found = np.unique(found[self._kinds[found] == kind])
        best = found[np.argsort(-self._weights[found], kind="stable")[:n]]
        return [self._texts[int(number)].decode(errors="replace") for number in best]

    def _check(self) -> None:
        """Raise ValueError for inconsistent arrays; the file may be untrusted."""
        n_texts = len(self._texts)
        if self._targets.shape != (len(self._keys),) or self._targets.dtype.kind not in "iu":
            raise ValueError("keys and targets differ in length")
        is_float = self._weights.dtype.kind in "fiu"
        if self._weights.shape != (n_texts,) or self._kinds.shape != (n_texts,) or not is_float:
            raise ValueError("texts, weights and kinds differ in length")
        if len(self._targets) and not 0 <= self._targets.min() <= self._targets.max() < n_texts:
            raise ValueError("a key has no text")


class _Texts:
    """Concatenated texts and their offsets."""

    def __init__(self, arrays: dict[str, NDArray[Any]], name: str) -> None:
        self._offsets = arrays[f"{name}_offsets"] if arrays else np.zeros(1, np.int64)
        self._bytes = arrays[f"{name}_bytes"].astype(np.uint8, casting="safe").tobytes() if arrays else b""
        offsets = self._offsets
        if offsets.ndim != 1 or not len(offsets) or offsets.dtype.kind not in "iu":
            raise ValueError("there are no offsets of texts")
        if offsets[0] != 0 or offsets[-1] != len(self._bytes) or (offsets[1:] < offsets[:-1]).any():
            raise ValueError("texts overlap")

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, number: int) -> bytes:
        return self._bytes[int(self._offsets[number]) : int(self._offsets[number + 1])]

    def beginning_with(self, key: bytes) -> tuple[int, int]:
        """Return the range of the texts with this prefix; the texts are sorted."""
        return self._place(key), self._place(key + b"\xff")  # no text in UTF-8 has this byte

    def _place(self, key: bytes) -> int:
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self[middle] < key:
                low = middle + 1
            else:
                high = middle
        return low


class _Entry(NamedTuple):
    """A completion, its weight among those of its kind, and the keys that it matches."""

    text: str
    kind: int
    weight: float
    keys: tuple[str, ...]


def has_completions(folder: Path) -> bool:
    return (folder / FILE).exists()


def write_completions(
    folder: Path, texts: PageTexts, searcher: tantivy.Searcher, ranks: NDArray[np.float64], pages: NDArray[np.int64]
) -> None:
    """Collect the titles of `pages`, which must be in increasing order, and the words of the index.

    `ranks` has the ranks of all pages of the crawl.
    """
    entries = [*_titles(texts, ranks, pages), *_words(folder, searcher)]
    keys = sorted((key.encode(), number) for number, entry in enumerate(entries) for key in entry.keys)
    arrays = {
        **_packed("key", [key for key, _ in keys]),
        **_packed("text", [entry.text.encode() for entry in entries]),
        "targets": np.array([number for _, number in keys], np.int32),
        "weights": np.array([entry.weight for entry in entries], np.float64),
        "kinds": np.array([entry.kind for entry in entries], np.int8),
    }
    with map_disk_errors(folder / FILE), replaced_inside(folder / FILE) as new:
        np.savez(new, **arrays)  # type: ignore[arg-type]  # numpy's types do not allow keyword arrays


def _titles(texts: PageTexts, ranks: NDArray[np.float64], pages: NDArray[np.int64]) -> Iterator[_Entry]:
    """Yield titles of the pages of the highest rank; of equal titles, the one of the best page."""
    best = pages[np.argsort(-ranks[pages], kind="stable")[:MAX_TITLES]]
    selected = set(best.tolist())
    found: dict[tuple[str, ...], tuple[float, str]] = {}
    for page, title in texts.titles():
        if page in selected:
            text = cleaned(title)[:_MAX_TITLE_CHARS].strip()
            words = words_of(text, PLAIN)
            rank = float(ranks[page])
            if words and rank > found.get(words, (-1.0, ""))[0]:
                found[words] = (rank, text)
    for words, (rank, text) in found.items():
        starts = range(min(len(words), _MAX_STARTS))
        yield _Entry(text, TITLE, rank, tuple(" ".join(words[start:]) for start in starts))


def _words(folder: Path, searcher: tantivy.Searcher) -> Iterator[_Entry]:
    """Yield the words that occur on the most pages, as they are written."""
    with tantivy_errors(folder):
        counted = searcher.terms_with_prefix(WRITTEN, "", limit=MAX_WORDS)
    for word, n_pages in counted:
        keys = words_of(word, PLAIN)
        if len(keys) == 1 and len(word) >= _MIN_WORD_CHARS and not word[0].isdigit():
            yield _Entry(word, WORD, float(n_pages), keys)


def _packed(name: str, texts: list[bytes]) -> dict[str, NDArray[np.generic]]:
    """Return the texts concatenated, and their offsets."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    return {
        f"{name}_bytes": np.frombuffer(b"".join(texts), np.uint8),
        f"{name}_offsets": np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))),
    }
