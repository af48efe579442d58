"""What differs between two texts."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from orienteer.inspect.text_changes import MAX_LINES, text_changes

_TEXTS = st.lists(st.sampled_from(["a", "b b", "c c c", "d", "", " e "]), max_size=12).map("\n".join)


def lines_of(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


@given(_TEXTS, _TEXTS)
def test_one_text_becomes_the_other(before: str, after: str) -> None:
    changes = text_changes(before, after)
    assert sum(line.n_skipped for line in changes.lines) + sum(
        line.kind in ("same", "removed") for line in changes.lines
    ) == len(lines_of(before))
    removed = [line.text for line in changes.lines if line.kind == "removed"]
    added = [line.text for line in changes.lines if line.kind == "added"]
    assert sorted(lines_of(before) + added) == sorted(lines_of(after) + removed)
    assert (changes.n_added, changes.n_removed) == (len(added), len(removed))
    assert (before == after) <= (not added and not removed)


def test_words_that_differ_are_marked() -> None:
    changes = text_changes("The ferry leaves at nine.", "News.\nThe ferry leaves at ten.")
    marked = [text for line in changes.lines for text, differs in line.pieces if differs]
    assert marked == ["nine.", "ten."]


def test_long_stretches_that_are_the_same_are_left_out() -> None:
    lines = [str(number) for number in range(100)]
    changes = text_changes("\n".join(lines), "\n".join([*lines[:50], "new", *lines[50:]]))
    assert [(line.kind, line.n_skipped) for line in changes.lines] == [
        ("skipped", 48), ("same", 0), ("same", 0), ("added", 0), ("same", 0), ("same", 0), ("skipped", 48),
    ]  # fmt: skip


def test_texts_without_an_end_are_compared_in_part() -> None:
    rng = random.Random(3)
    for words in (2, 50, 100_000):
        one, other = ("\n".join(f"w{rng.randrange(words)} x y" for _ in range(2 * MAX_LINES)) for _ in range(2))
        changes = text_changes(one, other)
        assert not changes.is_complete
        assert changes.n_added <= MAX_LINES
