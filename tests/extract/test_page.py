"""The content of a page other than its links."""

from __future__ import annotations

from orienteer.extract.page import MAX_LINKS, MAX_TEXT_CHARS, Page, extract_page
from orienteer.extract.reader import MAX_ANCHOR_CHARS, MAX_TITLE_CHARS
from tests.tables import over_rows

PAGE = "http://example.org/dir/page.html"


def page(html: str | bytes, **more) -> Page:
    return extract_page(html.encode() if isinstance(html, str) else html, PAGE, **more)


@over_rows(
    ("html", "title"),
    [
        ("<title>One</title><title>Two</title>", "One"),
        ("<TITLE>\n A  &amp; B\t</TITLE>", "A & B"),
        ("<title><b>not markup</b></title>", "<b>not markup</b>"),
        ("<title>How to use <NoScript></title>", "How to use <NoScript>"),
        ("<<title>How to use <NoScript></title>", "How to use <NoScript>"),
        ("<title></title><title>Two</title>", ""),
        ("<title>never closed", "never closed"),
        ("<noscript><title>In vain</title></noscript>", "In vain"),
        ("<title>a\x00b</title>", "a\ufffdb"),
        ("<svg><title/></svg><title>Drawn</title>", "Drawn"),
        ("<svg><title>An icon</title></svg><title>Drawn</title>", "Drawn"),
        ("<template><title>Not here</title></template><title>Here</title>", "Here"),
        ("no title", ""),
        ("<title>" + "x " * MAX_TITLE_CHARS + "</title>", ("x " * MAX_TITLE_CHARS)[: MAX_TITLE_CHARS - 1]),
    ],
)
@over_rows("with_text", [False, True])
def test_the_title_is_the_first_one(html, title, with_text):
    assert page(html, with_text=with_text).title == title


@over_rows(
    ("html", "text"),
    [
        ("<p>One <b>w</b>ord\n<i>and</i>  more</p><p>next", "One word and more\nnext"),
        ("<title>T</title><style>s</style><body>b<script>x='<p>'</script>c", "bc"),
        ("a<br>b<hr/>c<div>d</div>e<li>f<table><td>g", "a\nb\nc\nd\ne\nf\ng"),
        ("a<td>b", "ab"),
        ("<nav>menu</nav><footer>end</footer>", "menu\nend"),
        ("a<!-- no -->b<!doctype x>c<?pi?>d", "abcd"),
        ("a<template>no<template>no</template>no</template>b", "ab"),
        ("a<noscript>no <a href=x>link</a></noscript>b", "ab"),
        ("<head><noscript>left open<body>b", "left openb"),
        ("a<noframes>no</noframes>b", "ab"),
        ("a<iframe src=x>no</iframe>b<noembed>no</noembed>c", "abc"),
        ("<textarea>typed <b></textarea><select><option>one<option>two</select>", "typed <b>\none\ntwo"),
        ("<xmp>a<b></xmp><plaintext><p>", "a<b>\n<p>"),
        ("&lt;p&gt; 1 < 2 &amp;&nbsp; AT&T<b>x</b> &am<b>p;", "<p> 1 < 2 & AT&Tx &amp;"),
        ("zero\x00byte &#0;", "zerobyte \ufffd"),
        ("日本<b>語</b>", "日本語"),
        ("<svg><text>drawn</text><style/></svg>after", "drawnafter"),
        ("<svg><title>no</title><style>no</style><text>drawn</text></svg>after", "drawnafter"),
        ("<div>a<template shadowrootmode=open>shadow</template>b</div>", "ashadowb"),
        ("a<svg><![CDATA[text]]></svg>b", "atextb"),
        ("<script>never closed <p>", ""),
        ("open <p", "open"),
        ("", ""),
    ],
)
def test_the_visible_text(html, text):
    assert page(html).text == text


def test_headings_of_three_levels():
    html = "<h1>One <i>and</i><br>more</h1><h2>Two<h3>Three&nbsp;</h3><h4>Four</h4><h2> </h2>"
    html += "<h3>Five<a href=#5>¶</a></h3><h2>Open"
    assert page(html).headings == ["One and more", "Two", "Three", "Five", "Open"]
    assert page("<template><h1>hidden</h1></template><h1>seen</h1>").headings == ["seen"]


