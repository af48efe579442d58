"""Completions of queries: words of the index and titles of its pages, in any script."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from orienteer.search import indexing
from orienteer.search.completion import cleaned
from orienteer.search.indexing import update_index
from orienteer.search.search_index import SearchIndex
from tests.search.small_webs import HandmadeCrawl, page
from tests.tables import over_rows

TITLES = {
    "charts": ("Old sea charts", "Charts of the harbour, with harbours and harbouring"),
    "cafe": ("Café Zürich", "A café in the harbour"),
    "tokyo": ("東京の地図", "東京の古い地図です"),
    "greek": ("Ὀδυσσεύς και Ἰθάκη", "Ο Οδυσσέας"),
    "arabic": ("خرائط البحر", "خرائط قديمة"),
    "thai": ("แผนที่ทะเล", "แผนที่เก่า"),
    "russian": ("Морские карты", "Старые карты моря"),
    "rules": ('"Red" -apples +host:x', "Something about hosiery"),
    "twice": ("Old sea charts", "Another page of this name"),
}  # fmt: skip


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> HandmadeCrawl:
    crawl = HandmadeCrawl(tmp_path_factory.mktemp("completion") / "crawl")
    languages = {"tokyo": "ja", "greek": "el", "arabic": "ar", "thai": "th", "russian": "ru"}
    for name, (title, text) in TITLES.items():
        crawl.add({f"http://a.org/{name}": page(title, text)}, language=languages.get(name, "en"))
    for n in range(6):
        crawl.add({f"http://a.org/hours/{n}": page(f"Opening {n}", "opening hours of the harbour, and the horizon")})
    crawl.add({"http://a.org/more-hours": page("Closing time", "hours")})
    crawl.add({"http://a.org/horse": page("Stable", "A horse, a horse, horses")})
    crawl.add({"http://a.org/secret": page("Secret harbour of pirates", "piracy")}, noindex=True)
    crawl.add({"http://a.org/": page("Old sea", "Links")}, {"http://a.org/": {"http://a.org/cafe": "the café"}})
    update_index(crawl.path, processes=1)
    return crawl


@pytest.fixture(scope="module")
def index(crawl: HandmadeCrawl) -> Iterator[SearchIndex]:
    with SearchIndex.open(crawl.path) as opened:
        yield opened


def texts(index: SearchIndex, typed: str, kind: str = "", n: int = 8) -> list[str]:
    return [each.text for each in index.complete(typed, n) if kind in ("", each.kind)]


@over_rows(
    ("typed", "title"),
    [
        ("old s", "Old sea charts"), ("OLD  SEA c", "Old sea charts"), ("cha", "Old sea charts"),
        ("cafe z", "Café Zürich"), ("zur", "Café Zürich"), ("Zür", "Café Zürich"), ("東", "東京の地図"),
        ("東京の", "東京の地図"), ("地図", "東京の地図"), ("οδυσ", "Ὀδυσσεύς και Ἰθάκη"), ("خرا", "خرائط البحر"),
        ("แผน", "แผนที่ทะเล"), ("морск", "Морские карты"), ("КАР", "Морские карты"),
    ],
)  # fmt: skip
def test_titles_by_the_beginning_of_any_word(index: SearchIndex, typed: str, title: str) -> None:
    assert title in texts(index, typed, "title")


def test_a_space_ends_a_word(index: SearchIndex) -> None:
    assert texts(index, "ope", "title")
    assert texts(index, "opening ", "title")
    assert texts(index, "openin ", "title") == []


def test_a_title_is_offered_once_and_without_operators(index: SearchIndex) -> None:
    assert texts(index, "sea ch", "title") == ["Old sea charts"]
    assert texts(index, "red", "title") == [cleaned(TITLES["rules"][0])] == ["Red apples host x"]
    assert texts(index, "Old sea charts", "title") == []  # already complete


def test_words_are_ordered_by_frequency_and_offered_in_one_form(index: SearchIndex) -> None:
    assert texts(index, "ho", "word") == ["hours", "horizon", "horse", "hosiery"]  # and not horses
    assert texts(index, "harb", "word") == ["harbour"]
    assert texts(index, "CAF", "word") == ["café"]
    assert texts(index, "кар", "word") == ["карты"]


def test_a_word_after_others_occurs_on_a_page_with_them(index: SearchIndex) -> None:
    assert texts(index, "opening ho", "word") == ["opening hours", "opening horizon"]
    assert texts(index, 'stable "a horse" ho', "word") == ['stable "a horse" horse']
    assert texts(index, "lang:ru кар", "word") == ["lang:ru карты"]


@over_rows("typed", ["", " ", "host:ho", "-ho", '"opening ho', "zzzz", "x" * 1000, '"', "1"])
def test_queries_without_completions(index: SearchIndex, typed: str) -> None:
    assert texts(index, typed, "word") == []


def test_noindex_pages_have_no_completions(index: SearchIndex) -> None:
    assert texts(index, "secr") == texts(index, "pira") == []


def test_the_limit_is_kept_and_words_leave_room_for_titles(index: SearchIndex) -> None:
    assert len(texts(index, "o", n=3)) == 3
    kinds = [each.kind for each in index.complete("o", 4)]
    assert kinds == sorted(kinds, reverse=True)  # words first
    assert set(kinds) == {"word", "title"}


def test_new_pages_are_offered_after_an_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = HandmadeCrawl(tmp_path / "crawl")
    crawl.add({"http://a.org/": page("Harbour", "Ships")})
    update_index(crawl.path, processes=1)
    with monkeypatch.context() as patch:
        patch.delattr(indexing, "write_completions")  # nothing has changed, so it is not called
        update_index(crawl.path, processes=1)
    crawl.add({"http://a.org/new": page("Lighthouse", "Light")})
    update_index(crawl.path, processes=1)
    with SearchIndex.open(crawl.path) as index:
        assert texts(index, "lig") == ["light", "lighthouse"]  # a word, and a title


def test_an_older_index_has_no_completions_before_its_next_update(crawl: HandmadeCrawl, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    shutil.copytree(crawl.path, folder)
    with closing(sqlite3.connect(folder / "index" / "pages.db")) as texts_of_pages:
        texts_of_pages.execute("DROP TABLE completion")
    with SearchIndex.open(folder) as index:
        assert index.search("harbour").total  # searches do not need it
        assert index.complete("har") == ()
    update_index(folder, processes=1)
    with SearchIndex.open(folder) as index:
        assert texts(index, "charts") == ["Old sea charts"]


def test_their_table_passes_the_integrity_check_of_every_sqlite(index: SearchIndex, crawl: HandmadeCrawl) -> None:
    """Repairs make this check. SQLite 3.40 fails it where a REAL column is before one of the key."""
    assert index.complete("har")
    with closing(sqlite3.connect(crawl.path / "index" / "pages.db")) as texts_of_pages:
        assert texts_of_pages.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
