"""The links of HTML pages, well-formed and hostile."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.extract.links import MAX_LINKS, NOFOLLOW, SCRIPTED, TOO_MANY_LINKS, UNREADABLE, URL_TOO_LONG
from orienteer.extract.page import MAX_TEXT_CHARS, extract_page
from orienteer.extract.parser import decoded
from orienteer.extract.reader import MAX_REFERENCES
from orienteer.url import canonical_url
from tests.extract.only_links import extract_links
from tests.tables import over_rows

PAGE = "http://example.org/dir/page.html"


def links(html: str | bytes, **more) -> list[str]:
    """Return the links of a page in http://example.org/dir/, without that prefix."""
    html = html.encode() if isinstance(html, str) else html
    return [link.removeprefix("http://example.org/dir/") for link in extract_links(html, PAGE, **more)]


@over_rows(
    ("html", "found"),
    [
        ("<a href=x>x</a>", ["x"]),
        ("<A HREF='x'>", ["x"]),
        ('<area href="x">', ["x"]),
        ("<iframe src=x></iframe>", ["x"]),
        ("<frameset><frame src=x><a href=y><frameset><frame src=z></frameset></frameset><frame src=w>", ["x", "z"]),
        ("<a href=x><frameset><frame src=y>", ["y"]),
        ("<a href=x>text<frameset><frame src=y>", ["x"]),
        ("<frame src=x>", []),
        ("<link rel=canonical href=x><link rel='next foo' href=y><link rel=PREV href=z>", ["x", "y", "z"]),
        ("<link rel=stylesheet href=x><link href=y><script src=z></script><img src=w>", []),
        ("<a href=x/>", ["x/"]),
        ("<a href=x />", ["x"]),
        ("<a name=x>", []),
        ("<a href>", ["page.html"]),
        ("<a href='?a=1&amp;b=2'>", ["page.html?a=1&b=2"]),
        ("<a href=' x '>", ["x"]),
        ("<a href=x href=y>", ["x"]),
        ("<a href=mailto:a@b><a href='javascript:x()'><a href=ftp://x/>", []),
        ("<!-- <a href=x> --><a href=y>", ["y"]),
        ("<script>'<a href=x>'</script><style><a href=x></style><textarea><a href=x></textarea><a href=y>", ["y"]),
        ("<noscript><a href=x></noscript><NoFrames><a href=y></NoFrames><a href=z>", ["x", "z"]),
        ("<template><a href=x><template></template><a href=y></template><a href=z>", ["z"]),
        ("<div><template shadowrootmode=open><a href=x><base href=/b/></template></div><a href=y>", ["x", "y"]),
        ("<table><a href=x><tr><td><a href=y>", ["x", "y"]),
        ("<svg><a href=x></a><a xlink:href=y></a><a xlink:href=w href=z></a></svg>", ["x", "y", "z"]),
        ("<a xlink:href=x>", []),
        ("<svg><title><a href=x></a></title><style><a href=y></a></style><script><a href=z>", ["x", "y", "z"]),
        ("<svg><title><a href=x></title><style><a href=y></style>", ["x"]),
        ("<svg><title>Icon</title></svg><a href=x>", ["x"]),
        ("<svg><title/><a href=x>", ["x"]),
        ("<svg><p><title><a href=x></title><a href=y>", ["y"]),
        ("<svg><![CDATA[<a href=x>]]><a href=y>", ["y"]),
        ("<svg><iframe src=x></iframe><area href=y></svg>", []),
        ("<svg><foreignObject><a href=x><title><a href=y></title></foreignObject></svg>", ["x"]),
        ("<math><a href=x><mi><a href=y></mi></math>", ["y"]),
        ("<math><annotation-xml encoding=text/html><style><a href=x></style><a href=y>", ["y"]),
        ("<select><option><a href=x></select>", ["x"]),
        ("<title/><a href=x>", []),
        ("<plaintext><a href=x>", []),
        ("<a href=x", []),
        ("", []),
        ("no markup at all", []),
    ],
)
def test_links_are_those_of_anchors_areas_frames_and_page_relations(html, found):
    assert links(html) == found


def test_links_keep_the_order_of_the_document_without_repeats():
    assert links("<a href=b><a href=a><a href=./b><a href=c#1><a href=c#2><a href=a#3>") == ["b", "a", "c"]


def test_a_base_holds_for_all_links_even_those_before_it():
    html = "<a href=x><base href=/other/><base href=/third/><a href=y><a href=/z>"
    assert links(html) == ["http://example.org/other/x", "http://example.org/other/y", "http://example.org/z"]


@pytest.mark.parametrize("base", ["http://[", "data:,", "javascript:x"])
def test_an_invalid_base_is_ignored(base):
    assert links(f"<base href='{base}'><a href=x>") == ["x"]
    assert links("<base target=_top><a href=x>") == ["x"]


