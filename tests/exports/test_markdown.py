"""Markdown of pages: structure is preserved, and text is escaped."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from benchmarks.markdown import ARCHIVE, TEMPLATE, all_pages, missing_code, survived
from benchmarks.markdown_documents import documents
from orienteer.exports.markdown import markdown_body
from orienteer.exports.markdown_blocks import markdown_of, target_of
from orienteer.extract.page import extract_page
from tests.tables import over_rows

URL = "http://example.org/dir/"
N_DOCUMENTS = 20  # 200 in the benchmark
ONE_OF = 120  # real pages; all of them in the benchmark


def markdown(html: str) -> str:
    page = extract_page(html.encode(), URL, with_blocks=True)
    return markdown_of(page.blocks, page.base).removesuffix("\n")


@pytest.mark.parametrize("template", ["{body}", TEMPLATE], ids=["alone", "in a page"])
def test_documents_round_trip(template):
    n_all: Counter[str] = Counter()
    n_found: Counter[str] = Counter()
    for document in documents(N_DOCUMENTS):
        for total, counted in zip((n_all, n_found), survived(document, template), strict=True):
            total.update(counted)
    assert n_all.keys() >= {"headings", "code", "tables", "lists", "links", "images", "quotes", "emphasis"}
    for kind, n in n_all.items():
        assert n_found[kind] >= 0.99 * n, kind


def test_code_of_real_pages_survives_line_by_line():
    if not ARCHIVE.is_file():
        pytest.skip(f"the real pages are not here: {ARCHIVE}")
    n_blocks = 0
    for url, html in list(all_pages())[::ONE_OF]:
        blocks, missing = missing_code(url, html)
        assert missing == [], url
        n_blocks += len(blocks)
    assert n_blocks > 100


@over_rows(
    ("html", "expected"),
    [
        ("<h3>A # b #</h3>", "### A # b \\#"),
        ("<h2>One<br>two</h2>", "## One two"),
        ("<p>one<br>- two", "one\\\n\\- two"),
        ("<ol start=9><li>a<li>b<ul><li>c</ul></ol>", "9. a\n10. b\n    - c"),
        ("<ul><li>a<ol start=3><li>b</ol></ul>", "- a\n\n  3. b"),
        ("<ul><li>a<p>b</ul><ul><li>c</ul>", "- a\n\n  b\n\n* c"),
        ("<blockquote>a<blockquote>b</blockquote></blockquote><blockquote>c</blockquote>", "> a\n>\n> > b\n\n> c"),
        ("<dl><dt>t<dd>d</dl><dl><dt>u<dd>e</dl>", "- **t**\n\n  d\n\n- **u**\n\n  e"),
        ("<pre class=language-md>```x\n````</pre>", "`````md\n```x\n````\n`````"),
        ("<pre>a\n\n<b>b</b> <a href=x>c</a></pre>", "```\na\n\nb c\n```"),
        ("<table><tr><th>A<th>B|<tr><td>1<td><code>|</code></table>", "| A | B\\| |\n| --- | --- |\n| 1 | `\\|` |"),
        ("<table><tr><td>A<td>B<tr><td>1<td></table>", "|  |  |\n| --- | --- |\n| A | B |\n| 1 |  |"),
        ("<table><tr><td><h2>x</h2><td>y<tr><td>z</table>", "## x\n\ny\n\nz"),
        ("<a href='b c'>x]</a>", "[x\\]](http://example.org/dir/b%20c)"),
        ("<a href=JavaScript:alert(1)>x</a>", "x"),
        ("<a href='x(y)'>z</a>", "[z](<http://example.org/dir/x(y)>)"),
        ("wow!<a href=x>y</a>", "wow\\![y](http://example.org/dir/x)"),
        ("<a href=x><img src=i alt='[a]'></a>", "[![\\[a\\]](http://example.org/dir/i)](http://example.org/dir/x)"),
        ("<img src=data:image/png,x alt=a>", "a"),
        ("<b>a.</b>b", "a.b"),
        ("<b>a <i>b</i></b>", "**a _b_**"),
        ("<code>a <em>`b`</em></code><code>c</code>", "``a `b`c``"),
        ("<code>a <a href=x>b</a></code>", "`a` [`b`](http://example.org/dir/x)"),
    ],
)
def test_how_it_looks(html, expected):
    assert markdown(html) == expected


def test_a_page_without_a_heading_has_its_title():
    page = extract_page(b"<title>T*</title><h2>a</h2>", URL, with_blocks=True)
    assert markdown_body(page) == "# T\\*\n\n## a\n"


def test_blocks_can_be_left_out():
    page = extract_page(b"<nav>menu</nav><pre>a<br>b</pre><p>text", URL, with_blocks=True)
    assert markdown_of(page.blocks, page.base, [False, True, False, True]) == "```\na\nb\n```\n\ntext\n"


AWKWARD = st.text("ab1 *_`~[]()<>&#;.-+!|:=\\\"'\té\n", max_size=40)


@given(AWKWARD, st.sampled_from(["p", "li", "td", "h2", "b", "a", "i", "dt"]))
def test_text_is_escaped(text, tag):
    """Text of a page creates no new elements anywhere, and is rendered unchanged."""
    said = text.replace("&", "&amp;").replace("<", "&lt;")
    html = f"<p>x<{tag} href=y>{said}</{tag}>z<br>{said}<table><tr><td>1<td>{said}<tr><td>2<td>3</table>"
    page = extract_page(html.encode(), URL, with_blocks=True)
    rendered = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(markdown_of(page.blocks, page.base))
    known = {"p", "li", "ul", "h2", "a", "strong", "em", "table", "thead", "tbody", "tr", "td", "th", "br"}
    assert set(re.findall(r"<(\w+)", rendered)) <= known
    assert unescape(re.sub(r"<[^>]*>", "", rendered)).split() == page.text.split()


@given(st.text(max_size=60))
def test_link_targets_are_web_urls_and_escaped(reference):
    target = target_of(reference, URL)
    if target:
        assert target.strip("<>").startswith(("http://", "https://", "mailto:"))
        assert not re.search(r"[\s<>\\`|]", target.strip("<>"))
