"""Exact titles come first, snippets are the best passage, and words of rare languages are found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orienteer.search.indexing import update_index
from orienteer.search.lookup import _MAX_PRELOADED_PAGES, Vocabulary
from orienteer.search.query import parse
from orienteer.search.search_index import SearchIndex
from orienteer.search.snippet import _LEAD_CHARS, SNIPPET_CHARS, Mark, Marker, _best
from orienteer.search.text_index import ZONES, field
from tests.search.small_webs import HandmadeCrawl, page
from tests.tables import over_rows

GLASS, GLASSES, CANAL, HISTORY = (f"http://a.org/{name}" for name in ("glass", "glasses", "canal", "history"))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> SearchIndex:
    """All pages link to the glass and to the canal, and none to the glasses and to the history."""
    crawl = HandmadeCrawl(tmp_path_factory.mktemp("titles") / "crawl")
    text = "The glass and glasses. The history of the Panama canal. " * 3
    famous = {GLASS: "Glass", CANAL: "Panama canal"}
    crawl.add({GLASSES: page("Glasses", text), HISTORY: page("History of the Panama canal", text)})
    crawl.add({GLASS: page("Glass", text), CANAL: page("Panama canal", f"{text} History. " * 3)})
    for k in range(20):
        crawl.add({f"http://a.org/{k}": page(f"Other {k}", "see")}, {f"http://a.org/{k}": famous})
    crawl.add({"http://a.org/sv": page("Flickor", "Flickorna badar.")}, language="sv")
    update_index(crawl.path)
    return SearchIndex.open(crawl.path)


@over_rows("rank", ["text", "blend"])
@over_rows(
    ("words", "url"),
    [("glasses", GLASSES), ("glass", GLASS), ("history panama canal", HISTORY), ("panama canal", CANAL)],
)
def test_the_page_with_that_title_comes_first(index: SearchIndex, words: str, url: str, rank: str) -> None:
    assert index.search(words, rank=rank).hits[0].url == url


def test_words_of_a_language_that_few_pages_are_in(index: SearchIndex) -> None:
    assert [hit.url for hit in index.search("flickorna").hits] == ["http://a.org/sv"]
    assert [hit.url for hit in index.search("flicka -glass").hits] == ["http://a.org/sv"]


def test_a_vocabulary_has_the_zones_of_words(index: SearchIndex) -> None:
    """The zones are the same from preloaded words and from the text index."""
    searcher = index._view.searcher
    stemmers = ("en", "plain", "sv")
    few, many = (Vocabulary(searcher, dict.fromkeys(stemmers, n)) for n in (1, _MAX_PRELOADED_PAGES + 1))
    for stemmer in stemmers:
        words = {word for zone in ZONES for word, _ in searcher.terms_with_prefix(field(zone, stemmer), "")}
        for word in (*words, "absent"):
            expected_zones = tuple(zone for zone in ZONES if searcher.doc_freq(field(zone, stemmer), word))
            assert few.zones(stemmer, word) == many.zones(stemmer, word) == expected_zones


def slow_best(marks: list[Mark]) -> int:
    def worth(first: int) -> tuple[int, int, int]:
        end = marks[first][0] + SNIPPET_CHARS - _LEAD_CHARS
        inside = [stem for start, stop, stem in marks[first:] if stop <= end]
        return len(set(inside)), len(inside), -first

    return max(range(len(marks)), key=worth)


def test_the_best_passage_is_that_of_a_full_search() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        starts = np.cumsum(rng.integers(6, 120, rng.integers(1, 30))).tolist()
        marks = [(start, start + int(rng.integers(1, 6)), "abc"[rng.integers(3)]) for start in starts]
        assert _best(marks) == slow_best(marks)


def test_several_texts_are_read_at_once(tmp_path: Path) -> None:
    crawl = HandmadeCrawl(tmp_path / "crawl")
    crawl.add({f"http://a.org/{k}": page(f"Tree {k}", "An apple tree. " * 500 * k) for k in range(3)})
    update_index(crawl.path)
    with SearchIndex.open(crawl.path) as index:
        texts = index._view.texts
        assert texts.pages([2, 0, 7, 1]) == {k: texts.page(k) for k in range(3)}
        assert texts.page(7) is None
        assert texts.pages([]) == {}


def test_a_snippet_begins_with_the_block_of_its_first_word() -> None:
    marker = Marker(parse("bridge"), "en")
    menu = "Home\nShelves Groups Join\nThe iron bridge\nIt is old, and carries a road. " + "More of it. " * 40
    assert marker.snippet(menu).plain.startswith("The iron bridge It is old")
    far = "Home\n" + "word " * 30 + "and then the bridge at last"
    assert marker.snippet(far).plain.startswith("… word word")
    assert marker.snippet("The bridge\nof stone").plain == "The bridge of stone"


def test_a_snippet_begins_with_the_sentence_of_its_first_word_if_that_is_near() -> None:
    marker = Marker(parse("bridge"), "en")
    text = "word " * 100 + "It ends here. " + "Quite some words before we come to the old bridge at last"
    assert marker.snippet(text).plain == "Quite some words before we come to the old bridge at last"
    version = "word " * 100 + "as of 3. 5 words before we come to the old iron bridge"
    assert marker.snippet(version).plain.startswith("… "), "a number is no sentence"
    assert marker.snippet("a b c " * 4 + "bridge").plain.startswith("a b c"), "it begins with the text"


def test_a_snippet_does_not_repeat_the_title() -> None:
    marker = Marker(parse("bridge"), "en")
    text = "The iron bridge\nIt is old. The bridge carries a road."
    assert marker.snippet(text, "The Iron Bridge – Town").plain == "It is old. The bridge carries a road."
    assert marker.snippet(text, "Another title").plain.startswith("The iron bridge It is old")
    assert marker.snippet("The iron bridge\nIt is old.", "The iron bridge").plain == "It is old."
    marks = marker.snippet(text, "The iron bridge").html
    assert marks == "It is old. The <mark>bridge</mark> carries a road."


LONG_PAGE = "An otter sleeps. " * 60 + "The otter in the rivers eats."
PAGES = ["The otter", "Rivers and the otter and rivers", "", LONG_PAGE, "end"]


@pytest.mark.parametrize(
    ("words", "number", "snippet"),
    [
        ("sleeps", 4, "An otter sleeps. An otter"),
        ("otter in the rivers eats", 4, "The otter in the rivers eats."),
        ("rivers", 2, "Rivers and the otter and rivers"),
        ("nowhere", None, "The otter Rivers"),
    ],
)
def test_the_snippet_is_from_the_best_page_of_a_document(words: str, number: int | None, snippet: str) -> None:
    text = "\n".join(f"\f{page}" for page in PAGES)
    found = Marker(parse(words, frozenset()), "en").snippet_of_pages(text, "")
    assert found.page == number
    assert snippet in found.plain
    assert "\f" not in found.plain
