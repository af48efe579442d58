"""Pages as blocks: the kind and the context of each line, and that the lines are those of the text."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.extract.block_elements import MAX_CONTAINERS, language_of
from orienteer.extract.block_reader import MAX_IMAGES
from orienteer.extract.blocks import Block, Cell, Item, text_of
from orienteer.extract.page import MAX_TEXT_CHARS, Page, extract_page
from tests.extract.documents import random_document
from tests.extract.pieces import mutated, random_page
from tests.tables import over_rows

URL = "http://example.org/dir/"
N_RANDOM_PAGES = 600  # 20,000 take ten seconds


def read(html: str | bytes) -> Page:
    """Read a page with its blocks, and check that everything else is the same without them."""
    content = html.encode("utf-8", "replace") if isinstance(html, str) else html
    page, without = extract_page(content, URL, with_blocks=True), extract_page(content, URL)
    assert text_of(page.blocks) == page.text == without.text
    for name in ("links", "anchors", "headings", "title", "unknown_links"):
        assert getattr(page, name) == getattr(without, name), name
    for block in page.blocks:
        for span in block.spans:
            assert 0 <= span.start <= span.end <= len(block.text)
    return page


def kinds(html: str) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in read(html).blocks]


def one(html: str) -> Block:
    (block,) = read(html).blocks
    return block


def test_random_pages_have_the_lines_of_their_texts():
    rng = random.Random(20260117)
    for k in range(N_RANDOM_PAGES):
        read(mutated(rng, random_page(rng) if k % 2 else random_document(rng)))


@given(st.binary())
def test_any_bytes(html):
    page = extract_page(html, URL, with_blocks=True)
    assert text_of(page.blocks) == page.text == extract_page(html, URL).text


def test_kinds_of_blocks():
    html = "<h2>H</h2><p>P<ul><li>I<li><p>J</ul><blockquote>Q</blockquote><pre>C</pre><dl><dt>T<dd>D</dl>"
    html += "<table><caption>N</caption><tr><th>A<td>B</table><img src=x alt=Y>"
    assert kinds(html) == [
        ("heading", "H"), ("paragraph", "P"), ("item", "I"), ("item", "J"), ("paragraph", "Q"), ("code", "C"),
        ("term", "T"), ("item", "D"), ("caption", "N"), ("cell", "A"), ("cell", "B"), ("image", ""),
    ]  # fmt: skip


def test_levels_depths_and_numbers():
    page = read("<h4>H</h4><ol start=3><li>a<ul><li>b</ul><li value=9>c<li>d</ol><blockquote>q<blockquote>r")
    assert [(block.level, block.list_depth, block.quote_depth) for block in page.blocks] == [
        (4, 0, 0), (0, 1, 0), (0, 2, 0), (0, 1, 0), (0, 1, 0), (0, 0, 1), (0, 0, 2),
    ]  # fmt: skip
    items = [block.container for block in page.blocks if isinstance(block.container, Item)]
    assert [(item.list.is_ordered, item.number) for item in items] == [(True, 3), (False, 1), (True, 9), (True, 10)]


def test_rows_and_columns_of_cells():
    page = read("<table><thead><tr><td>A<td colspan=2>B<tbody><tr><td rowspan=2>1<td><td>2<tr><td>3</table>")
    cells = [block.container for block in page.blocks]
    assert all(isinstance(cell, Cell) for cell in cells)
    assert [(c.row, c.column, c.is_header, c.n_rows, c.n_columns) for c in cells if isinstance(c, Cell)] == [
        (0, 0, True, 1, 1), (0, 1, True, 1, 2), (1, 0, False, 2, 1), (1, 2, False, 1, 1), (2, 0, False, 1, 1),
    ]  # fmt: skip


def test_spans_are_those_of_the_collapsed_text():
    block = one("<p>See <a href=b>  the <b>next </b> page</a>, <code>x  = 1</code><img src=i.png alt='an  i'> end")
    assert block.text == "See the next page, x = 1 end"
    found = [(span.kind, block.text[span.start : span.end], span.depth, span.target, span.alt) for span in block.spans]
    assert found == [
        ("link", "the next page", 0, "b", ""),
        ("strong", "next", 1, "", ""),
        ("code", "x = 1", 0, "", ""),
        ("image", "", 0, "i.png", "an i"),
    ]
    assert block.n_linked == len("the next page")


def test_decorative_images_are_omitted():
    assert read("<p><img src=x alt=''>word").blocks[0].spans == ()


def test_code_is_unchanged():
    page = read("<div class='highlight-python notranslate'><pre>\n<b>def</b> f():\n\n    return  1\n\n</pre></div>")
    (block,) = page.blocks
    assert block.code is not None
    assert block.text == "def f(): return 1"
    assert (block.code.language, block.code.text) == ("python", "def f():\n\n    return  1")


@pytest.mark.parametrize(
    "html",
    ["<pre>a<br><br>  b</pre>", "<pre>a\r\n\r\n  b</pre>", "<pre><div>a</div>\n<div>\n  b</div></pre>",
     "<pre>a\n<div>\n  b</div></pre>"],
)  # fmt: skip
def test_line_breaks_in_code(html):
    (code,) = {block.code for block in read(html).blocks}
    assert code is not None
    assert code.text == "a\n\n  b"


@over_rows(
    ("words", "language"),
    [
        ("highlight-python3 notranslate", "python"), ("language-c++", "c++"), ("lang-js", "js"), ("hljs rust", "rust"),
        ("highlight highlight-source-shell", "shell"), ("sourcecode haskell", "haskell"), ("brush: xml", "xml"),
        ("highlight-default notranslate", ""), ("highlight", ""), ("language-", ""), ("a\"b language-x`y", "x"),
    ],
)  # fmt: skip
def test_languages_of_code(words, language):
    assert language_of(words, {}) == language


def test_line_numbers_of_code():
    html = "<table><tr><td class=linenos><pre>1\n2</pre><td class=code><pre>a\nb</pre></table>"
    assert [block.code is not None and block.code.is_numbering for block in read(html).blocks] == [True, False]


@over_rows(
    ("html", "anchor"),
    [
        ("<section id=a><h2>x</h2></section>", "a"),
        ("<section id=a><h2 id=b>x</h2></section>", "b"),
        ("<section id=a><h2><span id=c>x</span></h2></section>", "c"),
        ("<div id=a><p>text</p></div><a name=d></a><h2>x</h2>", "d"),
        ("<div id=a><p>text</p><h2>x</h2></div>", ""),
        ("<h2>x<a href=#e id=e>¶</a></h2>", "e"),
    ],
)
def test_anchors_of_headings(html, anchor):
    heading = read(html).blocks[-1]
    assert (heading.kind, heading.text, heading.anchor) == ("heading", "x", anchor)


def test_permalinks_of_headings_are_dropped():
    page = read(
        "<h1>In\u00adstall<a class=headerlink href=#install>¶</a></h1><p>See <a href=#x>§</a> or <a href=#y># 5</a>"
        "<p>Next<a href=#z aria-label='Link to next'>\u200b</a>, <a href=#i><img src=i alt=up></a>"
    )
    assert page.headings == ["Install"]
    assert page.text == "Install\nSee or # 5\nNext,"
    assert [span.kind for block in page.blocks[2:] for span in block.spans if span.kind == "image"] == ["image"]


def test_ancestors_of_a_block_and_their_words():
    block = one("<nav class='Menu top' id=N role=navigation><div><p><a href=x>Home</a></p></div></nav>")
    assert block.element.path() == ["html", "nav", "div", "p"]
    assert [element.words for element in block.element.chain()] == ["", "", "menu top n navigation", ""]


def test_missing_and_wrong_end_tags():
    page = read("<ul><li>a<ul><li>b</ul>c<li>d</ul><p>e<table><tr><td>f<p>g</table>h</div></b>i")
    assert [(block.text, block.list_depth) for block in page.blocks] == [
        ("a", 1), ("b", 2), ("c", 1), ("d", 1), ("e", 0), ("f", 0), ("g", 0), ("hi", 0),
    ]  # fmt: skip


def test_hidden_text_is_no_block():
    page = read("<title>T</title>a<noscript><p>b<img src=x alt=y></p></noscript><template><p>c</template><p>d")
    assert [block.text for block in page.blocks] == ["a", "d"]


def test_a_noscript_that_a_paragraph_keeps_open_hides_no_page():
    page = read("<noscript><p>Please</noscript>" + "<p>some words of the page" * 20)
    assert page.text.count("some words of the page") == 20


def test_blocks_end_at_the_limit_of_the_text():
    page = read(("<p>" + "<b>bold</b>" + " word" * 200) * (MAX_TEXT_CHARS // 1000 + 1))
    assert MAX_TEXT_CHARS - 10 <= len(page.text) <= MAX_TEXT_CHARS


@over_rows(
    "html",
    [
        b"<div>" * 100_000 + b"x", b"<b>x" * 20_000, b"<b><i>x<p>y" * 10_000, b"<p>x" * 20_000, b"<ul><li>x" * 20_000,
        b"<blockquote>x" * 20_000, b"<img src=x alt=y>" * 20_000, b"<pre>" + b"<br>x" * 20_000,
        b"<table><tr><td>x" * 10_000, b"<p id=x>" * 20_000, b"<dl><dt>x<dd>" * 10_000,
    ],
    ids=lambda html: html[:12].decode(),
)  # fmt: skip
def test_hostile_pages(html):
    page = read(html)
    for block in page.blocks[-1:]:
        assert sum(1 for _ in block.containers()) <= MAX_CONTAINERS
        assert len(block.element.marks) <= 4
    assert sum(len(block.spans) for block in page.blocks if block.kind == "image") <= 2 * MAX_IMAGES
