"""Random pages, with broken markup and broken bytes: extraction never raises, and its results are bounded."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orienteer.extract.near_duplicates import signature
from orienteer.extract.page import MAX_LINKS, MAX_TEXT_CHARS, extract_page
from orienteer.extract.reader import MAX_ANCHOR_CHARS, MAX_TITLE_CHARS
from orienteer.url import canonical_url
from tests.extract.only_links import extract_links
from tests.extract.pieces import mutated, random_page

N_CASES = 5 * settings().max_examples  # 100,000 take half a minute
PAGE = "http://example.org/dir/page.html"
CHARSETS = [None, None, "utf-8", "latin1", "utf-16", "iso-2022-jp", "gb18030", "no such charset"]


def assert_sound(html: bytes, charset: str | None = None, robots_header: str = "") -> None:
    page = extract_page(html, PAGE, charset, robots_header)
    for link in page.links:
        assert canonical_url(link) == link
    assert len(set(page.links)) == len(page.links) <= MAX_LINKS
    assert {link for link, _ in page.anchors} <= set(page.links) - {PAGE}
    assert len(set(page.anchors)) == len(page.anchors)
    assert all(0 < len(text) <= MAX_ANCHOR_CHARS for _, text in page.anchors)
    assert all(0 < len(heading) <= MAX_TITLE_CHARS for heading in page.headings)
    assert max(len(page.title), len(page.description)) <= MAX_TITLE_CHARS
    assert len(page.text) <= min(MAX_TEXT_CHARS, 3 * len(html))
    assert page.canonical is None or canonical_url(page.canonical) == page.canonical
    assert len(page.language) <= 3
    for text in (page.title, page.text, page.description, *page.headings):
        assert text == text.strip()
        assert "\0" not in text
        text.encode()
    if not robots_header:
        assert extract_links(html, PAGE, charset) == page.links
    signature(page.text)


def test_random_pages():
    rng = random.Random(20260102)
    for _ in range(N_CASES):
        html = mutated(rng, random_page(rng)).encode(rng.choice(["utf-8", "utf-8", "latin-1", "utf-16"]), "replace")
        if rng.random() < 0.3:
            html = _with_broken_bytes(rng, html)
        assert_sound(html, rng.choice(CHARSETS), rng.choice(["", "", "none", "otherbot: nofollow", ":,\n"]))


def _with_broken_bytes(rng: random.Random, html: bytes) -> bytes:
    broken = bytearray(html)
    for _ in range(rng.randrange(1, 8)):
        if broken:
            broken[rng.randrange(len(broken))] = rng.randrange(256)
    return bytes(broken)


@given(st.binary(), st.sampled_from(CHARSETS), st.text(max_size=20))
def test_any_bytes(html, charset, robots_header):
    assert_sound(html, charset, robots_header)


@given(st.randoms(use_true_random=False), st.text(max_size=20))
def test_random_pages_with_any_text(rng, text):
    assert_sound(mutated(rng, random_page(rng) + text + random_page(rng)).encode("utf-8", "replace"))


hostile = {
    "nested divs": b"<div>" * 400_000,
    "nested divs with links": b"<div><a href=x>" * 80_000,
    "unclosed tags": b"<b><i><p><table><tr><td><select><svg>" * 60_000,
    "formatting reopened in every paragraph": b"".join(b"<p><b id=%d>x" % k for k in range(120_000)),
    "html again and again": b"".join(b"<html a%d=1>" % k for k in range(100_000)),
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
    "distinct links that are none": b"".join(b"<a href=x:%d>" % k for k in range(80_000)),
    "noscript in noscript": b"<noscript><noframes>" * 100_000,
    "half a page of UTF-16": b"\xff\xfe" + b"<a " * 500_001,
    "anchors in anchors": b"<a href=x>word " * 80_000,
    "one endless anchor": b"<a href=x>" + b"word <b>" * 200_000,
    "headings in headings": b"<h1>word " * 120_000,
    "an endless heading": b"<h1>" + b"word <p>" * 200_000,
    "titles": b"<title>word</title>" * 100_000,
    "an endless title": b"<title>" + b"word " * 400_000,
    "templates in templates": b"<template>word" * 150_000,
    "noscript left open, with links": b"<noscript><a href=x>word" * 60_000,
    "images in an anchor": b"<a href=x>" + b"<img alt=a>" * 150_000,
    "half references": b"&am<b>p;" * 200_000,
    "comments that do not end": b"<!--->-->--!" * 200_000,
    "scripts that do not end": b"<script></scrip" * 150_000,
    "empty titles": b"<title/>" * 200_000,
    "spaces before a slash": b"<title" + b" " * 1_000_000 + b"<title" + b" " * 1_000_000,
    "marks": b"\x1e" * 2_000_000,
    "no-break spaces": b"\xc2\xa0" * 1_000_000,
    "descriptions": b"<meta name=description content='word'>" * 50_000,
    "quotes": b"<a href='\">" * 100_000,
}


@pytest.mark.parametrize("html", hostile.values(), ids=hostile)
def test_hostile_pages_of_megabytes_cost_bounded_time(html):
    start = time.process_time()
    assert_sound(html)
    assert time.process_time() - start < 5  # under one second on any machine that is not busy
