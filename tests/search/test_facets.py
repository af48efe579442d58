"""Facets count all matching pages exactly, and each value has the query that filters by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from orienteer.search.facets import Facet
from orienteer.search.finding import FoundPages
from orienteer.search.indexing import update_index
from orienteer.search.page_facts import type_name
from orienteer.search.query import parse
from orienteer.search.search_index import SearchIndex
from orienteer.search.text_index import page_numbers
from orienteer.store.page_texts import PageTexts, StoredText
from orienteer.url import host_of
from tests.search.small_webs import HandmadeCrawl, page
from tests.search.test_filters import dated
from tests.tables import over_rows

ODD_HOST = "http://127.0.0.1:8000/"
QUERIES = (
    "harbour", "harbour ships", "ships", "lang:de", "host:a.org", "-host:a.org", "harbour -type:html", "site:b.org",
    '"its ships"', '"its ships', "harbour nowhere", "after:2023 before:2024 harbour", "type:pdf", "before:20x5", "",
    "topic:on harbour", "+harbour +lang:DE",
    "a harbour and its ships and boats and a very long sentence that a reader has pasted " * 4,
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of four hosts with many combinations of language, type and year, some of them duplicates."""
    crawl = HandmadeCrawl(tmp_path_factory.mktemp("facets") / "crawl")
    hosts = ("http://a.org/", "http://www.a.org/", "http://b.org/", ODD_HOST)
    for n in range(40):
        year = ("", "2023-05-17", "2024", "2023-12-31", "1999-01-01")[n % 5]
        text = dated(f"Page {n % 30}", year) + f"<p>Number {n % 30} has {n % 3} boats</p>"
        row = {"language": ("en", "de", "", "fr")[n % 4], "relevance": n / 40}
        row["content_type"] = ("text/html", "application/xhtml+xml", "", "image/svg+xml")[n % 7 % 4]
        crawl.add({f"{hosts[n * n % 4]}{n}": text}, **row)
    crawl.add({"http://b.org/notes": "Notes of a harbour"}, content_type="text/plain")
    crawl.add({"http://b.org/hidden": page("Hidden", "harbour")}, noindex=True)
    crawl.add({"http://b.org/same": page("Same", "The same harbour")})
    crawl.add({"http://a.org/same": page("Same", "The same harbour")}, duplicate_of="http://b.org/same")
    (crawl.path / "topic.toml").write_text('[topic]\nkind = "keywords"\nwords = ["boats"]\nthreshold = 0.5\n')
    update_index(crawl.path, processes=1)
    return crawl.path


@pytest.fixture(scope="module")
def index(folder: Path) -> Iterator[SearchIndex]:
    with SearchIndex.open(folder) as opened:
        yield opened


def counts_of(facets: tuple[Facet, ...]) -> dict[str, dict[str, int]]:
    return {facet.name: {value.value: value.n_pages for value in facet.values} for facet in facets}


def reference(index: SearchIndex, words: str) -> dict[str, dict[str, int]]:
    """Count the facets by loading every matching page."""
    view = index._view
    found = FoundPages.of(view, parse(words), 1)
    pages = page_numbers(view.searcher, [place for _, place in view.searcher.search(found.query, 1000).hits])
    assert len(pages) == found.total
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("host", "language", "type", "year", "topic")}
    relevance = dict(zip(pages, view.columns.of(pages).relevance.tolist(), strict=True))
    with PageTexts(view.index / "pages.db", read_only=True) as texts:
        for number in pages:
            text = texts.page(number)
            assert text is not None
            for name, value in facts_of(text):
                counts[name][value] += 1
            counts["topic"]["on" if relevance[number] >= 0.5 else "off"] += 1
    return {name: dict(some) for name, some in counts.items() if some}


def facts_of(text: StoredText) -> Iterator[tuple[str, str]]:
    yield "host", host_of(text.url)
    yield "type", type_name(text.type) or text.type
    if text.language:
        yield "language", text.language
    if date := text.published or text.changed:
        yield "year", date[:4]


