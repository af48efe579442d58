"""Additions of hooks are in searches and exports, and an index is updated with them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

import orienteer as ori
from orienteer.exports.export import export
from orienteer.pages.added import Additions
from orienteer.search.indexing import update_index
from orienteer.search.search_index import SearchIndex
from orienteer.store.folder import CrawlFolder
from tests.search.small_webs import HandmadeCrawl

HOME, APPLE, PEAR, BOOK = (f"http://a.org/{name}" for name in ("", "apple", "pear", "book"))
PAGES = {
    HOME: "<title>Home</title><p>Welcome to the orchard.",
    APPLE: "<title>Apple</title><p>A fruit.",
    PEAR: "<title>Pear</title><p>Another fruit, zwetschge.",
    BOOK: "<title>Book</title><p>Paper.",
}
ADDED = {
    APPLE: Additions(
        fields={"price": 12.5, "author": "Jane  Smith", "sold": True, "rank": -5}, tags=("Shop", "Obst 1")
    ),
    PEAR: Additions(
        fields={"price": 12, "author": "John Doe", "names": ["Williams Christ", "Zwetschge"]}, tags=("shop",)
    ),
    BOOK: Additions(fields={"price": "12", "isbn": "007", "year": 5, "tiny": 1e-07, "note": 'x": y\u2028'}),
}


def add(folder: Path, added: Mapping[str, Additions | None], crawl: HandmadeCrawl) -> None:
    with CrawlFolder.open(folder) as opened:
        for url, additions in added.items():
            opened.database.details.set_added(crawl.ids[url], additions)
        opened.acknowledge()


@pytest.fixture
def crawl(tmp_path: Path) -> HandmadeCrawl:
    made = HandmadeCrawl(tmp_path / "crawl")
    made.add(PAGES)
    add(made.path, ADDED, made)
    update_index(made.path)
    return made


def found(folder: Path, words: str) -> list[str]:
    with SearchIndex.open(folder) as index:
        return [hit.url for hit in index.search(words).hits]


@pytest.mark.parametrize(
    ("words", "urls"),
    [
        ("tag:shop", {APPLE, PEAR}),
        ("TAG:SHOP", {APPLE, PEAR}),
        ("-tag:shop", {HOME, BOOK}),
        ('tag:"obst 1"', {APPLE}),
        ("tag:obst", set()),
        ("fruit tag:shop -author:smith", {PEAR}),
        ("price:12.5", {APPLE}),
        ("price:12.50", {APPLE}),
        ("price:12", {PEAR, BOOK}),
        ("price:12.0", {PEAR, BOOK}),
        ("price:1", set()),
        ("author:smith", {APPLE}),
        ('author:"jane smith"', {APPLE}),
        ('author:"jane doe"', set()),
        ("names:christ", {PEAR}),
        ('names:"williams christ"', {PEAR}),
        ("sold:true", {APPLE}),
        ("isbn:007", {BOOK}),
        ("isbn:7", set()),
        ("rank:5", set()),
        ("rank:-5", {APPLE}),
        ("year:5", {BOOK}),
        ("williams", {PEAR}),
        ("smith", {APPLE}),
        ("obst", {APPLE}),
        ("unknown:12", set()),
    ],
)
def test_searches(crawl: HandmadeCrawl, words: str, urls: set[str]) -> None:
    assert set(found(crawl.path, words)) == urls


def test_a_name_that_no_field_has_is_a_word_as_before(crawl: HandmadeCrawl) -> None:
    with SearchIndex.open(crawl.path) as index:
        assert index.search("colour:red").query == "colour:red"
        assert index.search("zwetschge: fruit").total == 1
        assert index.search("title:pear").total == 1


def test_words_in_fields_have_less_weight_than_words_in_pages(tmp_path: Path) -> None:
    crawl = HandmadeCrawl(tmp_path)
    crawl.add({APPLE: "<title>One</title><p>Paper.", PEAR: "<title>Two</title><p>A quince here."})
    add(tmp_path, {APPLE: Additions(fields={"kind": "quince"})}, crawl)
    update_index(tmp_path)
    with SearchIndex.open(tmp_path) as index:
        assert [hit.url for hit in index.search("quince", rank="text").hits] == [PEAR, APPLE]


def test_an_index_is_brought_up_to_date_with_what_changed(crawl: HandmadeCrawl) -> None:
    again = update_index(crawl.path)
    assert (again.n_read, again.n_added, again.n_replaced) == (0, 0, 0)
    add(crawl.path, {APPLE: Additions(tags=("sold out",)), PEAR: None, HOME: Additions(fields={"price": 1})}, crawl)
    report = update_index(crawl.path, max_deleted_share=1.0)
    assert (report.n_read, report.n_added, report.n_replaced) == (0, 0, 3)
    assert found(crawl.path, "tag:shop") == []
    assert found(crawl.path, 'tag:"sold out"') == [APPLE]
    assert found(crawl.path, "price:1") == [HOME]
    assert found(crawl.path, "price:12") == [BOOK]
    assert found(crawl.path, "williams") == []


def test_exports_have_fields_and_tags(crawl: HandmadeCrawl, tmp_path: Path) -> None:
    export(crawl.path, "jsonl", tmp_path / "pages.jsonl")
    export(crawl.path, "markdown", tmp_path / "pages")
    export(crawl.path, "parquet", tmp_path / "pages.parquet")
    lines = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().split("\n") if line]
    heads = [yaml.safe_load(path.read_text().split("---\n")[1]) for path in (tmp_path / "pages").rglob("*.md")]
    sql = f"SELECT url, tags, fields FROM '{tmp_path / 'pages.parquet'}'"
    table = [
        {"url": url, "tags": tags, "fields": json.loads(fields or "{}")}
        for url, tags, fields in duckdb.sql(sql).fetchall()
    ]
    for pages in (lines, heads, table):
        assert len(pages) == len(PAGES)
        assert {page["url"]: _added(page) for page in pages} == {url: ADDED.get(url, Additions()) for url in PAGES}
    (plain,) = (page for page in lines if page["url"] == HOME)
    assert not {"tags", "fields"} & set(plain), "what is not there is left out"


def _added(page: Mapping[str, Any]) -> Additions:
    return Additions(fields=page.get("fields", {}), tags=tuple(page.get("tags", ())))


def test_a_damaged_row_is_one_line(crawl: HandmadeCrawl) -> None:
    with CrawlFolder.open(crawl.path) as opened:
        opened.database.connection.write("UPDATE added SET added = '{\"tags\": 3}'")
        opened.acknowledge()
        with pytest.raises(ori.OrienteerError, match="the file is damaged"):
            opened.database.details.added(crawl.ids[APPLE])
