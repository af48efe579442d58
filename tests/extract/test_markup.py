"""Filtered pages have the same content as the trees of the pages."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.extract.reader import _LINKS_ONLY, _WITH_TEXT, read
from tests.extract.documents import random_document
from tests.extract.pieces import ATTRIBUTES, MARKUP, NAMES, TEXTS, mutated, random_page
from tests.extract.tree_links import tree_links

N_RANDOM_PAGES = 1000  # 100,000 take a minute; see also `python -m benchmarks links`


def links_in_the_tree(html: str) -> list[str]:
    return sorted({link.partition("#")[0] for link in tree_links(html)})


def links_read(html: str, with_text: bool) -> list[str]:
    reader = read(html.encode(), with_text)
    return sorted(
        {*reader.references, *reader.nofollow_references} - _canonical(reader.canonical) if reader.is_understood else ()
    )


def _canonical(canonical: str | None) -> set[str]:
    return set() if canonical is None else {canonical.partition("#")[0]}


@pytest.mark.parametrize(
    ("html", "filtered"),
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
        ("<script><!-- <script></script><a href=x></script>a", "a"),
        ("<script><!-- <script> --></script>a", "a"),
        ("<script><!--><script></script>a", "a"),
        ("<title>a <b></title>c", "<title>a <b></title>c"),
        ("<noscript a>b</noscript>", "<unscript a>b</unscript>"),
        ("<svg><a xlink:href=x>b</a><title>c</title></svg>", "<s xlink:href=x>b</a>"),
        ("a<template><p>b</template>c", "ac"),
        ("1 < 2 <= 3 <4", "1 < 2 <= 3 <4"),
        ("a&lt;<b>c", "a&lt;c"),
        ("a<b", "a"),
        ("a<", "a<"),
        ("a</", "a</"),
        ("a <<b>i>c", "a <</>i>c"),
        ("&am<b>p;", "&am</>p;"),
        ("&#<!-- -->65;", "&#</>65;"),
        ("<xmp><a href=x></xmp>", "<xmp><a href=x></xmp>"),
        ("<noembed><a href=x></noembed>a", "a"),
        ("a<plaintext><a href=x>", "a<plaintext><a href=x>"),
        ("<a href='x", ""),
        ("<!-- a", ""),
        ("", ""),
    ],
)
def test_filtered_pages(html, filtered):
    assert _WITH_TEXT.apply(html.encode())[:2] == (filtered, True)
    assert links_read(html, True) == links_read(html, False) == links_in_the_tree(html)


def test_filter_for_links_only():
    html = b"<title>T</title><p>text &am<b>p;</b> <a href=x>a</a><img src=y><textarea><a href=z></textarea></p>"
    assert _LINKS_ONLY.apply(html)[:2] == ("<title>T</title><a href=x>", True)


def test_a_filtered_page_fits_its_buffer():
    for piece in ("<noscript>", "&<b>", "<<b>", "<svg><a href=x>", "<li>"):
        filtered = _WITH_TEXT.apply(piece.encode() * 1000).page
        assert len(filtered) <= len(piece) * 1000


tags = st.tuples(
    st.sampled_from(["<", "</"]),
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(ATTRIBUTES), max_size=3).map(lambda found: "".join(f" {one}" for one in found)),
    st.sampled_from([">", ">", "/>", " >", ""]),
).map("".join)
pages = st.lists(tags | st.sampled_from(TEXTS) | st.sampled_from(MARKUP), max_size=12).map("".join)


@given(pages)
def test_with_and_without_text_the_links_are_the_same(html):
    with_text, without = read(html.encode(), True), read(html.encode(), False)
    for name in ("references", "nofollow_references", "base", "canonical", "robots", "refresh", "is_understood"):
        assert getattr(with_text, name) == getattr(without, name)


def test_random_documents_have_the_links_of_their_trees():
    rng = random.Random(20260101)
    n_links = n_unknown = 0
    for _ in range(N_RANDOM_PAGES):
        html = random_document(rng)
        if read(html.encode()).is_understood:
            assert links_read(html, True) == links_in_the_tree(html), html
        else:
            n_unknown += 1
        n_links += len(links_in_the_tree(html))
    assert n_links > N_RANDOM_PAGES  # the comparison is not trivial
    assert n_unknown < 0.02 * N_RANDOM_PAGES


def test_random_and_mutated_pages_are_read_alike_with_and_without_text():
    rng = random.Random(20260101)
    for _ in range(N_RANDOM_PAGES):
        html = mutated(rng, random_page(rng)).encode()
        assert list(read(html, True).references) == list(read(html, False).references)
