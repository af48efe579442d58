"""Gathers what somebody may be about to type, and writes it as `completions.npz` of an index (see `completion`).

Titles come from the pages of the highest rank, each once; words are those that stand on the most pages. A title can be
found by its beginning, and by each of its first words: who types `charts` may mean `Old sea charts`.
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
from orienteer.search.text_index import WRITTEN, refusals
from orienteer.search.words import PLAIN, words_of
from orienteer.store.failures import explained
from orienteer.store.page_texts import PageTexts

MAX_TITLES = 50_000
MAX_WORDS = 50_000
_MAX_STARTS = 8  # words of a title that it is found by
_MAX_TITLE_CHARS = 120
_MIN_WORD_CHARS = 3  # of what has no longer form worth typing; a sign of a script without spaces is no word to complete


class _Entry(NamedTuple):
    """What is offered, how much it counts among its kind, and what it is found by."""

    text: str
    kind: int
    weight: float
    keys: tuple[str, ...]


def has_completions(folder: Path) -> bool:
    return (folder / FILE).exists()


def write_completions(
    folder: Path, texts: PageTexts, searcher: tantivy.Searcher, ranks: NDArray[np.float64], pages: NDArray[np.int64]
) -> None:
    """Gather them from the titles of these pages, which are in increasing order, and from the words of the index.

    `ranks` are those of all pages of the crawl.
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
    with explained(folder / FILE), replaced_inside(folder / FILE) as new:
        np.savez(new, **arrays)  # type: ignore[arg-type]  # its types know no names


def _titles(texts: PageTexts, ranks: NDArray[np.float64], pages: NDArray[np.int64]) -> Iterator[_Entry]:
    """Titles of the pages of the highest rank; of those that say the same, the one of the best page."""
    best = pages[np.argsort(-ranks[pages], kind="stable")[:MAX_TITLES]]
    wanted = set(best.tolist())
    found: dict[tuple[str, ...], tuple[float, str]] = {}
    for page, title in texts.titles():
        if page in wanted:
            text = cleaned(title)[:_MAX_TITLE_CHARS].strip()
            words = words_of(text, PLAIN)
            rank = float(ranks[page])
            if words and rank > found.get(words, (-1.0, ""))[0]:
                found[words] = (rank, text)
    for words, (rank, text) in found.items():
        starts = range(min(len(words), _MAX_STARTS))
        yield _Entry(text, TITLE, rank, tuple(" ".join(words[start:]) for start in starts))


def _words(folder: Path, searcher: tantivy.Searcher) -> Iterator[_Entry]:
    """The words that stand on the most pages, as they are written."""
    with refusals(folder):
        counted = searcher.terms_with_prefix(WRITTEN, "", limit=MAX_WORDS)
    for word, n_pages in counted:
        keys = words_of(word, PLAIN)
        if len(keys) == 1 and len(word) >= _MIN_WORD_CHARS and not word[0].isdigit():
            yield _Entry(word, WORD, float(n_pages), keys)


def _packed(name: str, texts: list[bytes]) -> dict[str, NDArray[np.generic]]:
    """Texts one after the other, and where each begins."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    return {
        f"{name}_bytes": np.frombuffer(b"".join(texts), np.uint8),
        f"{name}_offsets": np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))),
    }
