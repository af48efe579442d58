"""Collect query completions, and write them as `completions.npz` of an index (see `completion`).

Titles come from the pages of the highest rank, each once; words are those that occur on the most pages. A title
matches from its beginning and from each of its first words: `charts` completes to `Old sea charts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tantivy
from numpy.typing import NDArray

from orienteer.files.plain import replaced_inside
from orienteer.search.completion import FILE, TITLE, WORD, cleaned
from orienteer.search.text_index import WRITTEN, tantivy_errors
from orienteer.search.words import PLAIN, words_of
from orienteer.store.failures import map_disk_errors
from orienteer.store.page_texts import PageTexts

MAX_TITLES = 50_000
MAX_WORDS = 50_000
_MAX_STARTS = 8  # words of a title from which it matches
_MAX_TITLE_CHARS = 120
_MIN_WORD_CHARS = 3  # shorter words are quicker to type than to choose; also excludes single characters of CJK scripts


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
