"""The metadata of pages, and that hostile data is harmless."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from orienteer.extract.page import extract_page
from orienteer.extract.page_fields import (
    MAX_FIELD_CHARS,
    MAX_SCRIPT_CHARS,
    NO_FIELDS,
    LinkedData,
    PageFields,
    linked_data,
)
from orienteer.responses.reading import read_page
from tests.tables import over_rows

PAGE = "http://example.org/dir/page"


def fields(html: str) -> PageFields:
    return extract_page(html.encode(), PAGE, with_fields=True).fields


def script(data: Any) -> str:
    return f"<script type='application/ld+json'>{json.dumps(data)}</script>"


def test_only_on_request() -> None:
    html = b"<meta name=author content=A>"
    assert extract_page(html, PAGE).fields is NO_FIELDS
    assert extract_page(html, PAGE, with_fields=True, with_text=False).fields.author == "A"


def test_open_graph() -> None:
    found = fields(
        "<meta property=og:title content='A &amp; B'><meta property='og:type' content=article>"
        "<meta property=og:image content=../i.png><meta property=og:image content=other.png>"
        "<meta property=og:site_name content=' The  Site '><meta property=og:description content=said>"
    )
    assert found == PageFields(
        title="A & B", kind="article", image="http://example.org/i.png", site_name="The Site", description="said"
    )


def test_the_description_comes_before_open_graph() -> None:
    html = "<meta property=og:description content=b><meta name=Description content=' a  a '>"
    assert fields(html).description == "a a"


@over_rows(
    ("html", "published", "changed"),
    [
        ("<meta property=article:published_time content=2025-03-01T10:00:00Z>", "2025-03-01", ""),
        ("<meta property=article:modified_time content=2025-04-01>", "", "2025-04-01"),
        ("<meta name=date content=2025-03><meta name=DC.date.issued content=2025-01>", "2025-01", ""),
        ("<meta itemprop=datePublished content=2025>", "2025", ""),
        ("<meta http-equiv=last-modified content='Sat, 01 Mar 2025 10:00:00 GMT'>", "", "2025-03-01"),
        ("<time datetime=2025-03-01>then</time>", "", ""),
        ("<meta property=og:type content=article><time datetime=2025-03-01><time datetime=2025-05>", "2025-03-01", ""),
        ("<time datetime=2020-01-01><time itemprop=datePublished datetime=2025-03-01>", "2025-03-01", ""),
        ("<time class=published datetime=2025-03-01><time class=updated datetime=2025-04>", "2025-03-01", "2025-04"),
        ("<time pubdate datetime=2025-03-01>", "2025-03-01", ""),
        ("<meta name=date content=soon><meta name=pubdate content=2024-02-29>", "2024-02-29", ""),
        (script({"@type": "Article", "datePublished": "2025-03"}) + "<meta name=date content=2020>", "2025-03", ""),
    ],
)  # fmt: skip
def test_dates(html: str, published: str, changed: str) -> None:
    found = fields(html)
    assert (found.published, found.changed) == (published, changed)


def test_last_modified_is_the_last_resort() -> None:
    def changed(html: bytes, last_modified: str) -> str:
        page = read_page(html, PAGE, "text/html", with_fields=True, last_modified=last_modified)
        return page.fields.changed

    assert changed(b"", "Sat, 01 Mar 2025 10:00:00 GMT") == "2025-03-01"
    assert changed(b"<meta name=revised content=2024>", "Sat, 01 Mar 2025 10:00:00 GMT") == "2024"
    assert changed(b"<meta name=date content=2025-06>", "Sat, 01 Mar 2025 10:00:00 GMT") == "", (
        "before it was published"
    )
    assert changed(b"", "never") == ""


@over_rows(
    ("html", "author"),
    [
        ("<meta name=author content='A. Writer'>", "A. Writer"),
        ("<meta name=citation_author content=A><meta name=citation_author content=B>", "A, B"),
        ("<meta property=article:author content=https://social.example/a><meta name=dc.creator content=C>", "C"),
        (script({"@type": "BlogPosting", "author": ["A", {"name": "B"}, 3]}), "A, B"),
        (script({"@type": "Article", "author": {"@id": "#x"}}) + script({"@type": "Person", "@id": "#x", "name": "P"}),
         "P"),
        (script({"@type": "Person", "name": "P", "author": "Q"}), ""),
    ],
)  # fmt: skip
def test_authors(html: str, author: str) -> None:
    assert fields(html).author == author


def test_linked_data_of_an_article_among_other_things() -> None:
    graph = {"@context": "https://schema.org", "@graph": [
        {"@type": "WebSite", "name": "Site", "description": "of the site"},
        {"@type": ["WebPage", "https://schema.org/FAQPage"], "datePublished": "2020", "description": "of the page"},
        {"@type": "NewsArticle", "datePublished": "2025-03-01", "dateModified": "2025-04-01",
         "image": [{"@type": "ImageObject", "url": "/i.png"}], "comment": [{"@type": "Comment", "author": "Troll"}]},
    ]}  # fmt: skip
    assert fields(script(graph)) == PageFields(
        published="2025-03-01", changed="2025-04-01", description="of the page", site_name="Site",
        image="http://example.org/i.png", types=("WebSite", "WebPage", "FAQPage", "NewsArticle"),
    )  # fmt: skip


def test_other_languages() -> None:
    html = (
        "<base href=/b/><link rel=alternate hreflang=de href=x><link rel='alternate' hreflang=pt-BR href=/y>"
        "<link rel=alternate hreflang=x-default href=/dir/page><link rel=stylesheet hreflang=fr href=z>"
        "<link rel=alternate hreflang=es href=mailto:a@b>"
    )
    page = extract_page(html.encode(), PAGE, with_fields=True)
    assert page.fields.languages == (
        ("de", "http://example.org/b/x"), ("pt-BR", "http://example.org/y"), ("x-default", PAGE),
    )  # fmt: skip
    assert page.alternates == ("http://example.org/b/x", "http://example.org/y")
    assert page.links == [], "nobody clicks them"


def test_feeds() -> None:
    html = (
        "<link rel=alternate type=application/rss+xml href=feed><link rel=alternate type='application/atom+xml; a=b' "
        "href=/atom><link rel=alternate type=application/json href=/json><link rel='alternate stylesheet' href=/s>"
    )
    page = extract_page(html.encode(), PAGE)
    assert page.feeds == ("http://example.org/dir/feed", "http://example.org/atom")
    assert page.alternates == ()


# -- hostile ones -----------------------------------------------------------------------------------------------


@over_rows(
    "data",
    [
        "[" * 50_000,
        '{"@graph":' * 9_000 + "1" + "}" * 9_000,
        '{"@type":"Article","datePublished":' + "9" * 100_000 + "}",
        '{"@type":' + "[" * 900 + "]" * 900 + "}",
        '{"@type":"Article","author":{"name":{"name":1}},"image":[[]],"description":{},"datePublished":[[]]}',
        '{"@type":"Article","@id":"a","author":{"@id":["a"]}}',
        "[" + ",".join(["{}"] * 50_000) + "]",
        "nonsense", "", "null", "3", '"text"', "\ufeff{}", "{'@type': 'Article'}", "\x00",
    ],
)  # fmt: skip
def test_hostile_linked_data_is_ignored(data: str) -> None:
    found = linked_data([data])
    assert found._replace(types=()) == LinkedData()
    html = f"<script type=application/ld+json>{data}</script><meta name=author content=A>"
    assert fields(html).author == "A"


def test_large_values_are_dropped() -> None:
    big = script({"@type": "Article", "author": "A", "text": "x" * MAX_SCRIPT_CHARS})
    assert fields(big).author == ""
    assert len(fields(f"<meta name=description content='{'a ' * 100_000}'>").description) <= MAX_FIELD_CHARS
    many = "".join(f"<link rel=alternate hreflang=de href=/{k}>" for k in range(5_000))
    page = extract_page(many.encode(), PAGE, with_fields=True)
    assert len(page.fields.languages) < 1_000
    assert len(page.alternates) < 1_000


def test_other_scripts_and_titles_are_no_linked_data() -> None:
    html = '<title>{</title><script>var a = {}</script><script type=application/json>{"author": 1}</script>'
    assert fields(html + script({"@type": "Article", "author": "A"}) + "<iframe>{</iframe>").author == "A"


json_like = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.sampled_from(["2025-01-01", "Article", "#a"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["@type", "@id", "@graph", "author", "name", "image", "datePublished", "mainEntity"]),
        inner, max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=150)
@given(json_like)
def test_any_json_is_read(data: Any) -> None:
    found = fields(script(data))
    assert all(isinstance(name, str) for name in found.types)
    assert isinstance(found.author, str)
