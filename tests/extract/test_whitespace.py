"""White space collapsed by the kernel, against words split and joined."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from orienteer.extract.whitespace import BLOCK_MARK, lines


def reference(text: str) -> str:
    found = [" ".join(re.findall("[^ \t\n\v\f\r\u00a0]+", line)) for line in text.split(BLOCK_MARK)]
    return "\n".join(line for line in found if line).strip()


@given(
    st.lists(st.sampled_from([*" \t\n\v\f\r\u00a0", BLOCK_MARK, "a", "bc", "ä", "â", "日", "\U0001f600", "\0"])).map(
        "".join
    )
)
def test_lines_hold_words_and_single_spaces(text):
    assert lines(text) == reference(text)


@given(st.text())
def test_any_text_has_lines(text):
    assert lines(text) == reference(text)
