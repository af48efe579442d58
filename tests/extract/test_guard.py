"""The check before the tree: hostile pages are refused, accepted ones are cheap, real ones are accepted."""

from __future__ import annotations

import random
import sys

import pytest

from orienteer.extract.guard import refusal
from tests.extract.hostile_trees import SIZES, hostile_page, tree_costs
from tests.extract.pieces import mutated, random_page
from tests.tables import over_rows


def _numbered(pattern: bytes, n: int) -> bytes:
    return b"".join(pattern % k for k in range(n))


hostile = {
    "formatting left open in paragraphs": _numbered(b"<p><b id=%d>", 5000),
    "formatting left open before": _numbered(b"<b id=%d>", 300) + b"<p>x" * 3000,
    "formatting without attributes": b"<p><b><i><u><s><tt><em><big><code>" * 2_000,
    "formatting whose end is in an attribute": _numbered(b"<p><b id=%d><q a='</b>'>", 3000),
    "formatting whose end is in a comment": _numbered(b"<p><b id=%d><!-- </b> -->", 3000),
    "formatting whose end is in a script": _numbered(b"<p><b id=%d><script></b></script>", 3000),
    "formatting whose end is in text": _numbered(b"<p><b id=%d><textarea></b></textarea>", 3000),
    "formatting that a block ends": _numbered(b"<li><b id=%d><li>x</b>", 3000),
    "formatting that differs behind a quoted >": _numbered(b"<p><b id='>' class=%d>", 3000),
    "formatting that differs behind an unusual quote": _numbered(b'<p><b a=a=" b=">%d">x', 1500),
    "formatting that differs behind a space and a quote": _numbered(b'<p><b a= b=" c=">%d">x', 1500),
    "formatting whose end is in the same attribute": _numbered(b'<p><b a=a=" b=">%d</b>">x', 1500),
    "in upper case": _numbered(b"<P><FONT SIZE=%d>", 4000),
    "html": _numbered(b"<html a%d>", 20_000),
    "body": _numbered(b"<body a%d=1>", 20_000),
    "html in halves": b"<html " + _numbered(b"a%d ", 10_000) + b"><html b>",
    "end tags in a deep nest": b"<svg>" * 600 + b"</html>" * 20_000,
    "end tags in comments": b"<svg>" * 600 + b"<!--<html>--></html>" * 20_000,
    "end tags behind attributes": b"<svg>" * 600 + b"<g x='<html>'/></html>" * 20_000,
    "items in a deep nest": b"<var>" * 600 + b"<li>" * 60_000,
    "end tags in SVG": b"<svg>" * 600 + b"<x></x>" * 20_000,
    "paragraphs": b"<p>x" * 500_000,
    "zero bytes": b"\0" * 2_000_000,
    "attributes": b"<p " + _numbered(b"a%d ", 500_000) + b">",
}


@over_rows("html", hostile.values(), ids=hostile)
def test_hostile_pages_are_refused(html):
    assert refusal(html)


harmless = {
    "empty": b"",
    "text": b"x < y & z",
    "a long text": b"word " * 200_000,
    "deep": b"<div>" * 20_000,
    "deep, with formatting": b"<span><i>" * 700 + b"<p>x",
    "unclosed paragraphs": b"<p>x" * 20_000,
    "formatting that is closed": _numbered(b"<p><b id=%d>x</b> <code class=c><span>y</span></code></p>", 4000),
    "formatting that contains text": _numbered(b'<p><span>x</span><b id="%d">x</b>', 10_000),
    "formatting that is left open": b"<p><b>x" * 1000,
    "formatting that is left open at the end": b"<p><span>x</span>" * 10_000 + _numbered(b"<p><b id=%d>", 100),
    "links that are left open": _numbered(b"<p><a href=%d>x", 4000),
    "scripts": b"<body><div><script>if (a < b && c > d) f('<b>')</script></div>" * 500,
    "a large SVG": b"<svg>" + b"<g><path d='M0 0'/><a href=x><title>y</title></a></g>" * 4000 + b"</svg>",
    "comments": b"<!-- x --><!--[if IE]><p>x</p><![endif]-->" * 5_000,
    "a table without end tags": b"<table>" + b"<tr><td>x<td>y" * 20_000 + b"</table>",
    "html twice": b"<html lang=en><body class=x><html><body onload='f()'>",
}


@over_rows("html", harmless.values(), ids=harmless)
def test_harmless_pages_are_accepted(html):
    assert refusal(html) is None


def test_ordinary_pages_are_accepted():
    rng = random.Random(20261119)
    assert not any(refusal(mutated(rng, random_page(rng)).encode()) for _ in range(300))


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux does")
@pytest.mark.parametrize("seed", range(2))
def test_trees_of_accepted_pages_are_small(seed):
    rng = random.Random(seed)
    pages = [hostile_page(rng, rng.choice(SIZES)) for _ in range(150)]
    accepted = sorted((html for html in pages if refusal(html.encode()) is None), key=len)
    assert len(accepted) > 60
    for cost, html in zip(tree_costs(accepted), accepted, strict=True):
        assert cost.memory <= 1 or tree_costs([html])[0].memory <= 1
