"""White space collapsed by the kernel, compared with splitting and joining."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from orienteer.extract.whitespace import BLOCK_MARK, collapsed, lines


def reference(text: str) -> str:
    shown = text.replace("\0", "").split(BLOCK_MARK)
    found = [" ".join(re.findall("[^ \t\n\v\f\r\u00a0]+", line)) for line in shown]
    return "\n".join(line for line in found if line).strip()


_TEXTS = st.lists(
    st.sampled_from([*" \t\n\v\f\r\u00a0", BLOCK_MARK, "a", "bc", "ä", "â", "日", "\U0001f600", "\0"])
).map("".join)


@given(_TEXTS)
def test_lines_hold_words_and_single_spaces(text):
    assert lines(text) == reference(text)


@given(_TEXTS)
def test_zeros_stay_and_change_nothing_else(text):
    with_zeros = collapsed(text).tobytes().decode()
    assert with_zeros.count("\0") == text.count("\0")
    assert with_zeros.replace("\0", "").strip() == reference(text)
    letters = [letter for letter in with_zeros if letter not in " \n"]
    assert letters == [letter for letter in text if letter not in f" \t\n\v\f\r\u00a0{BLOCK_MARK}"]


@given(st.text())
def test_any_text_has_lines(text):
    assert lines(text) == reference(text)