def test_a_base_of_another_scheme_leaves_only_absolute_links():
    assert links("<base href=mailto:x><a href=x><a href=http://example.org/dir/y>") == ["y"]


def test_a_long_base_makes_relative_links_too_long():
    page = extract_page(f"<base href={'x/' * 2000}><a href=x><a href=/y>".encode(), PAGE)
    assert page.links == ["http://example.org/y"]
    assert page.unknown_links == (URL_TOO_LONG,)


@over_rows(
    ("content", "found"),
    [
        ("0; url=x", ["x"]),
        ("5;URL='x y'", ["x%20y"]),
        ('0.5, Url = "x"z', ["x"]),
        ("1 x", ["x"]),
        ("1x", []),
        (".5;x", ["x"]),
        ("0;urls", ["urls"]),
        ("0;'x'y", ["x"]),
        ("0;x", ["x"]),
        ("  3  ;  url  =  x  ", ["x"]),
        ("0", []),
        ("0;", []),
        ("url=x", []),
        ("", []),
        ("0;" + " " * 10_000, []),
    ],
)
def test_a_refresh_is_a_link(content, found):
    assert links(f"<meta http-equiv=Refresh content='{content.replace(chr(39), '&#39;')}'>") == found


def test_nofollow_links_are_excluded():
    html = "<a href=x rel=nofollow><a href=y rel='ugc NoFollow'><a href=z rel=noopener><area href=w rel=nofollow>"
    assert links(html) == ["z"]
    assert links("<link rel='next nofollow' href=x>") == []


@pytest.mark.parametrize("content", ["nofollow", "noindex, NOFOLLOW", "none", "noindex,nofollow,noarchive"])
def test_robots_of_the_page_can_forbid_all_links(content):
    assert links(f"<a href=x><meta name=Robots content='{content}'><a href=y>") == []


def test_rules_that_allow_links_or_name_others_forbid_none():
    html = "<meta name=robots content='noindex, nosnippet'><meta name=description content=nofollow><a href=x>"
    assert links(html) == ["x"]


def test_a_page_has_no_more_links_than_the_limit():
    html = "".join(f"<a href={k}>" for k in range(MAX_LINKS + 5))
    assert links(html) == [str(k) for k in range(MAX_LINKS)]
    assert extract_page(html.encode(), PAGE).unknown_links == (TOO_MANY_LINKS,)
    html = "".join(f"<a href={k}>" for k in range(MAX_LINKS))
    assert extract_page(html.encode(), PAGE).unknown_links == ()


@over_rows(
    ("html", "unknown"),
    [
        ("<a href=x>", ()),
        ("<a href=mailto:a@b><a href=http://[>", ()),
        ("<a href=mailto:a@b><a href='javascript:x()'>", (SCRIPTED,)),
        (f"<a href='data:text/html,{'x' * 100_000}'><a href=' java\nscript:{'x' * 3000}'>", ()),
        (f"<a href=x><a href=x?{'y' * 3000}>", (URL_TOO_LONG,)),
        (f"<a href={'x' * 100_000}>", (URL_TOO_LONG,)),
        (f"<a href=HTTP://example.org/{'x' * 3_000_000}>", (URL_TOO_LONG,)),
        (f"<a href={'ä' * 400}>", (URL_TOO_LONG,)),
        (f"<a href={'x' * 3000} rel=nofollow>", ()),
        (f"<a href=x#{'y' * 100_000}>", ()),
        (f"<meta http-equiv=refresh content='0;{'x' * 3000}'>", (URL_TOO_LONG,)),
        ("<meta name=robots content=nofollow><a href=x>", (NOFOLLOW,)),
        ("<meta name=robots content=nofollow>", ()),
        ("<span>" * 100_000 + "<a href=x>", (UNREADABLE,)),
        ("<span>" * 10_000 + "</x>" * 10_000 + "<a href=x>", ()),
        ("".join(f"<p><b id={k}>" for k in range(20_000)) + "<a href=x>", (UNREADABLE,)),
        ("<div>" * 10_000 + "</x>" * 10_000 + "<a href=x>", ()),
    ],
)
def test_reasons_for_missing_links(html, unknown):
    for with_text in (False, True):
        page = extract_page(html.encode(), PAGE, with_text=with_text)
        assert page.unknown_links == unknown
        if UNREADABLE in unknown:
            assert page.links == ["http://example.org/dir/x"]


def test_references_beyond_the_limit_are_dropped_and_reported():
    html = "".join(f"<a href=mailto:{k}></a>" for k in range(MAX_REFERENCES)) + "<a href=mailto:1></a>"
    page = extract_page(html.encode(), PAGE)
    assert (page.links, page.unknown_links) == ([], ())
    page = extract_page((html + "<a href=x></a>").encode(), PAGE)
    assert (page.links, page.unknown_links) == ([], (TOO_MANY_LINKS,))


