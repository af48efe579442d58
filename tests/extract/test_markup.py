"""A page that is lightened first says what the whole page says."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.extract.reader import _LINKS_ONLY, _WITH_TEXT, PageReader, read, read_whole
from tests.extract.pieces import ATTRIBUTES, MARKUP, NAMES, TEXTS, mutated, random_page

N_RANDOM_PAGES = 600  # 100,000 take a minute


def said(reader: PageReader) -> dict:
    """All that was read; the order counts everywhere."""
    return {
        name: list(value) if isinstance(value, dict) else value
        for name, value in vars(reader).items()
        if not name.startswith("_") and name != "handle_data"
    }


def assert_says_the_same(html: bytes) -> None:
    for with_text in (False, True):
        assert said(read(html, with_text)) == said(read_whole(html, with_text))


@pytest.mark.parametrize(
    ("html", "light"),
    [
        ("<p>a <b>bold</b> word</p>", "\x1ea bold word\x1e"),
        ("<A HREF=x>a</A>", "<A HREF=x>a</A>"),
        ("<span title='<b>'>a</span\n>b", "ab"),
        ("<span title=\">\"a='>'>a", "a"),
        ("<span a=b\"c=>'>a", "'>a"),
        ('<span =">a', "a"),
        ("<span a/b=c/>a", "a"),
        ("<!-- <a href=x> -->a<!-->b<!--->c<!--d--!>e<!--f->g-->h", "abceh"),
        ("<!---!>-->a", "a"),
        ("<!doctype html>a<?xml b='>'?>", "a'?>"),
        ("a</>b</ c>d", "abd"),
        ("<script>a</script>b<style>c</stylex></STYLE >d", "bd"),
        ("<script><!-- </script>a", "a"),
        ("<title>a <b></title>c", "<title>a <b></title>c"),
        ("<noscript a>b</noscript>", "<no\x1escript a>b</noscript>"),
        ("1 < 2 <= 3 <4", "1 < 2 <= 3 <4"),
        ("a&lt;<b>c", "a&lt;c"),
        ("a<b", "a"),
        ("<a href='x", ""),
        ("<!-- a", ""),
        ("", ""),
    ],
)
def test_what_is_left_of_a_page(html, light):
    assert _WITH_TEXT.lightened(html.encode()) == light.encode()
    assert_says_the_same(html.encode())


@pytest.mark.parametrize(
    "html",
    [
        "a <<b>i>c",
        "a<",
        "a</",
        "&am<b>p;",
        "&<b>amp;",
        "&#<b>65;",
        "<xmp><a href=x></xmp>",
        "<noembed><a href=x></noembed>",
        "a<plaintext><a href=x>",
        "<title/><a href=x>",
        "<script/><a href=x></script>",
        "<script><!-- <script></script><a href=x></script>",
    ],
)
def test_where_the_kernel_gives_up_the_whole_page_is_read(html):
    assert _WITH_TEXT.lightened(html.encode()) is None
    assert_says_the_same(html.encode())


def test_links_alone_leave_little_of_a_page():
    html = b"<title>T</title><p>text &am<b>p;</b> <a href=x>a</a><img src=y><textarea><a href=z></textarea></p>"
    assert _LINKS_ONLY.lightened(html) == b"<title>T</title><a href=x>"


tags = st.tuples(
    st.sampled_from(["<", "</"]),
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(ATTRIBUTES), max_size=3).map(lambda found: "".join(f" {one}" for one in found)),
    st.sampled_from([">", ">", "/>", " >", ""]),
).map("".join)
pages = st.lists(tags | st.sampled_from(TEXTS) | st.sampled_from(MARKUP) | st.text(max_size=4), max_size=12).map(
    "".join
)


@given(pages)
def test_a_lightened_page_says_the_same(html):
    assert_says_the_same(html.encode("utf-8", "replace"))


def test_random_and_mutated_pages_say_the_same_and_are_mostly_lightened():
    rng = random.Random(20260101)
    n_light = 0
    for _ in range(N_RANDOM_PAGES):
        html = random_page(rng)
        assert_says_the_same(html.encode())
        assert_says_the_same(mutated(rng, html).encode())
        n_light += _WITH_TEXT.lightened(html.encode()) is not None
    assert n_light > N_RANDOM_PAGES / 3  # else nothing was compared


def test_a_light_page_never_outgrows_its_room():
    html = b"<noscript>" * 1000
    assert _WITH_TEXT.lightened(html) == b"<no\x1escript>" * 1000
