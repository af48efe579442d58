from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from orienteer.graph.url_table import GrowingUrlTable, UrlTable

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(st.lists(texts, max_size=60))
def test_a_table_is_the_list_it_was_made_of(urls: list[str]) -> None:
    table = UrlTable.of(urls)
    assert list(table) == urls
    assert len(table) == len(urls)
    for url in urls:
        assert table.find(url) == urls.index(url)
    assert table.find("no such url") is None


@given(st.lists(st.lists(texts, max_size=20), max_size=20))
def test_interning_numbers_urls_in_order_of_discovery(batches: list[list[str]]) -> None:
    growing, expected = GrowingUrlTable(), {}
    for batch in batches:
        ids = growing.intern(batch)
        assert ids.tolist() == [expected.setdefault(url, len(expected)) for url in batch]
    assert list(growing.freeze()) == list(expected)


def test_it_keeps_its_ids_while_it_grows() -> None:
    growing = GrowingUrlTable()
    urls = [f"http://h{k % 97}.example/some/longer/path/{k}" for k in range(30_000)]
    for start in range(0, len(urls), 1000):
        growing.intern(urls[start : start + 1000])
    assert growing.intern(urls[::7]).tolist() == list(range(0, 30_000, 7))
    assert len(growing) == 30_000


def test_slices_negative_places_and_taken() -> None:
    table = UrlTable.of(["a", "", "ccc", "dd"])
    assert (table[-1], table[1:3], table[::-1]) == ("dd", ["", "ccc"], ["dd", "ccc", "", "a"])
    assert list(table.taken(np.array([3, 0, 0, 1]))) == ["dd", "a", "a", ""]
    assert list(table.taken(np.array([], np.int64))) == []


def test_bytes_that_are_not_utf8_can_still_be_printed() -> None:
    assert UrlTable.of([b"http://a/\xff"])[0] == "http://a/\ufffd"
