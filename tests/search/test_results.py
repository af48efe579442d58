"""Results: orders, snippets, suggestions, related pages; untrusted text is escaped."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

from orienteer.errors import InputError
from orienteer.search.finding import edit_distance, one_edit_away
from orienteer.search.indexing import update_index
from orienteer.search.page_columns import LinkColumns
from orienteer.search.query import parse
from orienteer.search.ranking import co_cited
from orienteer.search.search_index import SearchIndex, SearchResults
from orienteer.search.snippet import SNIPPET_CHARS, Marker, Snippet
from tests.search.small_webs import HandmadeCrawl, page
from tests.tables import over_rows

SCRIPT = "<script>alert(1)</script>"
HOSTILE_TITLES = [
    "&lt;script&gt;alert(1)&lt;/script&gt; fruit",
    "&lt;img src=x onerror=alert(1)&gt; fruit",
    "\"' onmouseover='alert(1) fruit",
    "]]&gt;&lt;!-- fruit --&gt;",
    "&lt;/mark&gt;&lt;b&gt;fruit&lt;/b&gt;",
    "\u202e tiurf fruit \x1b[31m",
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> SearchIndex:
    crawl = HandmadeCrawl(tmp_path_factory.mktemp("results") / "crawl")
    hub = {f"http://a.org/{k}": f"number {k}" for k in range(1, 30)}
    crawl.add({"http://a.org/": page("Home", "Welcome to the orchard.")}, {"http://a.org/": hub})
    for k in range(1, 30):
        links = {"http://a.org/": "home", f"http://a.org/{max(1, k // 2)}": "up"}
        crawl.add(
            {f"http://a.org/{k}": page(f"Tree {k}", f"{'A tall tree. ' * (k % 4 + 1)}")}, {f"http://a.org/{k}": links}
        )
    crawl.add({f"http://evil.org/{k}": page(title, f"fruit {title}") for k, title in enumerate(HOSTILE_TITLES)})
    update_index(crawl.path)
    return SearchIndex.open(crawl.path)


def test_orders_and_positions(index: SearchIndex) -> None:
    by_text, by_rank = (
        index.search("tree", rank=rank, weight=weight, n=50) for rank, weight in (("text", None), ("local", 1))
    )
    texts = [hit.text_score for hit in by_text.hits]
    assert texts == sorted(texts, reverse=True)
    ranks = [hit.local_rank for hit in by_rank.hits]
    assert ranks == sorted(ranks, reverse=True)
    assert {hit.url for hit in by_text.hits} == {hit.url for hit in by_rank.hits}
    for results in (by_text, by_rank):
        assert [hit.position for hit in results.hits] == list(range(1, 30))
    assert [hit.positions["text"] for hit in by_text.hits] == list(range(1, 30))
    as_local = index.search("tree", rank="local", n=50)
    assert [hit.positions["local"] for hit in as_local.hits] == list(range(1, 30))
    assert all(hit.positions["global"] is None and hit.global_rank is None for hit in as_local.hits)


def test_weights_go_from_words_to_rank(index: SearchIndex) -> None:
    by_text = [hit.url for hit in index.search("tree", rank="text", n=50).hits]
    assert [hit.url for hit in index.search("tree", rank="blend", weight=0, n=50).hits] == by_text
    assert [hit.url for hit in index.search("tree", rank="blend", weight=1, n=50).hits] != by_text


def test_pages_of_results_fit_together(index: SearchIndex) -> None:
    for rank in ("text", "local", "blend"):
        everything = [hit.url for hit in index.search("tree", rank=rank, n=29).hits]
        in_pages = [hit.url for page in range(1, 6) for hit in index.search("tree", rank=rank, n=7, page=page).hits]
        assert in_pages == everything
    assert index.search("tree", page=100).hits == ()


@over_rows(
    ("options", "wanted"),
    [
        ({"rank": "globl"}, "did you mean 'global'"),
        ({"rank": "global"}, "orienteer estimate"),
        ({"weight": 1.5}, "between 0"),
        ({"weight": float("nan")}, "between 0"),
        ({"rank": "text", "weight": 0.5}, "has none"),
        ({"n": 0}, "1 or more"),
        ({"page": 0}, "1 or more"),
        ({"page": 10**9}, "too far"),
    ],
)
def test_bad_options_are_one_line(index: SearchIndex, options: dict[str, object], wanted: str) -> None:
    with pytest.raises(InputError, match=wanted) as caught:
        index.search("tree", **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_untrusted_text_is_escaped(index: SearchIndex) -> None:
    hits = index.search("fruit", n=20).hits
    assert len(hits) == len(HOSTILE_TITLES)
    for hit in hits:
        for html in (hit.title_html, hit.snippet_html):
            bare = html.replace("<mark>", "").replace("</mark>", "")
            assert not set("<>\"'") & set(bare)
            assert html.count("<mark>") == html.count("</mark>")
        assert "<mark>fruit</mark>" in hit.snippet_html
    assert any("<script>" in hit.title for hit in hits)  # plain text is unchanged


def test_snippets() -> None:
    text = "nothing here, " * 100 + "the ponies were running fast, " + "more of nothing. " * 100
    marker = Marker(parse("pony runs"), "en")
    snippet = marker.snippet(text)
    assert "<mark>ponies</mark> were <mark>running</mark>" in snippet.html
    assert snippet.plain.startswith("… ")
    assert snippet.plain.endswith(" …")
    assert len(snippet.plain) <= SNIPPET_CHARS + 4
    assert "".join(snippet.segments) == snippet.plain
    assert Marker(parse("absent"), "en").snippet(text).plain.startswith("nothing here,")
    assert Marker(parse(""), "en").snippet("") == Snippet("")
    assert Marker(parse("東京"), "plain").marked("in 東京 x").html == "in <mark>東京</mark> x"
    assert Marker(parse("über"), "de").marked("Über uns").html == "<mark>Über</mark> uns"
    assert Marker(parse("istanbul"), "plain").marked("İİ istanbul").html == "İİ <mark>istanbul</mark>"


@pytest.mark.parametrize(
    ("words", "meant"), [("orchrad", "orchard"), ("welcone tree", None), ("tree", None), ("xqzv", None)]
)
def test_did_you_mean(index: SearchIndex, words: str, meant: str | None) -> None:
    assert index.search(words).suggestion == meant


def test_edit_distance() -> None:
    assert {edit_distance("fruit", other) for other in one_edit_away("fruit")} <= {0, 1}
    assert {"fruits", "ruit", "furit", "grape"} & set(one_edit_away("fruit")) == {"fruits", "ruit", "furit"}


def test_co_cited_pages() -> None:
    """0 links to 1, 2, 3; 4 links to 1, 2; 5 links to everything."""
    rows = [[1, 2, 3], [], [], [], [1, 2], [0, 1, 2, 3, 4]]
    offsets = np.cumsum([0, *map(len, rows)])
    targets = np.array([target for row in rows for target in row], np.uint32)
    sources = np.repeat(np.arange(6), np.diff(offsets))
    back = np.argsort(targets, kind="stable")
    links = LinkColumns(
        np.arange(6) * 10,
        offsets,
        targets,
        np.searchsorted(targets[back], np.arange(7)),
        sources[back].astype(np.uint32),
    )
    assert co_cited(links, {10}, 2) == [20, 30]
    assert co_cited(links, {10}, 0) == []
    assert co_cited(links, {50}, 5) == []  # no incoming links
    assert 10 not in co_cited(links, {10}, 9)


def test_related_pages(index: SearchIndex) -> None:
    assert index.related("http://a.org/3", 4)
    assert index.search("tree", n_related=3).related
    with pytest.raises(InputError, match="no page with this URL"):
        index.related("http://nowhere.org/")


def test_results_are_json(index: SearchIndex) -> None:
    assert json.loads(json.dumps(index.search("tree").as_dict()))["hits"][0]["position"] == 1


def test_many_threads_search_at_once(index: SearchIndex) -> None:
    expected = [hit.url for hit in index.search("tree").hits]
    seen: list[list[str]] = []

    def search_often() -> None:
        for _ in range(20):
            results: SearchResults = index.search("tree")
            seen.append([hit.url for hit in results.hits])

    threads = [threading.Thread(target=search_often) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [expected] * 160