@over_rows(
    ("html", "anchors"),
    [
        ("<a href=x>one <b>two</b></a> three", [("x", "one two")]),
        ("<a href=x>one<a href=y>two</a>", [("x", "one"), ("y", "two")]),
        ("<a href=x>one</a><a href=x#y>one</a><a href=x>two</a>", [("x", "one"), ("x", "two")]),
        ("<a href=x><img src=s alt='a  picture'></a>", [("x", "a picture")]),
        ("<a href=x><img src=s alt=picture>words</a>", [("x", "words")]),
        ("<area href=x alt=place><area href=y>", [("x", "place")]),
        ("<a href=x></a><a href=#y>up</a><a href=page.html>me</a><a name=z>z</a>", []),
        ("<a href=x rel=nofollow>one</a><a href=mailto:y>two</a>", []),
        ("<a href=x><script>no</script>yes<noscript>no</noscript></a>", [("x", "yes")]),
        ("<a href=x>" + "long " * 100, [("x", ("long " * 100)[: MAX_ANCHOR_CHARS - 1])]),
        ("<a href=x>left open<script>no", [("x", "left open")]),
    ],
)
def test_anchors_have_the_texts_of_links(html, anchors):
    prefix = "http://example.org/dir/"
    assert page(html).anchors == [(prefix + link, text) for link, text in anchors]


def test_everything_else_is_the_same_without_text():
    html = (
        "<html lang=en><title>T</title><meta name=description content=d><link rel=canonical href=c>"
        "<h1>H</h1><a href=x>a</a> text"
    )
    with_text, without = page(html), page(html, with_text=False)
    assert with_text.text == "H\na text"
    assert (without.text, without.headings, without.anchors) == ("", [], [])
    for name in ("links", "title", "description", "language", "charset", "canonical", "noindex", "nofollow"):
        assert getattr(with_text, name) == getattr(without, name)


@over_rows(
    ("html", "language"),
    [
        ("<html lang=en-GB>", "en"),
        ("<html xml:lang=DE>", "de"),
        ("<html lang=''><meta http-equiv=Content-Language content='fr, en'>", "fr"),
        ("<html lang=nl><meta http-equiv=content-language content=en>", "nl"),
        ("<html lang=nl><html lang=en>", "nl"),
        ("<html lang='klingonisch'>", ""),
        ("<p lang=en>", ""),
    ],
)
def test_the_language_is_the_declared_one(html, language):
    assert page(html).language == language


def test_description_and_canonical_url():
    html = "<base href=/b/><meta name=Description content=' two  words '><link rel=CANONICAL href='c?d#e'>"
    assert page(html).description == "two words"
    assert page(html).canonical == "http://example.org/b/c?d"
    assert page("<link rel=canonical href=''>").canonical is None
    assert page("<link rel=canonical href='mailto:x'>").canonical is None
    assert page("<link rel=canonical>").canonical is None


@over_rows(
    ("html", "header", "noindex", "nofollow"),
    [
        ("", "", False, False),
        ("<meta name=robots content=noindex>", "", True, False),
        ("<meta name=orienteer content='nofollow'><meta name=robots content=noindex>", "", True, True),
        ("<meta name=otherbot content=none>", "", False, False),
        ("", "nofollow", False, True),
        ("<meta name=robots content=noindex>", "nofollow", True, True),
        ("<meta name=robots content='index, follow'>", "none", True, True),
        ("", "otherbot: none", False, False),
    ],
)
def test_rules_in_the_page_or_the_header(html, header, noindex, nofollow):
    found = page("<a href=x>x</a><link rel=canonical href=c>" + html, robots_header=header)
    assert (found.noindex, found.nofollow) == (noindex, nofollow)
    assert len(found.links) == (0 if nofollow else 2)
    assert len(found.nofollow_links) == (2 if nofollow else 0)
    assert found.unknown_links == (("nofollow",) if nofollow else ())
    assert len(found.anchors) == (0 if nofollow else 1)
    assert found.canonical == "http://example.org/dir/c"


@over_rows(
    ("html", "charset", "used"),
    [
        (b"\xef\xbb\xbfx", "latin1", "utf-8"),
        (b"x", "Latin1", "windows-1252"),
        (b"<meta charset=koi8-r>\xc1", None, "koi8-r"),
        ("\u00e4".encode(), None, "utf-8"),
        (b"", None, "utf-8"),
        ("x".encode("utf-16"), None, "utf-16le"),
    ],
)
def test_the_charset_that_was_used(html, charset, used):
    assert page(html, charset=charset).charset == used


def test_results_are_bounded():
    found = page("".join(f"<a href={k}>word{k}</a> <p>" for k in range(MAX_LINKS + 5)) + "<a href=0>again</a>")
    assert len(found.links) == MAX_LINKS
    assert found.unknown_links == ("too many links",)
    assert len(found.anchors) == MAX_LINKS + 1
    assert len(page("x " * MAX_TEXT_CHARS).text) == MAX_TEXT_CHARS - 1


def test_no_links_are_dropped_from_a_page_with_few():
    assert page("<a href=x><a href=x#y><a href=mailto:z>").unknown_links == ()
