"""Several crawls are searched like one: words have the same weight, and each hit names its crawl."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np
import pytest

from orienteer.errors import InputError
from orienteer.search.indexing import update_index
from orienteer.search.search_index import SearchIndex
from orienteer.search.several import search_several
from tests.search.small_webs import HandmadeCrawl, page
from tests.search.test_facets import counts_of

SHARED = "http://both.org/"
FILLERS = ("sea", "ship", "chart", "rope", "sail", "mast", "deck", "oars")


def _snakes() -> dict[str, str]:
    """A crawl in which every page mentions pythons."""
    texts = {f"http://snakes.org/{n}": page(f"Snake {n}", f"{_words(n)} python {_words(n + 1)}") for n in range(40)}
    return texts | {"http://snakes.org/best": page("All about them", "python python python, and more python")}


def _cooks() -> dict[str, str]:
    """A crawl in which the word is rare, and so has a large weight."""
    texts = {f"http://cooks.org/{n}": page(f"Dish {n}", f"{_words(n)} soup {_words(n + 3)}") for n in range(40)}
    return texts | {"http://cooks.org/mention": page("A dish", f"{_words(1)} python {_words(2)} soup {_words(3)}")}


def _words(n: int) -> str:
    return " ".join(FILLERS[(n * k + k) % len(FILLERS)] for k in range(1, 9))


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, SearchIndex]]:
    """Two crawls, one of all their pages, and an empty one."""
    place = tmp_path_factory.mktemp("several")
    shared = {SHARED: page("Shared", "A page about soup that both crawls have fetched")}
    webs = {"snakes": _snakes() | shared, "cooks": _cooks() | shared, "all": _snakes() | _cooks() | shared, "none": {}}
    with ExitStack() as stack:
        opened = {}
        for name, pages in webs.items():
            crawl = HandmadeCrawl(place / name)
            crawl.add(pages, language="en" if name != "none" else "")
            update_index(crawl.path, processes=1)
            opened[name] = stack.enter_context(SearchIndex.open(crawl.path))
        yield opened


@pytest.fixture(scope="module")
def two(indexes: dict[str, SearchIndex]) -> dict[str, SearchIndex]:
    return {name: indexes[name] for name in ("snakes", "cooks")}


def test_a_word_has_the_weight_of_one_index_of_all(
    indexes: dict[str, SearchIndex], two: dict[str, SearchIndex]
) -> None:
    merged = {found.hit.url: found.hit.text_score for found in search_several(two, "python", rank="text", n=50).hits}
    right = {hit.url: hit.text_score for hit in indexes["all"].search("python", rank="text", n=50).hits}
    alone = {hit.url: hit.text_score for hit in indexes["cooks"].search("python", rank="text", n=50).hits}
    assert merged.keys() == right.keys()
    ratios = np.array([merged[url] / right[url] for url in right])
    assert np.abs(ratios - 1).max() < 0.15  # pages are long or short by the mean of their own crawl
    mention = "http://cooks.org/mention"
    assert alone[mention] > 3 * right[mention]  # the score without a shared IDF


def test_the_best_page_comes_first_wherever_it_is(two: dict[str, SearchIndex]) -> None:
    urls = [found.hit.url for found in search_several(two, "python", rank="text").hits]
    assert urls[0] == "http://snakes.org/best"
    alone = {name: index.search("python", rank="text").hits[0].text_score for name, index in two.items()}
    assert alone["cooks"] > alone["snakes"]  # by raw scores, the mention would come first


@pytest.mark.parametrize(
    "words", ["python", "soup", "sea chart", '"soup rope"', "python soup", "sail -deck", "oars python"]
)
def test_the_same_pages_are_found_as_in_one_index(
    indexes: dict[str, SearchIndex], two: dict[str, SearchIndex], words: str
) -> None:
    merged = search_several(two, words, rank="text", n=100, with_facets=True)
    right = indexes["all"].search(words, rank="text", n=100, with_facets=True)
    n_repeated = sum(len(found.also_in) for found in merged.hits)
    assert {found.hit.url for found in merged.hits} == {hit.url for hit in right.hits}
    assert merged.total == right.total + n_repeated == sum(merged.by_crawl.values())
    if not n_repeated:
        assert counts_of(merged.facets) == counts_of(right.facets)


def test_each_hit_names_its_crawl_and_a_url_comes_once(two: dict[str, SearchIndex]) -> None:
    results = search_several(two, "both crawls fetched")
    assert [(found.hit.url, found.also_in) for found in results.hits] == [(SHARED, ("cooks",))] or [
        (found.crawl, found.also_in) for found in results.hits
    ] == [("cooks", ("snakes",))]
    for found in search_several(two, "sea", n=20).hits:
        assert found.hit.url in (SHARED, *(f"http://{found.crawl}.org/{n}" for n in (*range(40), "best", "mention")))


def test_pages_of_results_follow_each_other(two: dict[str, SearchIndex]) -> None:
    every = [found.hit for found in search_several(two, "sea", n=30).hits]
    paged = [found.hit for page in (1, 2, 3) for found in search_several(two, "sea", page=page, n=10).hits]
    assert [hit.url for hit in paged] == [hit.url for hit in every]
    assert [hit.position for hit in paged] == list(range(1, 31))
    scores = [hit.score for hit in paged]
    assert scores == sorted(scores, reverse=True)


def test_a_crawl_with_only_some_of_the_words_is_excluded(two: dict[str, SearchIndex]) -> None:
    results = search_several(two, "python soup")
    assert results.by_crawl == {"snakes": 0, "cooks": 1}
    assert not results.relaxed
    some = search_several(two, "python nowhere soup")
    assert some.relaxed
    assert min(some.by_crawl.values()) > 0


def test_a_single_crawl_is_searched_as_by_itself(two: dict[str, SearchIndex]) -> None:
    alone = two["snakes"].search("python", with_facets=True)
    merged = search_several({"snakes": two["snakes"]}, "python", with_facets=True)
    assert [found.hit for found in merged.hits] == list(alone.hits)
    assert (merged.total, merged.facets, merged.query) == (alone.total, alone.facets, alone.query)


def test_an_empty_crawl_is_no_harm(indexes: dict[str, SearchIndex]) -> None:
    some = {name: indexes[name] for name in ("none", "snakes")}
    assert search_several(some, "python").by_crawl == {"none": 0, "snakes": 41}
    assert search_several(some, "pyhton").suggestion == "python"
    assert search_several(some, "").hits == ()
    assert search_several(some, "").hints == ("The query is empty: type some words.",)


def test_errors(two: dict[str, SearchIndex]) -> None:
    with pytest.raises(InputError, match="none of these crawls has an estimate"):
        search_several(two, "python", rank="global")
    with pytest.raises(InputError, match="there is no crawl to search"):
        search_several({}, "python")
    with pytest.raises(InputError, match="too far"):
        search_several(two, "python", page=2000)
