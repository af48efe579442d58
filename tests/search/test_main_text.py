"""Main text counts more than boilerplate, which is searched too; snippets prefer main text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from orienteer.extract.boilerplate import HostBoilerplate
from orienteer.search import indexing, page_reading
from orienteer.search.indexing import update_index
from orienteer.search.page_reading import main_lines, update_main_lines
from orienteer.search.search_index import SearchIndex
from orienteer.store.page_texts import NewText, PageTexts, _lines, packed_text
from tests.search.small_webs import HandmadeCrawl

FERRY, MENU, BOTH = "http://a.org/ferry", "http://a.org/menu", "http://a.org/both"


@pytest.fixture
def crawl(tmp_path: Path) -> HandmadeCrawl:
    crawl = HandmadeCrawl(tmp_path / "crawl")
    crawl.add({FERRY: "<title>One</title><p>Home</p><p>The ferry leaves at nine in the morning</p><p>Imprint</p>"})
    crawl.add({MENU: "<title>Two</title><p>Ferry</p><p>The museum opens at nine in the morning</p><p>Imprint</p>"})
    crawl.add({BOTH: "<title>Both</title><p>Ferry tickets</p><p>No boat and no ship, but a ferry</p><p>Imprint</p>"})
    return crawl


def set_apart(crawl: HandmadeCrawl, *urls: str) -> None:
    """Mark the first and the last line of these pages as boilerplate."""
    with PageTexts(crawl.path / "index" / "pages.db") as texts:
        for url in urls:
            page = texts.id_of(url)
            assert page is not None
            n_lines = len(texts.lines(page).lines)
            texts.set_main([(page, np.array([0 < line < n_lines - 1 for line in range(n_lines)]))], basis=1)


def test_main_text_comes_first_and_boilerplate_is_found(crawl: HandmadeCrawl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "update_main_lines", lambda *_: 0)  # the test decides which lines are main text
    update_index(crawl.path, processes=1)
    before = [hit.url for hit in SearchIndex.open(crawl.path).search("ferry", rank="text").hits]
    set_apart(crawl, FERRY, MENU, BOTH)
    report = update_index(crawl.path, processes=1)
    assert (report.n_read, report.n_replaced) == (0, 3)
    index = SearchIndex.open(crawl.path)
    found = index.search("ferry", rank="text").hits
    assert {hit.url for hit in found} == set(before)
    assert found[-1].url == MENU
    assert found[-1].snippet == "Ferry Imprint"
    by_url = {hit.url: hit.snippet for hit in found}
    assert by_url[BOTH] == "No boat and no ship, but a ferry"
    assert index.search("museum").hits[0].snippet == "The museum opens at nine in the morning"
    assert update_index(crawl.path, processes=1).n_replaced == 0


def test_a_rebuilt_index_is_the_same(crawl: HandmadeCrawl) -> None:
    """The main text is derived too, from the stored scores of lines."""
    update_index(crawl.path, processes=1)
    first = [(hit.url, hit.snippet, hit.text_score) for hit in SearchIndex.open(crawl.path).search("ferry").hits]
    update_index(crawl.path, rebuild=True, processes=1)
    assert [
        (hit.url, hit.snippet, hit.text_score) for hit in SearchIndex.open(crawl.path).search("ferry").hits
    ] == first


class OnMostPages(HostBoilerplate):
    """Takes lines that occur on most pages for boilerplate."""

    def __init__(self) -> None:
        super().__init__()
        self.n_pages, self.counts = 0, Counter[str]()

    def learn(self, host: str, lines: Sequence[str]) -> None:
        self.n_pages += 1
        self.counts.update(set(lines))

    def main_lines(self, host: str, lines: Sequence[str], scores: bytes) -> NDArray[np.bool_]:
        return np.array([2 * self.counts[line] <= self.n_pages for line in lines])


def main_texts(path: Path, pages: Mapping[int, tuple[str, list[str]]], rounds: Sequence[Sequence[int]]) -> list[object]:
    """Return main text and boilerplate of pages that are added in several rounds, with an update after each."""
    with PageTexts(path) as texts:
        for some in rounds:
            for page in some:
                url, lines = pages[page]
                scores = bytes([200] * len(lines)) if url.endswith("/") else b""
                packed = packed_text(lines, scores)
                texts.replace((), [NewText(page, page, url, 0.0, "", "", "", "", "", "", packed, ())])
            update_main_lines(texts, OnMostPages)
            assert update_main_lines(texts, OnMostPages) == 0
        return [(page, found.text, found.boilerplate) for page, found in sorted(texts.pages(list(pages)).items())]


@pytest.mark.parametrize("n_learned", [3, 100])
def test_boilerplate_does_not_depend_on_the_order_of_updates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_learned: int
) -> None:
    monkeypatch.setattr(page_reading, "N_LEARNED", n_learned)
    pages = {k: (f"http://h{k % 2}.org/{k}/", ["Menu", f"Said by {k}", "Imprint"]) for k in range(12)}
    pages[12] = ("http://h0.org/paper", ["Menu", "Imprint"])  # without scores all of it is main text
    at_once = main_texts(tmp_path / "at-once.db", pages, [range(13)])
    assert at_once[3] == (3, "Said by 3", "Menu\nImprint")
    assert at_once[12] == (12, "Menu\nImprint", "")
    assert main_texts(tmp_path / "in-turn.db", pages, [[k] for k in range(13)]) == at_once
    assert main_texts(tmp_path / "backwards.db", pages, [range(6, 13), range(6), (3,)]) == at_once


@given(st.lists(st.tuples(st.text("ab é", min_size=1), st.booleans(), st.integers(0, 255)), min_size=1))
def test_packed_lines_round_trip(lines: list[tuple[str, bool, int]]) -> None:
    texts, is_main, scores = zip(*lines, strict=True)
    packed = packed_text(texts, bytes(scores), np.array(is_main))
    assert _lines(packed) == (list(texts), bytes(scores))


def test_which_lines_are_main_by_their_scores() -> None:
    assert main_lines(b"") is None
    assert main_lines(bytes((0, 127, 128, 255))) is not None
    assert np.array_equal(main_lines(bytes((0, 127, 128, 255))), [False, False, True, True])
    assert main_lines(bytes((0, 1, 2))) is None  # a page without any main text is searched as a whole