@over_rows("words", QUERIES)
def test_counts_are_those_of_all_matching_pages(index: SearchIndex, words: str) -> None:
    results = index.search(words, with_facets=True)
    assert counts_of(results.facets) == reference(index, words)
    assert all(facet.is_exact and not facet.has_more for facet in results.facets)


@over_rows("words", QUERIES)
def test_the_query_of_each_value_finds_as_many_pages_as_counted(index: SearchIndex, words: str) -> None:
    results = index.search(words, with_facets=True)
    for facet in results.facets:
        for value in facet.values:
            if value.is_chosen and not value.query:  # the query was this filter alone
                continue
            narrowed = index.search(value.query, with_facets=True)
            if value.is_chosen:
                assert narrowed.total >= results.total
                continue
            assert narrowed.total == value.n_pages, value.query
            again = next(each for each in narrowed.facets if each.name == facet.name).values
            chosen = [each for each in again if each.is_chosen]
            assert [each.value for each in chosen] == [value.value]
            assert index.search(chosen[0].query).total == results.total


def test_years_are_in_order_and_other_values_by_frequency(index: SearchIndex) -> None:
    facets = {
        facet.name: [value.value for value in facet.values]
        for facet in index.search("harbour", with_facets=True).facets
    }
    assert facets["year"] == ["2024", "2023", "1999"]
    counts = counts_of(index.search("harbour", with_facets=True).facets)["host"]
    assert list(counts.values()) == sorted(counts.values(), reverse=True)


def test_filters_of_a_query_can_be_removed(index: SearchIndex) -> None:
    filters = index.search('harbour lang:de -host:a.org "ships').filters
    assert [(each.text, each.query) for each in filters] == [
        ("lang:de", 'harbour -host:a.org "ships"'),
        ("-host:a.org", 'harbour lang:de "ships"'),
    ]
    assert index.search("harbour").filters == index.search("harbour").facets == ()


def test_values_beyond_the_limit_set_has_more(index: SearchIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = index.find("harbour", 1)
    assert not finding.counts()["host"].has_more
    assert finding.counts(n_values=2)["host"].has_more
    assert len(finding.counts(n_values=2)["host"].pages) == 2


def test_an_overview_of_all_pages(index: SearchIndex) -> None:
    overview = index.overview()
    assert overview.n_pages == index.n_pages == 43
    assert counts_of(overview.facets) == reference(index, "-title:nowhere")
    assert 0 < len(overview.top_pages) <= 8
    assert len({(page.url, page.title) for page in overview.top_pages}) == len(overview.top_pages)
    assert overview.times == (1.7e9, 1.7e9, 1.7e9)
    values = [value for facet in overview.facets for value in facet.values]
    assert all(index.search(value.query).total == value.n_pages for value in values)


def test_filter_by_topic(index: SearchIndex) -> None:
    assert index.search("topic:on").total + index.search("topic:off").total == index.n_pages
    assert index.search("topic:maybe").hints == ("“topic:maybe” is neither topic:on nor topic:off: it is left out.",)


def test_a_page_whose_relevance_changes_is_counted_again(tmp_path: Path) -> None:
    crawl = HandmadeCrawl(tmp_path / "crawl")
    crawl.add({"http://a.org/": page("Boats", "A harbour")}, relevance=0.9)
    (crawl.path / "topic.toml").write_text('[topic]\nkind = "keywords"\nwords = ["boats"]\nthreshold = 0.5\n')
    update_index(crawl.path, processes=1)
    crawl.add({"http://a.org/": page("Boats", "A harbour")}, relevance=0.1)
    update_index(crawl.path, processes=1)
    with SearchIndex.open(crawl.path) as index:
        assert counts_of(index.search("harbour", with_facets=True).facets)["topic"] == {"off": 1}
