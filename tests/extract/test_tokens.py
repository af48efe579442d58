"""Words have the same buckets in all processes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from orienteer.extract.tokens import MAX_LINK_WORDS, N_BUCKETS, link_tokens, page_tokens


def test_buckets_are_the_same_in_every_process() -> None:
    assert link_tokens("Lecture notes", "http://example.org/courses/notes.html").tolist() == [
        4371, 24782, 60756, 9228, 9742,
    ]  # fmt: skip


def test_case_and_punctuation_do_not_count() -> None:
    assert page_tokens("The CAT, the dog!").tolist() == page_tokens("the cat the dog").tolist()
    assert page_tokens("Ärger").tolist() == page_tokens("(ärger)").tolist()


def test_a_folder_is_another_word_than_an_anchor() -> None:
    assert link_tokens("notes", "").tolist() != link_tokens("", "http://e.org/notes").tolist()
    assert link_tokens("", "http://e.org/a%20b?c=d").tolist() == link_tokens("", "http://f.org/a/b/c/d").tolist()


@given(st.text(), st.text())
def test_any_text_has_tokens(anchor: str, url: str) -> None:
    words = link_tokens(anchor, url)
    assert words.dtype == np.uint32
    assert len(words) <= 2 * MAX_LINK_WORDS
    assert all(1 <= word < N_BUCKETS for word in words)


def test_long_texts_are_cut() -> None:
    assert len(page_tokens("ab " * 100_000)) == 20_000
