"""A pasted sentence finds its page, of any length, against pages with better titles and ranks."""

from __future__ import annotations

import numpy as np
import pytest

from orienteer.search.indexing import update_index
from orienteer.search.search_index import SearchIndex
from tests.search.small_webs import HandmadeCrawl, page

WORDS = [f"{a}{b}" for a in ("ba", "de", "fi", "go", "lu", "mo") for b in ("ran", "sel", "tik", "vor", "zum")]
SHORT, LONG, FAMOUS = "http://a.org/short", "http://a.org/long", "http://a.org/famous"
IN_SHORT = "baran desel the fitik govor luzum moran basel detik fivor"
IN_LONG = "gozum the luran mosel batik devor fizum goran lusel motik"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> SearchIndex:
    """All words occur on each of the pages; the famous one has most of them in its title, and the most links to it."""
    rng = np.random.default_rng(21)
    crawl = HandmadeCrawl(tmp_path_factory.mktemp("sentences") / "crawl")

    def filler(n: int) -> str:
        return " ".join(str(word) for word in rng.choice(WORDS, n))

    every = " ".join(WORDS)
    crawl.add({SHORT: page("Short", f"The {every}. {filler(30)}. {IN_SHORT}. {filler(30)}")})
    crawl.add({LONG: page("Long", f"The {every}. {filler(6000)}. {IN_LONG}. {filler(6000)}")})
    crawl.add({FAMOUS: page(" ".join(sorted(IN_SHORT.split() + IN_LONG.split())), f"The {every} " * 3)})
    for k in range(12):
        crawl.add({f"http://a.org/{k}": page(f"Other {k}", f"The {every}. {filler(200)}")},
                  {f"http://a.org/{k}": {FAMOUS: "baran gozum desel the"}})  # fmt: skip
    update_index(crawl.path, processes=1)
    return SearchIndex.open(crawl.path)


@pytest.mark.parametrize("rank", ["text", "blend"])
@pytest.mark.parametrize(("sentence", "url"), [(IN_SHORT, SHORT), (IN_LONG, LONG)])
def test_it_comes_first(index: SearchIndex, sentence: str, url: str, rank: str) -> None:
    assert index.search(sentence, rank=rank).hits[0].url == url


def test_with_a_word_left_out_or_a_sign_too_many(index: SearchIndex) -> None:
    assert index.search(IN_SHORT.replace(" luzum", "")).hits[0].url == SHORT
    assert index.search(f"- {IN_LONG.replace('fizum', '-fizum')}.").hits[0].url == LONG


def test_the_order_is_always_the_same(index: SearchIndex) -> None:
    for words in (IN_SHORT, "baran desel", "the"):
        first = [(hit.url, hit.score) for hit in index.search(words).hits]
        assert [(hit.url, hit.score) for hit in SearchIndex.open(index.folder).search(words).hits] == first
