"""Pages as texts: JSON lines, Markdown, Parquet."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import orienteer as ori
from orienteer.exports import tables
from orienteer.exports.export import export
from orienteer.exports.markdown import file_name, yaml_value
from orienteer.exports.markdown_blocks import escaped
from orienteer.store.folder import CrawlFolder
from tests.exports.crawls import (
    HIDDEN,
    HOME,
    LATIN,
    NEWS,
    OLD,
    PAGES,
    RUDE_URLS,
    TWIN,
    VISIT,
    hostile_crawl,
    plain_crawl,
    site_crawl,
)
from tests.search.small_webs import HandmadeCrawl, page

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site_crawl(tmp_path_factory.mktemp("site") / "crawl")


def jsonl(folder: Path, **options: Any) -> dict[str, dict[str, Any]]:
    out = folder.with_suffix(".jsonl")
    report = export(folder, "jsonl", out, force=True, **options)
    pages = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert report.n_pages == len(pages)
    assert report.size_bytes == out.stat().st_size
    return {page["url"]: page for page in pages}


def one_of(pages: set[str], *others: str) -> bool:
    return len(pages.intersection(others)) == 1


def test_fields_of_json_lines(crawl: Path) -> None:
    pages = jsonl(crawl)
    home = pages[HOME]
    assert home["title"] == "Home"
    assert home["text"].startswith("Home\nWelcome.")
    assert (home["language"], home["headings"], home["status"], home["n_links"]) == ("en", ["Home"], 200, 8)
    assert home["content_type"] == "text/html"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", home["fetched_at"])
    assert re.fullmatch(r"sha1:[0-9a-f]{40}", home["digest"])
    assert 0 < home["local_rank"] < 1
    assert "global_rank" not in home
    assert "relevance" not in home
    assert pages[LATIN]["title"] == "Café"
    assert pages[LATIN]["text"] == "Öffnungszeiten"


def test_a_page_of_plain_text(tmp_path: Path) -> None:
    crawl = HandmadeCrawl(tmp_path / "crawl")
    crawl.add({"http://a.org/a.txt": "Just <text>,\nin two lines."}, content_type="text/plain")
    assert jsonl(crawl.path)["http://a.org/a.txt"]["text"] == "Just <text>,\nin two lines."


def test_one_of_each_group_of_duplicates_without_noindex(crawl: Path) -> None:
    some, everything = jsonl(crawl), jsonl(crawl, all_pages=True)
    assert set(everything) == PAGES
    assert one_of(set(some), NEWS, TWIN)
    assert set(some) | {NEWS, TWIN, HIDDEN} == PAGES
    assert HIDDEN not in some
    assert everything[HIDDEN]["noindex"] is True
    assert {everything[TWIN].get("repeats"), everything[NEWS].get("repeats")} in ({None, TWIN}, {None, NEWS})
    assert sum(each["local_rank"] for each in everything.values()) == pytest.approx(1.0)


def test_a_redirect_is_another_name(crawl: Path) -> None:
    pages = jsonl(crawl, all_pages=True)
    assert pages[NEWS]["other_names"] == [OLD]
    assert OLD not in pages


def test_hosts_and_sites(crawl: Path) -> None:
    assert set(jsonl(crawl, hosts="www.b.test")) == {VISIT}
    assert set(jsonl(crawl, sites=["b.test"])) == {VISIT}
    assert set(jsonl(crawl, hosts=["a.test", "http://www.b.test/"], all_pages=True)) == PAGES
    with pytest.raises(ori.InputError, match=r"all 6 pages are on other hosts; there is nothing to export$"):
        jsonl(crawl, hosts="c.test")


def test_topics(tmp_path: Path, crawl: Path) -> None:
    topic = HandmadeCrawl(tmp_path / "topic")
    topic.add({"http://a.org/birds": page("Birds", "herons")}, relevance=0.9)
    topic.add({"http://a.org/cars": page("Cars", "wheels")}, relevance=0.1)
    with CrawlFolder.open(topic.path) as folder:
        folder.write_topic('[topic]\nkind = "keywords"\nwords = ["heron"]\n')
    assert {url: found["relevance"] for url, found in jsonl(topic.path).items()} == {
        "http://a.org/birds": 0.9,
        "http://a.org/cars": 0.1,
    }
    assert set(jsonl(topic.path, on_topic=True)) == {"http://a.org/birds"}
    with pytest.raises(ori.InputError, match="--on-topic is for crawls with a topic, and this one has none"):
        jsonl(crawl, on_topic=True)


def test_the_rank_in_the_whole_web(tmp_path: Path) -> None:
    crawl = plain_crawl(tmp_path / "crawl", 3)
    with CrawlFolder.open(crawl.path) as folder:
        folder.write_ranks({"pages": np.array([0, 2]), "global": np.array([0.75, 0.25])})
    pages = jsonl(crawl.path)
    assert [found.get("global_rank") for found in pages.values()] == [0.75, None, 0.25]


def test_circular_duplicates(tmp_path: Path) -> None:
    """This happens when pages change: each was found to be a duplicate of the other at some time."""
    crawl = HandmadeCrawl(tmp_path / "crawl")
    one, two, three = "http://a.org/1", "http://a.org/2", "http://a.org/3"
    crawl.add({one: page("One", "same"), two: page("Two", "same"), three: page("Three", "other")})
    crawl.add({one: page("One", "same")}, near_duplicate_of=two)
    crawl.add({two: page("Two", "same")}, near_duplicate_of=one)
    assert set(jsonl(crawl.path)) == {one, three}


def test_the_representative_passes_the_filters(tmp_path: Path) -> None:
    crawl = HandmadeCrawl(tmp_path / "crawl")
    crawl.add({"http://a.org/": page("A", "same")})
    crawl.add({"http://b.org/": page("B", "same")}, near_duplicate_of="http://a.org/")
    assert set(jsonl(crawl.path)) == {"http://a.org/"}
    assert set(jsonl(crawl.path, hosts="b.org")) == {"http://b.org/"}


def test_compressed_json_lines(crawl: Path, tmp_path: Path) -> None:
    export(crawl, "jsonl", tmp_path / "pages.jsonl.gz")
    with gzip.open(tmp_path / "pages.jsonl.gz", "rt") as lines:
        assert {json.loads(line)["url"] for line in lines} == set(jsonl(crawl))


def test_hostile_pages_are_a_line_each(tmp_path: Path) -> None:
    pages = jsonl(hostile_crawl(tmp_path / "crawl").path)
    assert set(pages) == set(RUDE_URLS)
    assert all("\udcff" not in found["text"] for found in pages.values())


# -- Markdown ---------------------------------------------------------------------------------------------------


def read_markdown(path: Path) -> tuple[dict[str, Any], str]:
    """Return front matter and body of a file, parsed as YAML and Markdown."""
    text = path.read_text(encoding="utf-8")
    opening, head, body = re.split(r"^---$\n?", text, maxsplit=2, flags=re.MULTILINE)
    assert opening == ""
    return yaml.safe_load(head), body


def test_markdown_is_a_file_a_page(crawl: Path, tmp_path: Path) -> None:
    report = export(crawl, "markdown", tmp_path / "out")
    files = [read_markdown(path) for path in (tmp_path / "out").glob("*/*.md")]
    pages = jsonl(crawl)
    assert report.n_pages == len(files) == len(pages)
    for head, body in files:
        known = pages[head["url"]]
        when = head.pop("fetched_at")
        assert str(when) in (known.pop("fetched_at"), str(when))
        assert head == {name: value for name, value in known.items() if name not in ("text", "headings", "fetched_at")}
        assert known["text"].split()[0] in body
    (home,) = [body for head, body in files if head["url"] == HOME]
    assert home.startswith("\n# Home\n\nWelcome.")


def test_hostile_pages_are_text_in_markdown(tmp_path: Path) -> None:
    """Only paragraphs, headings and links are rendered, and their text is that of the page."""
    crawl = hostile_crawl(tmp_path / "crawl")
    export(crawl.path, "markdown", tmp_path / "out")
    files = list((tmp_path / "out").rglob("*"))
    assert all(path.resolve().is_relative_to(tmp_path / "out") for path in files)
    pages = [path for path in files if path.suffix == ".md"]
    assert len(pages) == len(RUDE_URLS)
    texts = jsonl(crawl.path)
    for path in pages:
        head, body = read_markdown(path)
        known = texts[head["url"]]
        assert head["title"] == known["title"]
        rendered = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(body)
        rendered = re.sub(r'</?a(?: href="https?://[^"]*")?>', "", rendered)  # the links of the page
        assert set(re.findall(r"</?(\w+)", rendered)) <= {"p", "h1", "h2"}
        assert [line for line in _plain(rendered) if line != _words(known["title"])] == [
            words for line in known["text"].split("\n") if (words := _words(line)) and words != _words(known["title"])
        ]


def _words(text: str) -> str:
    return " ".join(re.sub("[\x00-\x08\x0b-\x1f\x7f]", "\ufffd", text).split())


def _plain(html: str) -> list[str]:
    import html as entities

    return [entities.unescape(part) for part in re.findall(r"<(?:p|h1|h2)>(.*?)</(?:p|h1|h2)>", html, re.DOTALL)]


@given(url=TEXTS)
def test_file_names_stay_inside_the_folder(url: str) -> None:
    for name in (file_name(url), file_name(f"http://{url}"), file_name(f"http://a.org/{url}")):
        assert len(name.parts) == 2
        for part in name.parts:
            assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", part)
            assert len(part) < 110


def test_file_names_are_distinct() -> None:
    assert len({str(file_name(url)).lower() for url in RUDE_URLS}) == len(RUDE_URLS)
    assert str(file_name("http://a.org/visit/us.html")).startswith("a.org/visit-us-")


@given(value=st.one_of(TEXTS, st.integers(), st.booleans(), st.lists(TEXTS), st.floats(allow_nan=False, width=64)))
def test_yaml_reads_back_what_was_written(value: Any) -> None:
    if value not in (float("inf"), float("-inf")):
        assert yaml.safe_load(f"key: {yaml_value(value)}\n") == {"key": value}


@given(text=st.text("ab1 *_`~[]()<>&#;.-+!|:=\\\"'>\té", max_size=30))
def test_markdown_renders_escaped_text(text: str) -> None:
    for mark, tag in (("", "p"), ("## ", "h2")):
        rendered = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(mark + escaped(text))
        assert _plain(rendered) == ([_words(text)] if text.split() else [""] * bool(mark))
        assert set(re.findall(r"</?(\w+)", rendered)) <= {tag}


# -- Parquet ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_pages", [1, 5000])
def test_parquet_in_duckdb_and_pandas(
    crawl: Path, tmp_path: Path, n_pages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pandas as pd  # here, since it takes long to import

    monkeypatch.setattr(tables, "_PAGES_PER_ROW_GROUP", n_pages)
    report = export(crawl, "parquet", tmp_path / "site.parquet")
    assert [path.name for path in report.files] == ["site.parquet", "site.links.parquet"]
    known = jsonl(crawl)
    table = pd.read_parquet(tmp_path / "site.parquet").set_index("url")
    assert set(table.index) == set(known)
    assert table.loc[HOME, "title"] == "Home"
    assert table.loc[HOME, "text"] == known[HOME]["text"]
    assert table["local_rank"].to_dict() == {url: found["local_rank"] for url, found in known.items()}
    assert table["relevance"].isna().all()
    pages, links = tmp_path / "site.parquet", tmp_path / "site.links.parquet"
    with duckdb.connect() as database:
        hosts = database.sql(f"SELECT host, count(*) FROM '{pages}' GROUP BY host ORDER BY host").fetchall()
        assert hosts == [("a.test", len(known) - 1), ("www.b.test", 1)]
        (when,) = database.sql(f"SELECT max(fetched_at) > '2020-01-01' FROM '{pages}'").fetchall()
        assert when == (True,)
        joined = database.sql(
            f"SELECT b.url FROM '{links}' JOIN '{pages}' a ON a.page = source JOIN '{pages}' b ON b.page = target "
            f"WHERE a.url = '{VISIT}'"
        ).fetchall()
    (news,) = {NEWS, TWIN} & set(known)
    assert {url for (url,) in joined} == {HOME, news}, "a link to another name of a page is a link to the page"


def test_parquet_round_trips(crawl: Path, tmp_path: Path) -> None:
    import pandas as pd

    report = export(crawl, "parquet", tmp_path / "site.parquet", all_pages=True)
    web = ori.LinkGraph.load(tmp_path / "site.links.parquet")
    table = pd.read_parquet(tmp_path / "site.parquet")
    assert web.urls is not None
    assert list(web.urls) == table["url"].tolist()
    assert (web.n_pages, web.n_links) == (report.n_pages, report.n_links)
    assert ori.pagerank(web) == pytest.approx(table["local_rank"].to_numpy(), abs=1e-6)


def test_hostile_pages_in_parquet(tmp_path: Path) -> None:
    import pandas as pd

    crawl = hostile_crawl(tmp_path / "crawl")
    export(crawl.path, "parquet", tmp_path / "rude.parquet")
    table = pd.read_parquet(tmp_path / "rude.parquet")
    assert set(table["url"]) == set(RUDE_URLS)
    assert table["text"].tolist() == [found["text"] for found in jsonl(crawl.path).values()]


def test_main_text_and_full_text(tmp_path: Path) -> None:
    menu = "<nav><ul><li><a href=/>Start</a><li><a href=/shop>Shop</a></ul></nav>"
    crawl = HandmadeCrawl(tmp_path / "crawl")
    said = "The bridge of {} was closed in March, and the council wants to build it again before the summer ends. "
    towns = ("Aston", "Borden", "Calder", "Dunford", "Elmsley", "Fernham")
    crawl.add({f"http://a.org/{town}": f"{menu}<article><h1>{town}</h1><p>{said.format(town) * 5}" for town in towns})
    page = jsonl(crawl.path, full_text=True)["http://a.org/Calder"]
    assert page["text"] == f"Calder\n{said.format('Calder') * 5}".strip()
    assert page["full_text"].startswith("Start\nShop\nCalder\n")
    assert "full_text" not in jsonl(crawl.path)["http://a.org/Calder"]
