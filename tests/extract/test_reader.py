"""The links of a page are those of its tree, with its text and without."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from orienteer.extract.reader import read
from tests.extract.documents import random_document
from tests.extract.pieces import ATTRIBUTES, MARKUP, NAMES, TEXTS, mutated, random_page
from tests.extract.tree_links import tree_links
from tests.tables import over_rows

N_RANDOM_PAGES = 1000  # 100,000 take a minute; see also `python -m benchmarks links`


def links_in_the_tree(html: str) -> list[str]:
    return sorted({link.partition("#")[0] for link in tree_links(html)})


def links_read(html: str, with_text: bool) -> list[str]:
    reader = read(html.encode(), with_text=with_text)
    return sorted(
        {*reader.references, *reader.nofollow_references} - _canonical(reader.canonical) if reader.is_understood else ()
    )


def _canonical(canonical: str | None) -> set[str]:
    return set() if canonical is None else {canonical.partition("#")[0]}


@over_rows(
    "html",
    [
        "<p>a <b>bold</b> word</p>",
        "<A HREF=x>a</A>",
        "<span title='<b>'>a</span\n>b",
        "<span title=\">\"a='>'>a",
        "<span a=b\"c=>'>a",
        '<span =">a',
        "<span a/b=c/>a",
        "<!-- <a href=x> -->a<!-->b<!--->c<!--d--!>e<!--f->g-->h",
        "<!---!>-->a",
        "<!doctype html>a<?xml b='>'?>",
        "a</>b</ c>d",
        "<script>a</script>b<style>c</stylex></STYLE >d",
        "<script><!-- </script>a",
        "<script><!-- <script></script><a href=x></script>a",
        "<script><!-- <script> --></script>a",
        "<script><!--><script></script>a",
        "<title>a <b></title>c",
        "<noscript a>b</noscript>",
        "<svg><a xlink:href=x>b</a><title>c</title></svg>",
        "a<template><p>b</template>c",
        "1 < 2 <= 3 <4",
        "a&lt;<b>c",
        "a<b",
        "a<",
        "a</",
        "a <<b>i>c",
        "&am<b>p;",
        "&#<!-- -->65;",
        "<xmp><a href=x></xmp>",
        "<noembed><a href=x></noembed>a",
        "a<plaintext><a href=x>",
        "<a href='x",
        "<!-- a",
        "",
    ],
)
def test_links_are_those_of_the_tree(html):
    assert links_read(html, True) == links_read(html, False) == links_in_the_tree(html)


tags = st.tuples(
    st.sampled_from(["<", "</"]),
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(ATTRIBUTES), max_size=3).map(lambda found: "".join(f" {one}" for one in found)),
    st.sampled_from([">", ">", "/>", " >", ""]),
).map("".join)
pages = st.lists(tags | st.sampled_from(TEXTS) | st.sampled_from(MARKUP), max_size=12).map("".join)


@given(pages)
def test_with_and_without_text_the_links_are_the_same(html):
    with_text, without = read(html.encode()), read(html.encode(), with_text=False)
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
        assert list(read(html).references) == list(read(html, with_text=False).references)
