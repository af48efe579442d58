"""Metadata of pages in exports, and the canonical one of duplicates in exports and searches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from orienteer.exports.export import export
from orienteer.exports.markdown import file_name
from orienteer.search.indexing import update_index
from orienteer.search.search_index import SearchIndex
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import StoredCrawl, crawled

HOST = "http://a.test"
TEXTS = {name: " ".join(f"{name}{k}" for k in range(60)) for name in ("article", "loop", "lie", "lost", "far", "other")}


def page(text: str, canonical: str = "", more: str = "") -> str:
    named = f"<link rel=canonical href={canonical}>" if canonical else ""
    return f"<title>{text}</title>{named}<p>{TEXTS[text]}</p>{more}<a href=/>home</a>"


LINKS = ["/print", "/article", "/liar", "/loop1", "/loop2", "/lost", "/far", "/self", "/marked"]
MARKED = (
    "<title>Marked</title><meta name=description content='what: it \"says\"'><meta name=author content='A. Writer'>"
    "<meta property=article:published_time content=2025-03-01T10:00Z><meta property=og:site_name content=Site>"
    '<meta property=og:image content=/i.png><script type=application/ld+json>{"@type": "Article"}</script><p>text'
)
SITE: dict[str, str | FakeResponse] = {
    f"{HOST}/": "<title>Home</title>" + "".join(f"<a href={path}>{path}</a> " for path in LINKS),
    f"{HOST}/print": page("article", "/article", "printed"),
    f"{HOST}/article": page("article", "/article"),
    f"{HOST}/liar": page("lie", "/article"),
    f"{HOST}/loop1": page("loop", "/loop2", "one"),
    f"{HOST}/loop2": page("loop", "/loop1", "two"),
    f"{HOST}/lost": page("lost", "/missing"),
    f"{HOST}/far": page("far", "http://other.test/"),
    f"{HOST}/self": page("other", "/self"),
    f"{HOST}/marked": FakeResponse(MARKED, headers=(("Last-Modified", "Tue, 01 Apr 2025 10:00:00 GMT"),)),
}  # fmt: skip


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("canonicals") / "crawl"
    with FakeWeb(MadeSite(SITE)) as web:
        crawled(web, f"{HOST}/", folder, scope="host", policy="breadth-first", settings={"crawl": {"workers": 1}})
    return folder


def jsonl(folder: Path) -> dict[str, dict[str, Any]]:
    out = folder.with_suffix(".jsonl")
    export(folder, "jsonl", out, force=True, processes=1)
    pages = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    return {page["url"].removeprefix(HOST): page for page in pages}


def test_of_duplicates_the_canonical_one_is_exported(crawl: Path) -> None:
    stored = StoredCrawl(crawl)
    order = [stored.urls[page] for page in stored.order]
    assert order.index(f"{HOST}/print") < order.index(f"{HOST}/article"), "else there is nothing to see here"
    pages = jsonl(crawl)
    assert "/article" in pages
    assert "/print" not in pages


def test_a_search_shows_the_canonical_one_too(crawl: Path) -> None:
    update_index(crawl, processes=1)
    with SearchIndex.open(crawl) as index:
        for words in ("article7", "article7 printed"):
            found = {hit.url: hit.n_duplicates for hit in index.search(words).hits}
            assert found[f"{HOST}/article"] == 1, found
            assert f"{HOST}/print" not in found
        assert f"{HOST}/liar" in {hit.url for hit in index.search("lie7").hits}


def test_a_page_with_other_content_ignores_its_canonical(crawl: Path) -> None:
    pages = jsonl(crawl)
    assert pages.keys() >= {"/liar", "/lost", "/far", "/self"}
    assert len({"/loop1", "/loop2"} & pages.keys()) == 1, "each names the other: they are one all the same"


def test_a_canonical_is_a_link_for_the_certificate(crawl: Path) -> None:
    rows = StoredCrawl(crawl).rows
    assert all(row is None or row.redirect_to is None for row in rows.values())


def test_fields_are_exported(crawl: Path) -> None:
    stated = {
        "description": 'what: it "says"', "author": "A. Writer", "published": "2025-03-01", "changed": "2025-04-01",
        "site_name": "Site", "image": f"{HOST}/i.png", "types": ["Article"],
    }  # fmt: skip
    pages = jsonl(crawl)
    assert {name: pages["/marked"].get(name) for name in stated} == stated
    assert stated.keys().isdisjoint(pages["/self"]), "what is not stated is left out"
    folder = crawl.with_name("md")
    export(crawl, "markdown", folder, force=True, processes=1)
    front = (folder / file_name(f"{HOST}/marked")).read_text(encoding="utf-8").split("---\n")[1]
    assert {name: yaml.safe_load(front).get(name) for name in stated} == stated
    table = crawl.with_name("t.parquet")
    export(crawl, "parquet", table, force=True, processes=1)
    rows = duckdb.sql(f"SELECT {', '.join(stated)} FROM '{table}' WHERE url = '{HOST}/marked'").fetchall()
    assert rows == [tuple(stated.values())]
