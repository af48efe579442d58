"""The links of HTML pages, kind and hostile."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.extract.charset import decoded
from orienteer.extract.page import MAX_LINKS
from orienteer.url import canonical_url
from tests.extract.only_links import extract_links

PAGE = "http://example.org/dir/page.html"


def links(html: str | bytes, **more) -> list[str]:
    """The links of a page in http://example.org/dir/, short: without that prefix."""
    html = html.encode() if isinstance(html, str) else html
    return [link.removeprefix("http://example.org/dir/") for link in extract_links(html, PAGE, **more)]


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<a href=x>x</a>", ["x"]),
        ("<A HREF='x'>", ["x"]),
        ('<area href="x">', ["x"]),
        ("<frame src=x><iframe src=y></iframe>", ["x", "y"]),
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
        ("<noscript><a href=x></noscript><NoFrames><a href=y></NoFrames><a href=z>", ["x", "y", "z"]),
        ("<table><a href=x><tr><td><a href=y>", ["x", "y"]),
        ("<svg><a href=x></a></svg>", ["x"]),
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


@pytest.mark.parametrize("base", ["http://[", "mailto:x", "data:,", "http://example.org/" + "x/" * 2000])
def test_a_base_that_is_none_is_ignored(base):
    assert links(f"<base href='{base}'><a href=x>") == ["x"]
    assert links("<base target=_top><a href=x>") == ["x"]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("0; url=x", ["x"]),
        ("5;URL='x y'", ["x%20y"]),
        ('0.5, Url = "x"z', ["x"]),
        ("1 x", ["x"]),
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


def test_nofollow_links_are_left_out():
    html = "<a href=x rel=nofollow><a href=y rel='ugc NoFollow'><a href=z rel=noopener><area href=w rel=nofollow>"
    assert links(html) == ["z"]
    assert links("<link rel='next nofollow' href=x>") == []


@pytest.mark.parametrize("content", ["nofollow", "noindex, NOFOLLOW", "none", "noindex,nofollow,noarchive"])
def test_robots_of_the_page_can_forbid_all_links(content):
    assert links(f"<a href=x><meta name=Robots content='{content}'><a href=y>") == []


def test_robots_that_allow_links_or_mean_others_forbid_none():
    html = "<meta name=robots content='noindex, nosnippet'><meta name=description content=nofollow><a href=x>"
    assert links(html) == ["x"]


def test_a_page_has_no_more_links_than_the_limit():
    html = "".join(f"<a href={k}>" for k in range(MAX_LINKS + 5))
    assert links(html) == [str(k) for k in range(MAX_LINKS)]


@pytest.mark.parametrize(
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
def test_a_page_is_decoded_by_its_mark_then_the_header_then_what_it_says_or_looks_like(html, charset, found):
    assert links(html, charset=charset) == [found]


def test_an_empty_page_has_an_empty_text():
    assert decoded(b"") == decoded(b"", "utf-8") == ""


hostile = {
    "nested divs": b"<div>" * 400_000,
    "nested divs with links": b"<div><a href=x>" * 150_000,
    "unclosed tags": b"<b><i><p><table><tr><td><select><svg>" * 60_000,
    "formatting reopened in every paragraph": b"".join(b"<p><b id=%d>x" % k for k in range(120_000)),
    "html again and again": b"".join(b"<html a%d=1>" % k for k in range(150_000)),
    "end tags that end nothing": b"<span>" * 150_000 + b"</x>" * 200_000,
    "attributes": b"<a " + b" ".join(b"a%d=1" % k for k in range(200_000)) + b" href=x>",
    "open brackets": b"<" * 2_000_000,
    "comments": b"<!--" * 500_000,
    "scripts in comments in scripts": b"<script><!--<script>" * 100_000,
    "character references": b"&amp" * 500_000,
    "zero bytes": b"\x00" * 2_000_000,
    "zero bytes in links": b"<a href=\x00>" * 100_000,
    "invalid UTF-8": bytes(range(128, 256)) * 16_000,
    "one long attribute": b"<a href='" + b"x/" * 2_000_000 + b"'>",
    "one long base": b"<base href='" + b"x/" * 1_000_000 + b"'>" + b"<a href=x>" * 1000,
    "long refresh": b"<meta http-equiv=refresh content='0" + b" " * 2_000_000 + b"x'>",
    "long rel": b"<a href=x rel='" + b"a " * 1_000_000 + b"'>",
    "distinct links that are none": b"".join(b"<a href=x:%d>" % k for k in range(150_000)),
    "noscript in noscript": b"<noscript><noframes>" * 100_000,
    "half a page of UTF-16": b"\xff\xfe" + b"<a " * 500_001,
}


@pytest.mark.parametrize("html", hostile.values(), ids=hostile)
def test_a_hostile_page_of_megabytes_costs_bounded_time(html):
    start = time.process_time()
    assert len(links(html)) <= MAX_LINKS
    assert time.process_time() - start < 5  # far under one second on any machine that is not busy


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
