"""The query language: every text is a valid query, and operators have their effect."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.search.indexing import update_index
from orienteer.search.lookup import TermFields, Vocabulary, tantivy_query
from orienteer.search.query import MAX_QUERY_CHARS, parse
from orienteer.search.search_index import SearchIndex
from orienteer.search.text_index import ZONES
from orienteer.search.words import words_of
from tests.search.small_webs import HandmadeCrawl, page
from tests.tables import over_rows

PAGES = {
    "http://a.org/": page("Apples", "Red apples and a green pear. Running foxes."),
    "http://a.org/docs/pie": page("Apple pie", "How to bake a pie with apples."),
    "http://www.b.com/pear": page("Pears", "A pear is no apple."),
    "http://www.b.com/zug": page("Züge", "Die Züge fahren nach Zürich."),
    "http://c.jp/": page("東京", "東京タワーは東京にあります"),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> SearchIndex:
    crawl = HandmadeCrawl(tmp_path_factory.mktemp("query") / "crawl")
    for url, html in PAGES.items():
        language = {"http://www.b.com/zug": "de", "http://c.jp/": "ja"}.get(url, "en")
        crawl.add({url: html}, language=language)
    update_index(crawl.path)
    return SearchIndex.open(crawl.path)


def found(index: SearchIndex, words: str) -> set[str]:
    return {hit.url for hit in index.search(words).hits}


APPLES, PIE, PEAR, ZUG, TOKYO = PAGES


class Everything(Vocabulary):
    """A vocabulary in which every word occurs in every zone."""

    def __init__(self) -> None:
        self.stemmers = ("en", "de", "plain")
        self.has_added = True

    def weight(self, name: str, words: Sequence[str]) -> float:
        return 1.0

    def is_title(self, name: str) -> bool:
        return False

    def are_in_url(self, words: Sequence[str]) -> bool:
        return True

    def zones(self, stemmer: str, word: str) -> tuple[str, ...]:
        return ZONES

    def term_fields(self, text: str) -> tuple[TermFields, ...]:
        return tuple(
            TermFields(stemmer, words_of(text, stemmer), ZONES) for stemmer in self.stemmers if words_of(text, stemmer)
        )


@over_rows(
    ("words", "urls"),
    [
        ("apple", {APPLES, PIE, PEAR}),
        ("APPLES", {APPLES, PIE, PEAR}),
        ("apple -pie", {APPLES, PEAR}),
        ('"green pear"', {APPLES}),
        ('"pear green"', set()),
        ("fox run", {APPLES}),  # in other forms
        ("title:pear", {PEAR}),
        ("-apple", {ZUG, TOKYO}),
        ("site:b.com", {PEAR, ZUG}),
        ("site:www.b.com apple", {PEAR}),
        ("site:http://a.org/docs apple", {PIE}),
        ("apple -site:a.org", {PEAR}),
        ("host:b.com", set()),
        ("host:www.b.com", {PEAR, ZUG}),
        ("lang:de", {ZUG}),
        ("lang:DE-at zug", {ZUG}),
        ("url:docs", {PIE}),
        ("zuge", {ZUG}),  # accents may be left out
        ("zürich", {ZUG}),
        ("東京", {TOKYO}),
        ("ワ東", set()),
        ("pie green", {APPLES, PIE}),  # none has both
        ("+pie +green", set()),
        ("nowhere:pie", set()),
        ("", set()),
        ("- + \"\" site: lang:1 ''", set()),
    ],
)
def test_rules(index: SearchIndex, words: str, urls: set[str]) -> None:
    assert found(index, words) == urls


def test_matches_by_some_of_the_words_are_relaxed(index: SearchIndex) -> None:
    assert index.search("pie green").relaxed
    assert not index.search("apple pie").relaxed


def test_a_parsed_query_round_trips() -> None:
    text = 'big "red apple" -site:a.org +title:"apple pie" lang:de'
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)


HOSTILE = [
    '"' * 500, "+" * 900, "-" * 900, "title:" * 200, "a" * 5000, "a " * 5000, "site:" + "x" * 3000,
    "site:[::1]:99999999",
    "\x00", "\ud800", "a\ud800b", "lang:\udfff", "(a OR b) AND [c TO d]", "*", "a* b? /re+/", "title:*", "page:1",
    "a^9999", "a~2", "\\", "'; DROP TABLE page; --", "\u202eabc", "e\u0301", "site:http://", "host:.", "url:////",
    "title:\"", "-\"a b", "🦊🦊", "a:b:c:d", "\n\r\t", "words:apple", "stamp:[1 TO 2]", '"a" "b" ' * 100,
]  # fmt: skip


@over_rows("words", HOSTILE, ids=range(len(HOSTILE)))
def test_no_hostile_query_raises(index: SearchIndex, words: str) -> None:
    results = index.search(words, n_related=2)
    assert len(results.hits) == min(results.total, 10)
    assert [hit.position for hit in results.hits] == list(range(1, len(results.hits) + 1))
    assert {hit.url for hit in results.hits} <= set(PAGES)
    assert len(parse(words).clauses) <= MAX_QUERY_CHARS


@given(st.text(st.sampled_from('ab "+-:~*?()[]{}^\\/\x00\ud800東é\n') | st.characters(), max_size=60))
def test_no_text_raises(index: SearchIndex, words: str) -> None:
    tantivy_query(parse(words), Everything(), relaxed=True)
    index.search(words)


@given(
    st.lists(st.sampled_from(["site:", "host:", "lang:", "title:", "url:", '"', "+", "-", " ", "a.org", "de", "x y"]))
)
def test_no_rules_raise(index: SearchIndex, pieces: list[str]) -> None:
    index.search("".join(pieces))
