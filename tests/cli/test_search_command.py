"""`orienteer index` and `orienteer search`, as a person uses them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orienteer.graph.proved import Certificate
from orienteer.inspect.status_text import nothing_found
from tests.cli.run import orienteer, orienteer_each, refused
from tests.search.small_webs import HandmadeCrawl, page


@pytest.fixture
def crawl(tmp_path: Path) -> HandmadeCrawl:
    crawl = HandmadeCrawl(tmp_path / "crawl")
    for k in range(12):
        links = {"http://a.org/0": "the orchard", f"http://a.org/{k // 2}": "up"}
        crawl.add({f"http://a.org/{k}": page(f"Tree {k}", "An apple tree. " * (k + 1))}, {f"http://a.org/{k}": links})
    crawl.add({"http://a.org/evil": page("&lt;script&gt; \x1b[31m [bold]red[/bold] \u202e", "apple [link=x] juice")})
    return crawl


def test_index_then_search(crawl: HandmadeCrawl) -> None:
    done = orienteer("index", crawl.path)
    assert "13 pages can be searched." in done.stdout
    assert "13 added" in done.stdout
    assert "pages per CPU-second" in done.stdout
    assert "Nothing has changed" in orienteer("index", crawl.path).stdout
    found = orienteer("search", crawl.path, "apple tree", "-n", 3).stdout
    assert "12 pages found, 1 to 3; order: by words and links" in found
    assert " 1. Tree " in found
    assert "http://a.org/" in found
    assert " by words, no. " in found
    assert " by links in this crawl\n" in found
    assert "Related: " in found
    second = orienteer("search", crawl.path, "apple tree", "-n", 3, "--page", 2).stdout
    assert "4 to 6" in second
    assert " 4. Tree " in second


def test_results_say_where_they_stand_in_other_orders(crawl: HandmadeCrawl) -> None:
    orienteer("index", crawl.path)
    found = orienteer("search", crawl.path, "apple", "--rank", "local", "--weight", 1).stdout
    assert "order: by links in this crawl;" in found
    assert "    no. 4 by words\n" in found
    first = json.loads(orienteer("search", crawl.path, "apple", "--rank", "local", "--weight", 1, "--json").stdout)
    assert first["hits"][0]["url"] == "http://a.org/0"
    assert first["is_current"]
    assert first["weight"] == 1


def test_control_characters_of_pages_are_removed(crawl: HandmadeCrawl) -> None:
    orienteer("index", crawl.path)
    found = orienteer("search", crawl.path, "juice").stdout
    assert "<script>" in found
    assert "[bold]red[/bold]" in found
    assert "apple [link=x] juice" in found
    assert "\x1b" not in found
    assert "\u202e" not in found


def test_what_was_not_found(crawl: HandmadeCrawl) -> None:
    orienteer("index", crawl.path)
    done = orienteer("search", crawl.path, "orchrad")
    assert "Nothing found." in done.stdout
    assert nothing_found(Certificate(0.999, 1.0)).startswith("Nothing found. This crawl covers at least 99.90 %, so it")
    assert nothing_found(Certificate(0.41, 1.0)).endswith("covers at least 41.00 %; the rest was not searched.")
    assert "Did you mean: orchard" in done.stdout
    for query, hint in {
        "": "The query is empty: type some words.",
        '"orchrad': "The quote before “orchrad” is not closed.",
        "foo:orchrad": "There is no field “foo”: it is looked for as a word.",
        "before:20x5": "“before:20x5” is no date",
    }.items():
        out = orienteer("search", crawl.path, query).stdout
        assert hint in out
        assert "Nothing found." not in out
        assert "Query syntax: words," in out
    some = orienteer("search", crawl.path, "apple submarine").stdout
    assert "No page has all of the words" in some
    assert "none on this page" in orienteer("search", crawl.path, "apple", "--page", 9).stdout


def test_an_index_that_is_behind_says_so(crawl: HandmadeCrawl) -> None:
    orienteer("index", crawl.path)
    crawl.add({"http://a.org/new": page("New", "apple")})
    assert "The crawl has fetched more since it was indexed" in orienteer("search", crawl.path, "apple").stdout
    report = json.loads(orienteer("index", crawl.path, "--json").stdout)
    assert (report["n_read"], report["n_pages"]) == (1, 14)
    rebuilt = json.loads(orienteer("index", crawl.path, "--rebuild", "--json").stdout)
    assert (rebuilt["n_read"], rebuilt["n_added"]) == (14, 14)


def test_what_is_wrong_is_said_in_one_line(crawl: HandmadeCrawl, tmp_path: Path) -> None:
    assert f"make it with `orienteer index {crawl.path}`" in refused("search", crawl.path, "apple")
    orienteer("index", crawl.path)
    wrong = {
        "no such crawl folder": ["search", tmp_path / "none", "x"],
        "not a crawl folder": ["index", tmp_path],
        "did you mean 'local'": ["search", crawl.path, "x", "--rank", "locl"],
        "orienteer estimate": ["search", crawl.path, "x", "--rank", "global"],
        "weight is 2.0": ["search", crawl.path, "x", "--weight", 2],
        "-n: 1 or more": ["search", crawl.path, "x", "-n", 0],
        "too far": ["search", crawl.path, "x", "--page", 99999],
        "--on-topic is for crawls with a topic": ["index", crawl.path, "--on-topic"],
    }
    for (wanted, arguments), done in zip(wrong.items(), orienteer_each(list(wrong.values())), strict=True):
        assert done.returncode == 2, (arguments, done)
        assert done.stderr.startswith("orienteer: ")
        assert done.stderr.count("\n") == 1
        assert wanted in done.stderr, done.stderr
    (crawl.path / "index" / "meta.json").write_text("{")
    assert "--rebuild" in refused("search", crawl.path, "x")
    assert "--rebuild" in refused("index", crawl.path)
    orienteer("index", crawl.path, "--rebuild")
    assert "pages found" in orienteer("search", crawl.path, "apple").stdout
