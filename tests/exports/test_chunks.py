"""Chunks: each of one section, of limited size, with code that is never split."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import orienteer as ori
from orienteer.exports.chunks import Chunk, chunks_of
from orienteer.exports.export import export
from orienteer.extract.page import extract_page
from tests.search.small_webs import HandmadeCrawl

URL = "http://a.org/guide"


def chunks(html: str, max_words: int = 20) -> list[Chunk]:
    page = extract_page(html.encode(), URL, with_blocks=True)
    return chunks_of(page.blocks, page.base, max_words)


def words(n: int, name: str = "w") -> str:
    return " ".join(f"{name}{k}" for k in range(n))


def test_chunks_follow_the_headings():
    html = "intro<h1 id=g>Guide</h1>all<h2 id=i>Install</h2><h3>Linux</h3>apt<h2>Use</h2>run<h1>Last</h1>"
    assert [(chunk.headings, chunk.anchor, chunk.text) for chunk in chunks(html)] == [
        ([], "", "intro"),
        (["Guide"], "g", "all"),
        (["Guide", "Install", "Linux"], "", "apt"),
        (["Guide", "Use"], "", "run"),
        (["Last"], "", "Last"),
    ]


def test_a_long_section_is_cut_between_paragraphs():
    found = chunks(f"<p>{words(12)}<p id=p>{words(12, 'x')}<p>{words(5, 'y')}")
    assert [chunk.n_words for chunk in found] == [12, 17]
    assert [chunk.anchor for chunk in found] == ["", "p"]


def test_a_long_paragraph_is_cut_behind_a_sentence():
    found = chunks(f"<p>{words(12)}. <b>{words(12, 'x')}.</b> {words(50, 'y')}")
    assert found[0].text == words(12) + "."
    assert found[1].text == f"**{words(12, 'x')}.**"
    assert all(chunk.n_words <= 20 for chunk in found)
    assert (
        " ".join(chunk.text for chunk in found).replace("*", "") == f"{words(12)}. {words(12, 'x')}. {words(50, 'y')}"
    )


def test_a_script_without_spaces_is_cut_too():
    found = chunks("<p>" + "東京都" * 500)
    assert len(found) > 3
    assert "".join(chunk.text for chunk in found) == "東京都" * 500


def test_code_is_never_cut():
    code = "\n".join(f"line {k}" for k in range(100))
    found = chunks(f"<p>before<pre>{code}</pre><p>behind<pre>{code}</pre>")
    assert [chunk.text for chunk in found] == ["before", f"```\n{code}\n```", "behind", f"```\n{code}\n```"]
    assert found[1].n_words == 200


def test_tables_are_cut_between_rows_and_keep_their_headers():
    rows = "".join(f"<tr><td>{words(4, f'r{k}')}<td>{k}" for k in range(8))
    found = chunks(f"<table><tr><th>Name<th>Number{rows}</table>")
    assert len(found) == 3
    assert all(chunk.text.startswith("| Name | Number |\n| --- | --- |\n| r") for chunk in found)
    assert sum(chunk.text.count("\n") - 1 for chunk in found) == 8


def test_a_chunk_that_begins_in_a_list_is_complete():
    found = chunks(f"<dl><dt>term<dd><p>{words(12)}<p>{words(12, 'x')}<dt>next<dd>{words(12, 'y')}</dl>")
    assert [chunk.text for chunk in found] == [
        f"- **term**\n\n  {words(12)}",
        words(12, "x"),
        f"- **next**\n\n  {words(12, 'y')}",
    ]


def test_chunks_of_a_crawl(tmp_path: Path) -> None:
    crawl = HandmadeCrawl(tmp_path / "crawl")
    crawl.add({URL: f"<html lang=en><title>T</title><h1 id='a b'>H</h1><p>{words(25)}<p>{words(25, 'x')}"})
    crawl.add({"http://a.org/plain": "one\ntwo\n\nthree"}, content_type="text/plain")
    report = export(crawl.path, "chunks", tmp_path / "out.jsonl", words=30)
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert report.n_pages == 2
    assert [(one["url"], one["page"], one["position"]) for one in found] == [
        (f"{URL}#a%20b", URL, 0),
        (f"{URL}#a%20b", URL, 1),
        ("http://a.org/plain", "http://a.org/plain", 0),
    ]
    assert found[0].items() >= {"headings": ["H"], "title": "T", "language": "en", "n_words": 25}.items()
    assert found[2]["text"] == "one\\\ntwo\n\nthree"
    with pytest.raises(ori.InputError, match="a chunk has 20 to 100,000 words, not 3"):
        export(crawl.path, "chunks", tmp_path / "no.jsonl", words=3)
