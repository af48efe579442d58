from __future__ import annotations

import unicodedata
from collections import Counter

import numpy as np
import pytest

import orienteer as ori
from orienteer.topics import words
from orienteer.topics.topic import PageContent
from orienteer.topics.words import checked_buckets, is_unspaced, word_counts
from tests.tables import over_rows

N_BUCKETS = 1 << 20  # enough to avoid collisions in these tests


def text_page(text: str) -> PageContent:
    return PageContent("", "", text)


def words_of(text: str) -> Counter[str]:
    """A simple reference implementation, character by character."""
    found: Counter[str] = Counter()
    word = ""
    for character in text + " ":
        is_of_word = unicodedata.category(character)[0] in "LNM" and ord(character) < 1 << 16
        if is_unspaced(character):
            found[character] += 1
        elif is_of_word:
            word += character.lower() if len(character.lower()) == 1 else character
            continue
        if 2 <= len(word) <= 40:
            found[word] += 1
        word = ""
    return found


def counts_of(text: str) -> dict[int, float]:
    row = word_counts([text_page(text)], N_BUCKETS)
    assert len(set(row.indices.tolist())) == row.nnz
    return dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))


def test_words_are_those_of_the_reference(rng: np.random.Generator) -> None:
    alphabet = list("abcXYZ0189 .,-_'\n\t\u00e9\u00c9\u0130\u00df\u0301\u0915\u093f中文かカ한글\u2019\u00a0")
    alphabet += ["\U00020001", "\U0001f600", "\ud800"]
    for _ in range(50):
        text = "".join(rng.choice(alphabet, rng.integers(0, 400)))
        expected: Counter[int] = Counter()
        for word, n in words_of(text).items():
            ((bucket, one),) = counts_of(word).items()
            assert one == 1
            expected[bucket] += n
        assert counts_of(text) == expected


def test_case_and_separators_do_not_count() -> None:
    assert counts_of("The COMPILER, the compiler: the—Compiler") == counts_of("the the the compiler compiler compiler")
    assert counts_of("a b c") == {}  # letters are no words
    assert counts_of("x" * 41) == {}
    assert len(counts_of("x" * 40)) == 1


def test_words_of_title_and_headings_count_once_more_in_buckets_of_their_own() -> None:
    in_text = word_counts([PageContent("", "", "parsing trees")], N_BUCKETS).toarray()
    in_title = word_counts([PageContent("", "parsing", "", ["trees"])], N_BUCKETS).toarray()
    assert in_title.sum() == 4
    assert (in_title * in_text).sum() == 2


def test_words_at_page_boundaries_are_not_joined() -> None:
    pages = [PageContent("", "one", "two"), PageContent("", "three", "four", ["five"])]
    together = word_counts(pages, N_BUCKETS).toarray()
    assert together.tolist() == [word_counts([page], N_BUCKETS).toarray()[0].tolist() for page in pages]


def test_many_pages_are_counted_in_blocks(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    pages = [text_page("".join(rng.choice(list("abc "), rng.integers(0, 90)))) for _ in range(40)]
    at_once = word_counts(pages, 256).toarray()
    monkeypatch.setattr(words, "_BLOCK_CHARS", 100)
    assert word_counts(pages, 256).toarray().tolist() == at_once.tolist()
    assert word_counts([], 256).shape == (0, 256)


def test_buckets_of_words_are_stable() -> None:
    """Other buckets would invalidate all existing models, and need a new format of model files."""
    found = [int(word_counts([text_page(word)]).indices[0]) for word in ("course", "Ünïcode", "中", "42")]
    assert found == PINNED


PINNED = [78208, 79636, 27351, 188]


def test_few_words_share_a_bucket() -> None:
    n_words = 20_000
    text = " ".join(f"word{number}" for number in range(n_words))
    n_distinct = word_counts([text_page(text)]).nnz
    expected = (1 << 18) * (1 - (1 - 2.0**-18) ** n_words)  # thrown at random
    assert abs(n_distinct - expected) < 150


@over_rows("n_buckets", [0, -1, 255, 300, 1 << 25])
def test_buckets_are_a_power_of_two(n_buckets: int) -> None:
    with pytest.raises(ori.InputError, match=f"buckets is {n_buckets}; it must be a power of two"):
        checked_buckets(n_buckets)
