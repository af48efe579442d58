"""What the readers rely on in the HTML library, which is young: another version that behaves otherwise fails here."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from orienteer.extract.parser import TokenType, charset_of, parsed, tokens
from tests.extract.pieces import mutated, random_page


def _found(html: str) -> list[tuple[object, ...]]:
    kinds = {TokenType.START_TAG: "start", TokenType.END_TAG: "end", TokenType.TEXT: "text"}
    found: list[tuple[object, ...]] = []
    for token in tokens(html):
        kind = kinds.get(token.type)
        if kind == "text" and found and found[-1][0] == "text":
            found.append(("text", f"{found.pop()[1]}{token.data}"))
        elif kind == "text":
            found.append(("text", token.data))
        elif kind == "end":
            found.append(("end", token.tag))
        elif kind == "start":
            found.append(("start", token.tag, tuple(token.attrs or ())))
    return found


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<A HREF=x Href=y>", [("start", "a", (("href", "x"),))]),  # names in lower case; the first attribute counts
        ("<a href>", [("start", "a", (("href", ""),))]),
        ("<a href='&amp;&lt;&notit;'>", [("start", "a", (("href", "&<&notit;"),))]),
        ("<a b=c/>", [("start", "a", (("b", "c/"),))]),
        ("x&amp;&#65;&#0;&copy", [("text", "x&A\ufffd©")]),
        ("<title>a<b>&amp;</title>c", [("start", "title", ()), ("text", "a<b>&"), ("end", "title"), ("text", "c")]),
        ("<script>a&amp;<b></script>", [("start", "script", ()), ("text", "a&amp;<b>"), ("end", "script")]),
        ("<textarea><a></textarea>", [("start", "textarea", ()), ("text", "<a>"), ("end", "textarea")]),
        ("<plaintext><a>", [("start", "plaintext", ()), ("text", "<a>")]),
        ("a<!-- <b> -->c<!-->d<?x>e</>f", [("text", "acdef")]),
        ("a<b", [("text", "a")]),
        ("1 < 2", [("text", "1 < 2")]),
    ],
)
def test_tokens(html: str, found: list[tuple[object, ...]]) -> None:
    assert _found(html) == found


def _pages(n_pages: int) -> list[str]:
    rng = random.Random(20261119)
    return [mutated(rng, random_page(rng)) for _ in range(n_pages)]


@pytest.mark.parametrize(
    ("html", "written"),
    [
        ("<p>a<b>c<p>d", "<p>a<b>c</b></p><p><b>d</b></p>"),
        ("<table>a<tr><td>b", "a<table><tbody><tr><td>b</td></tr></tbody></table>"),
        ("<a href=x>a<a href=y>b", '<a href="x">a</a><a href="y">b</a>'),
        ("<a href='>\"<&#10;'>", '<a href="&gt;&quot;&lt;\n"></a>'),
        ('<a href="x"" b\'=1 =c d<e>', '<a href="x" "="" b\'="1" =c="" d<e=""></a>'),
        ("<br>a<hr/><img src=i>", '<br>a<hr><img src="i">'),
        ("a &amp; &lt;&gt; &nbsp;\xa0 &copy; \0b", "a &amp; &lt;&gt; &nbsp;&nbsp; \xa9 b"),
        ("a<!-- > -->b<!-->c<? x>d", "a<!-- > -->b<!---->c<!--? x-->d"),
        ("<textarea><a></textarea>", "<textarea>&lt;a&gt;</textarea>"),
        ("a<noscript>b<a href=x>c</a></noscript>", 'a<noscript>b<a href="x">c</a></noscript>'),
        ("a<template shadowrootmode=open>b</template>", 'a<template shadowrootmode="open">b</template>'),
        ("a<svg><title>b</title><a xlink:href=x>", 'a<svg><title>b</title><a xlink:href="x"></a></svg>'),
    ],
)
def test_trees_as_they_are_written(html: str, written: str) -> None:
    (body,) = parsed(html.encode()).iter_elements("body")
    assert body.encode().decode() == f"<body>{written}</body>"


def test_trees_have_a_bounded_depth() -> None:
    deepest = max(parsed(b"<div>" * 2_000).iter_elements("div"), key=lambda element: len(list(element.ancestors)))
    assert len(list(deepest.ancestors)) < 600


def test_no_tag_that_is_written_has_its_end_within() -> None:
    for html in _pages(2_000):
        for element in parsed(html.encode("utf-8", "replace")).iter_elements():
            assert ">" not in element.tag
            assert not any(">" in name or " " in name for name in element.attrs)


def test_threads_do_not_share_state() -> None:
    pages = [html.encode("utf-8", "replace") for html in _pages(400)]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(_written, pages)) == list(map(_written, pages))


def _written(html: bytes) -> str:
    return parsed(html).html


@pytest.mark.parametrize(
    ("html", "charset"),
    [
        (b"", "utf-8"),
        ("é".encode(), "utf-8"),
        (b"caf\xe9", "windows-1252"),
        (b"<meta charset=latin1>", "windows-1252"),
        (b"<meta http-equiv=content-type content='text/html; charset=shift_jis'>\x82\xa0", "shift_jis"),
        (b"\xff\xfea\0", "utf-16le"),
        (b"\xef\xbb\xbf<meta charset=latin1>", "utf-8"),
    ],
)
def test_encodings(html: bytes, charset: str) -> None:
    assert charset_of(html) == charset
