"""Learned words: kernels find the same words as regular expressions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.extract.feature_columns import WORDS, line_counts
from orienteer.extract.learned_words import (
    SHORT_LINE_WORDS,
    LearnedWords,
    element_words,
    line_words,
    lowered,
    title_shares,
)
from orienteer.extract.line_places import Places

_KNOWN = {"share": -2.0, "nav": -1.5, "entry": 2.5, "été": 0.5, "日本": 1.0, "a1": -0.25, "привет": 0.75}
_LEARNED = LearnedWords(_KNOWN, _KNOWN)
_PIECES = st.sampled_from([*_KNOWN, "Share", "ÉTÉ", "x", "unknown", " ", "-", "’", "© ", "_", ".", "ß", "한국", "  "])
_LINES = st.lists(st.lists(_PIECES, min_size=1, max_size=24).map("".join), min_size=1, max_size=6)


def _places(words: list[str]) -> Places:
    """Return empty elements with these classes."""
    encoded = [one.encode() for one in words]
    ends = np.cumsum([len(one) for one in encoded])
    nothing = np.zeros(len(words), np.int64)
    letters = np.frombuffer(b"".join(encoded), np.uint8)
    return Places(nothing, letters, ends, nothing - 1, nothing[:0], np.zeros(0))


def _n_words(lines: list[str]) -> np.ndarray:
    return line_counts("\n".join(lines), len(lines))[:, WORDS]


@given(st.lists(st.lists(_PIECES, max_size=12).map(lambda pieces: "".join(pieces).lower()), min_size=1, max_size=6))
def test_element_scores(words: list[str]):
    for row, said in zip(_LEARNED.element_scores(_places(words)).tolist(), words, strict=True):
        own = [_KNOWN[word] for word in element_words(said) if word in _KNOWN]
        assert row == pytest.approx([min([0.0, *own]), max([0.0, *own]), sum(own)])


@given(_LINES)
def test_line_scores(lines: list[str]):
    n_words = _n_words(lines)
    for row, line, n in zip(
        _LEARNED.line_scores(lowered("\n".join(lines)), n_words).tolist(), lines, n_words, strict=True
    ):
        own = [_KNOWN[word] for word in line_words(line) if word in _KNOWN]
        if n > SHORT_LINE_WORDS or not own:
            assert row == [0, 0, 0]
        else:
            assert row == pytest.approx([min(own), max(own), sum(own) / len(own)])


@given(_LINES, st.lists(_PIECES, max_size=12).map("".join))
def test_shares_of_the_title(lines: list[str], title: str):
    n_words, of_title = _n_words(lines), line_words(title)
    for row, line, n in zip(
        title_shares(lowered("\n".join(lines)), n_words, title).tolist(), lines, n_words, strict=True
    ):
        shared = line_words(line) & of_title
        if n > SHORT_LINE_WORDS or not shared:
            assert row == [0, 0]
        else:
            assert row == pytest.approx([len(shared) / len(line_words(line)), len(shared) / len(of_title)])


@given(_LINES)
def test_the_number_of_words_of_a_short_line_is_bounded(lines: list[str]):
    assert all(len(line_words(line)) <= n for line, n in zip(lines, _n_words(lines), strict=True))


def test_no_learned_words_have_no_scores():
    assert not LearnedWords({}, {}).line_scores(lowered("Share"), np.ones(1)).any()
