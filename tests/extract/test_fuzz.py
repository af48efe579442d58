"""Pages at random, with broken markup and broken bytes: extraction never raises, and what it gives is bounded."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from orienteer.extract.links import extract_links
from orienteer.extract.near_duplicates import signature
from orienteer.extract.page import MAX_LINKS, MAX_TEXT_CHARS, extract_page
from orienteer.extract.reader import MAX_ANCHOR_CHARS, MAX_TITLE_CHARS
from orienteer.url import canonical_url
from tests.extract.pieces import mutated, random_page

N_CASES = 400  # 100,000 take a minute
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
