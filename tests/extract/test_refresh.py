"""Refreshes: the header and the element, as browsers read them."""

from __future__ import annotations

from orienteer.extract.page import extract_page
from orienteer.extract.refresh import MAX_REFRESH_CHARS, Refresh, stated_refresh
from tests.tables import over_rows

PAGE = "http://example.org/dir/page.html"
TO_X = Refresh("http://example.org/dir/x", 0)


@over_rows(
    ("value", "stated"),
    [
        ("0;url=x", ("x", 0)),
        ("5; URL = 'x y' z", ("x y", 5)),
        ('7 , "x', ("x", 7)),
        ("1.9;x", ("x", 1)),
        (".5 x", ("x", 0)),
        ("  3\t;\nurl\t=\nx  ", ("x", 3)),
        ("0;uri=x", ("uri=x", 0)),
        ("0;url x", ("url x", 0)),
        ("0;;x", (";x", 0)),
        ("30", ("", 30)),
        ("30;", ("", 30)),
        ("0;url=", ("", 0)),
        ("0;url=''", ("", 0)),
        ("99999999999999999999;x", ("x", 999999999)),
        ("", None),
        ("x", None),
        ("-1;x", None),
        ("5x", None),
        ("5:x", None),
        ("٣;x", None),
        (";x", None),
        ("0;" + "x" * MAX_REFRESH_CHARS, None),
    ],
)
def test_a_refresh_is_read_as_the_standard_says(value, stated):
    assert stated_refresh(value) == stated


def test_the_header_and_the_element_are_links_alike():
    element = extract_page(b"<meta http-equiv=refresh content='0;url=x'>", PAGE)
    header = extract_page(b"", PAGE, refresh_header="0;url=x")
    assert element.refresh == header.refresh == TO_X
    assert element.links == header.links == [TO_X.url]


def test_the_first_valid_one_counts_and_the_header_is_before_the_page():
    contents = ("soon", "0;x", "0;y")
    two = "".join(f"<meta http-equiv=Refresh content='{content}'>" for content in contents).encode()
    assert extract_page(two, PAGE).links == [TO_X.url]
    assert extract_page(two, PAGE, refresh_header="2;z").refresh == ("http://example.org/dir/z", 2)
    assert extract_page(two, PAGE, refresh_header="never").refresh == TO_X


def test_a_base_counts_from_its_position():
    html = "<base href=/b/><meta http-equiv=refresh content='0;x'>"
    assert extract_page(html.encode(), PAGE).links == ["http://example.org/b/x"]
    html = "<meta http-equiv=refresh content='0;x'><base href=/b/>"
    assert extract_page(html.encode(), PAGE).links == [TO_X.url]
    assert extract_page(b"<base href=/b/>", PAGE, refresh_header="0;x").links == [TO_X.url]


def test_a_page_that_loads_itself_again_has_no_link_for_it():
    assert extract_page(b"", PAGE, refresh_header="30").links == []
    assert extract_page(b"", PAGE, refresh_header="30").refresh == (PAGE, 30)
    assert extract_page(b"", PAGE, refresh_header="0;mailto:x").refresh == (None, 0)


def test_a_refresh_in_a_template_is_none_and_one_in_noscript_is():
    meta = "<meta http-equiv=refresh content='0;x'>"
    assert extract_page(f"<template>{meta}</template>".encode(), PAGE).refresh is None
    assert extract_page(f"<noscript>{meta}</noscript>".encode(), PAGE).refresh == TO_X


def test_a_refresh_of_a_nofollow_page_is_not_followed():
    page = extract_page(b"", PAGE, robots_header="nofollow", refresh_header="0;x")
    assert (page.links, page.nofollow_links, page.unknown_links) == ([], (TO_X.url,), ("nofollow",))