def test_links_beyond_the_limit_of_text_are_found():
    for text in (
        "ä" * 4 * MAX_TEXT_CHARS,
        (10 * "word " + "<b>x</b>") * (MAX_TEXT_CHARS // 10),
        "x" + "日" * 4 * MAX_TEXT_CHARS,
    ):
        page = extract_page(f"{text}<a href=x>after</a>".encode(), PAGE)
        assert page.links == ["http://example.org/dir/x"]
        assert page.unknown_links == ()
        assert len(page.text) == MAX_TEXT_CHARS
        assert page.anchors == [("http://example.org/dir/x", "after")]


def test_nofollow_links_are_separate():
    page = extract_page(b"<a href=x><a href=x rel=nofollow><a href=y rel=nofollow>", PAGE)
    assert (page.links, page.nofollow_links) == (["http://example.org/dir/x"], ("http://example.org/dir/y",))
    assert page.unknown_links == ()
    page = extract_page(b"<a href=x><a href=y rel=nofollow>", PAGE, robots_header="nofollow")
    assert (page.links, page.nofollow_links) == ([], ("http://example.org/dir/x", "http://example.org/dir/y"))


def test_a_query_is_in_the_encoding_of_the_page():
    html = "<a href='ä?ä=€&я'>".encode("cp1252", "xmlcharrefreplace")
    assert links(html, charset="windows-1252") == ["%C3%A4?%E4=%80&%26%231103%3B"]
    assert links("<a href='?日'>".encode("shift_jis"), charset="shift_jis") == ["page.html?%93%FA"]
    assert links("<a href='?ä'>".encode("utf-16"), charset="utf-16") == ["page.html?%C3%A4"]


@over_rows(
    ("html", "charset", "found"),
    [
        ("<a href=ä>".encode(), None, "%C3%A4"),
        ("<a href=ä>".encode("latin-1"), None, "%C3%A4"),
        ("<a href=ä>".encode("latin-1"), "ISO-8859-1", "%C3%A4"),
        ("<a href=я>".encode("cp1251"), "windows-1251", "%D1%8F"),
        ("<meta charset=windows-1251><a href=я>".encode("cp1251"), None, "%D1%8F"),
        ("<meta charset=utf-8><a href=я>".encode("cp1251"), "cp1251", "%D1%8F"),
        ("<a href=日>".encode("shift_jis"), "x-sjis", "%E6%97%A5"),
        ("<a href=日>".encode("utf-16"), None, "%E6%97%A5"),
        ("<a href=日>".encode("utf-16"), "latin1", "%E6%97%A5"),
        ("<a href=日>".encode("utf-16-be"), "utf-16be", "%E6%97%A5"),
        ("<a href=ä>".encode("utf-8-sig"), "latin1", "%C3%A4"),
        ("<a href=ä>".encode(), "no such charset", "%C3%A4"),
        ("<a href=ä>".encode(), "\x00", "%C3%A4"),
        ("<a href=ä>".encode(), "ü\ud800", "%C3%A4"),
        ("<a href=ä>".encode(), "", "%C3%A4"),
        (b"<a href=\xff>", "utf-8", "%EF%BF%BD"),
        (b"<a href=a\x00b>", None, "a%EF%BF%BDb"),
    ],
)
def test_order_of_sources_of_the_encoding(html, charset, found):
    assert links(html, charset=charset) == [found]


def test_an_empty_page_has_an_empty_text():
    assert decoded(b"") == decoded(b"", "utf-8") == ""


@given(st.binary(), st.none() | st.sampled_from(["utf-8", "utf-16", "iso-2022-jp", "gb18030"]) | st.text())
def test_extraction_never_raises_and_gives_canonical_urls(html, charset):
    for link in extract_links(html, PAGE, charset):
        assert canonical_url(link) == link


tags = [
    "<a href=",
    "<base href=",
    "<meta http-equiv=refresh content='0;",
    "<script>",
    "</script>",
    "<noscript>",
    "<!--",
]
inner = [
    "'",
    '"',
    ">",
    " rel=",
    "nofollow",
    "//",
    "..",
    ":",
    "-->",
    "&#x",
    ";",
    "&amp;",
    "\x00",
    "#",
    "?",
    "http://",
    " ",
]
pieces = st.sampled_from(tags) | st.sampled_from(inner) | st.text(max_size=3)


@given(st.lists(pieces, max_size=40).map("".join))
def test_extraction_of_markup_never_raises_and_repeats_no_link(html):
    found = extract_links(html.encode("utf-8", "replace"), PAGE)
    assert len(set(found)) == len(found)
