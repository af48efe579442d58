"""The results of the tools, as plain functions: untrusted text between markers, limits, errors of one line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from orienteer.agents import tools
from orienteer.agents.tools import MAX_CHARS, AgentCrawl, AgentCrawls, ToolResult
from orienteer.errors import CrawlFolderError, InputError, OrienteerError
from tests.agents.conftest import ORDER, A

_MARKED = re.compile(r"<<<UNTRUSTED CONTENT (\w{16})>>>\n(.*)\n<<<END OF UNTRUSTED CONTENT \1>>>\Z", re.DOTALL)


@pytest.fixture
def crawl(crawls: AgentCrawls) -> AgentCrawl:
    return crawls.named(None)


def test_search_finds_pages_and_says_where(crawl: AgentCrawl) -> None:
    found = tools.search(crawl, "lighthouse sundays", n=2)
    assert found.summary.startswith("1 page found, 1 listed.")
    assert found.data["hits"][0]["url"] == f"{A}/1"
    assert "Lighthouse <b>" in found.untrusted
    assert tools.search(crawl, "lighthouse", n=1, kind="pdf").data["total"] == 0
    assert tools.search(crawl, "lighthouse", site="b.test").data["hits"] == []


def test_text_of_pages_is_between_markers_with_a_random_key(crawl: AgentCrawl) -> None:
    for found in (tools.read_page(crawl, f"{A}/order"), tools.search(crawl, "previous instructions")):
        marked = _MARKED.search(found.text())
        assert marked is not None
        assert "PREVIOUS INSTRUCTIONS" in marked[2]
        assert "INSTRUCTIONS" not in found.summary
        assert found.structured()["untrusted"] is True
    assert ORDER.split("<")[0].strip() in tools.read_page(crawl, f"{A}/order", whole=True).untrusted
    keys = {_MARKED.search(tools.read_page(crawl, f"{A}/1").text())[1] for _ in range(3)}  # type: ignore[index]
    assert len(keys) == 3
    assert tools.coverage(crawl).structured()["untrusted"] is False


def test_a_page_is_read_in_excerpts(crawl: AgentCrawl) -> None:
    text, cursor, n_excerpts = "", "", 0
    while True:
        excerpt = tools.read_page(crawl, f"{A}/long", cursor, max_chars=500).data
        assert len(excerpt["text"]) <= 500
        assert excerpt["start"] == len(text)
        text, n_excerpts = text + excerpt["text"], n_excerpts + 1
        if excerpt["cursor"] is None:
            break
        cursor = excerpt["cursor"]
    assert n_excerpts > 5
    assert len(text) == excerpt["n_chars"]
    assert text == tools.read_page(crawl, f"{A}/long", max_chars=20_000).data["text"]
    assert "## Part 7\n\nSentence 7 describes" in text


def test_another_name_leads_to_the_page(crawl: AgentCrawl) -> None:
    found = tools.read_page(crawl, "a.test/old")
    assert (found.data["url"], found.data["requested_url"]) == (f"{A}/1", f"{A}/old")


def test_links_both_ways(crawl: AgentCrawl) -> None:
    found = tools.page_links(crawl, f"{A}/1").data
    assert [one["url"] for one in found["linked_from"]] == [f"{A}/", f"{A}/old"]
    assert [one["url"] for one in found["links_to"]] == [f"{A}/"]
    assert found["linked_from"][0]["title"] == "Harbour"
    out = tools.page_links(crawl, f"{A}/", direction="out", n=2, first=1).data
    assert "linked_from" not in out
    assert (len(out["links_to"]), out["n_links_to"]) == (2, 5)


def test_coverage_as_figures_and_text(crawl: AgentCrawl) -> None:
    found = tools.coverage(crawl)
    assert found.data["pages"]["failed"] == 1
    assert found.data["proved"]["lower"] == pytest.approx(1.0)
    assert "At least 99.99 %" in found.summary or "At least 100.00 %" in found.summary


def test_several_crawls_are_named(folder: Path, unindexed: Path) -> None:
    crawls = AgentCrawls([folder, unindexed, folder])
    try:
        found = tools.crawls(crawls).data["crawls"]
        assert [(one["name"], one["is_indexed"]) for one in found] == [
            ("harbour", True), ("bare", False), ("harbour-2", True),
        ]  # fmt: skip
        with pytest.raises(InputError, match="which crawl"):
            crawls.named(None)
        with pytest.raises(InputError, match="did you mean 'harbour'"):
            crawls.named("harbor")
        bare = crawls.named("bare")
        assert "lighthouse" in tools.read_page(bare, f"{A}/1").untrusted
        with pytest.raises(CrawlFolderError, match="there is no search index yet; make it with `orienteer index"):
            tools.search(bare, "lighthouse")
    finally:
        crawls.close()


WRONG: dict[str, tuple[Callable[[AgentCrawl], ToolResult], str]] = {
    "n": (lambda crawl: tools.search(crawl, "x", n=51), "n is 51; it must be from 1 to 50"),
    "query": (lambda crawl: tools.search(crawl, " "), "query must be from 1 to 1,000 characters"),
    "site": (lambda crawl: tools.search(crawl, "x", site="a b"), "site is 'a b'; it must be one word"),
    "order": (lambda crawl: tools.search(crawl, "x", order="best"), "'best'"),
    "global": (lambda crawl: tools.search(crawl, "x", order="global"), "the global rank of these pages is unknown"),
    "max_chars": (lambda crawl: tools.read_page(crawl, f"{A}/1", max_chars=20_001), "max_chars is 20001"),
    "cursor": (lambda crawl: tools.read_page(crawl, f"{A}/1", cursor="../x"), "is not a cursor"),
    "stale": (lambda crawl: tools.read_page(crawl, f"{A}/1", cursor="10-abcdabcd"), "begin again without a cursor"),
    "unknown": (lambda crawl: tools.read_page(crawl, "b.test"), "the crawl has never seen this URL"),
    "no url": (lambda crawl: tools.page_links(crawl, "http://[", n=1), "is not a valid URL"),
    "gone": (lambda crawl: tools.read_page(crawl, f"{A}/gone"), "it has no text: failed"),
    "direction": (lambda crawl: tools.page_links(crawl, f"{A}/", "up"), "it must be in, out or both"),
    "first": (lambda crawl: tools.page_links(crawl, f"{A}/", first=-1), "first is -1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_input_is_one_line(name: str, crawl: AgentCrawl) -> None:
    ask, line = WRONG[name]
    with pytest.raises(OrienteerError, match=re.escape(line)) as error:
        ask(crawl)
    assert "\n" not in str(error.value)


def test_no_answer_is_longer_than_the_limit() -> None:
    text = ToolResult("summary", "x" * (2 * MAX_CHARS)).text()
    assert len(text) < MAX_CHARS + 500
    assert "[truncated" in text
