"""Filters by type, date and language, alone and with words; invalid values are reported."""

from __future__ import annotations

import pytest

from orienteer.search.indexing import update_index
from orienteer.search.query import hints, parse, wrong_values
from orienteer.search.search_index import SearchIndex
from tests.search.small_webs import HandmadeCrawl, page
from tests.tables import over_rows

OLD, NEW, YEAR, NOTES, UNDATED = (f"http://a.org/{name}" for name in ("old", "new", "year", "notes", "undated"))


def dated(title: str, published: str = "", changed: str = "") -> str:
    metas = (("article:published_time", published), ("article:modified_time", changed))
    tags = "".join(f'<meta property="{name}" content="{date}">' for name, date in metas if date)
    return tags + page(title, "A harbour and its ships")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> SearchIndex:
    crawl = HandmadeCrawl(tmp_path_factory.mktemp("filters") / "crawl")
    crawl.add({OLD: dated("Old", "2023-05-17T10:00:00Z", "2025-01-01")})
    crawl.add({NEW: dated("New", changed="2025-03-01")}, language="de")
    crawl.add({YEAR: dated("Year", "2024")}, content_type="application/xhtml+xml")
    crawl.add({NOTES: "The notes of a harbour"}, content_type="text/plain")
    crawl.add({UNDATED: dated("Undated")}, content_type="")
    update_index(crawl.path, processes=1)
    return SearchIndex.open(crawl.path)


@over_rows(
    ("words", "urls"),
    [
        ("before:2025", {OLD, YEAR}),
        ("after:2025", {NEW}),
        ("before:2024", {OLD}),
        ("after:2024", {YEAR, NEW}),
        ("after:2023-05-17 before:2023-05-18", {OLD}),
        ("after:2023-05-18 before:2024", set()),
        ("harbour after:2024-01", {NEW}),
        ("-before:2025", {NEW, NOTES, UNDATED}),
        ("type:text", {NOTES}),
        ("type:txt notes", {NOTES}),
        ("type:HTML", {OLD, NEW, YEAR, UNDATED}),
        ("type:text/plain", {NOTES}),
        ("type:pdf", set()),
        ("lang:de after:2025", {NEW}),
        ("lang:en after:2025", set()),
        ("title:year type:html before:2025", {YEAR}),
        ("-type:html", {NOTES}),
        ("harbour before:20x5", {OLD, NEW, YEAR, NOTES, UNDATED}),  # ignored, with a hint
    ],
)
def test_filters(index: SearchIndex, words: str, urls: set[str]) -> None:
    assert {hit.url for hit in index.search(words).hits} == urls


def test_hits_have_the_values_of_filters(index: SearchIndex) -> None:
    by_url = {hit.url: hit for hit in index.search("harbour").hits}
    assert (by_url[OLD].published, by_url[OLD].changed, by_url[OLD].type) == ("2023-05-17", "2025-01-01", "text/html")
    assert (by_url[NEW].published, by_url[NEW].changed, by_url[NOTES].type) == ("", "2025-03-01", "text/plain")


def test_an_invalid_value_is_reported_with_and_without_results(index: SearchIndex) -> None:
    no_date = "“before:20x5” is no date, such as 2025, 2025-03 or 2025-03-01: it is left out."
    assert index.search("harbour before:20x5").hints == index.search("before:20x5").hints == (no_date,)
    assert wrong_values(parse("after:2025-02-31 lang:1"))[0].startswith("“after:2025-02-31” is no date")
    assert hints("type:pfd")[0].startswith("There is no type “pfd”: it is left out. Types are html, pdf, ")
    assert not index.search("harbour type:html").hints
    assert str(parse("harbour before:20x5")) == "harbour"


@over_rows(
    ("typed", "hint"),
    [
        ("", "The query is empty: type some words."),
        ('""', "There is no word to look for."),
        ('"sea chart', "The quote before “sea chart” is not closed."),
        ('sea chart"', "The last quote is not closed."),
        ("sort:date", "There is no field “sort”: it is looked for as a word."),
    ],
)
def test_hints(index: SearchIndex, typed: str, hint: str) -> None:
    assert hint in hints(typed)
    assert hint in index.search(typed).hints


def test_signs_in_a_sentence_are_text() -> None:
    sentence = "When used with -m, the -u flag causes it to update +2 files"
    assert not [clause for clause in parse(sentence).clauses if clause.sign]
    assert [clause.sign for clause in parse("harbour -ships +sea").clauses] == ["", "-", "+"]
