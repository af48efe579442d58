"""Pieces of HTML for random pages: common, rare, and broken ones."""

from __future__ import annotations

import random

NAMES = [
    "a", "A", "abbr", "area", "b", "base", "blockquote", "body", "br", "button", "dd", "div", "em", "figcaption",
    "form", "frame", "frameset", "h1", "H2", "h3", "h4", "head", "html", "i", "iframe", "img", "input", "li", "link",
    "listing", "math", "meta", "nav", "noembed", "noframes", "noscript", "NoScript", "object", "option", "p",
    "plaintext", "pre", "script", "SCRIPT", "section", "select", "span", "style", "svg", "table", "td", "template",
    "textarea", "title", "tr", "ul", "video", "xmp", "x-own", "n-script", "noscripts", "titles", "a\x00", "sup", "sub",
    "math class=katex", "annotation", "mi", "tex-formula",
]  # fmt: skip
ATTRIBUTES = [
    "href=x", "href='y z'", 'href="/a?b=1&amp;c=2#d"', "href=//other.example/", "href = q ", "href", "href=",
    "HREF=up", "href='", 'href="', "href=#top", "href=http://[", "src=s", "src='s/t'", "rel=nofollow", "rel='next'",
    "rel=canonical", "alt='an image'", "name=robots", "name=description", "name=Orienteer", "http-equiv=refresh",
    "http-equiv=content-language", "content='0;url=r'", "content=nofollow", "content='noindex, x'", "content=none",
    "content='words  here'", "content=de", "lang=en-US", "xml:lang=fr", "class='>'", 'title="<b>"',
    "title='<a href=no>'", "=x", "='>'", 'a=\'"\'', "/", "//", "data-x", "data-x=1/", "<", '"', "'", "\x00",
    "b/c='>'", "a=`b`",
]  # fmt: skip
TEXTS = [
    "word", "Some text. ", " ", "\n", "\t\r\n", "&amp;", "&amp", "&am", "p;", "&lt;a href=no&gt;", "&#65;", "&#x41",
    "&#0;", "&", "&&", "&nbsp;", "&copy", "&notit;", "1 < 2", "<", "< ", "<<", "<3", ">", "->", "-->", "--!>", "]]>",
    "\x00", "\x1e", "ä", "日本語", "\xa0", "\u3000", "'", '"', "/", "=", "\x0c", "\x0b", "\x85",
]  # fmt: skip
MARKUP = [
    "<!doctype html>", '<!DOCTYPE html PUBLIC \'>\' ">">', "<!-- c -->", "<!-->", "<!--->", "<!---->", "<!--a--!>",
    "<!--", "<!---!>", "<!--!>", "<!-- <a href=no> -->", "<!--<!-->", "<!-", "<!x>", "<!", "<![CDATA[ <a href=c> ]]>",
    "<?xml a='>'?>", "<?php", "<?", "</>", "</ a>", "</", "</ ", "</a", "<a", "<script><!--",
    "<script>//<!--<script>", "</script", "</scripts>", "<title/>", "<style />", "<script/>", "<iframe src=f />",
    "<title>", "</title>", "</title x='>'>", "</noscript>", "<textarea>", "</textarea>", "</xmp>", "</template>",
    "<a href=x>", "</a>", "<p>", "</p>", "<b>", "</b>", "<br/>",
]  # fmt: skip


def random_page(rng: random.Random, n_pieces: int = 30) -> str:
    """Return a page of random pieces: mostly well-formed tags and text."""
    return "".join(_piece(rng) for _ in range(rng.randrange(n_pieces)))


def mutated(rng: random.Random, page: str) -> str:
    """Return a page with random deletions, duplications and insertions, also inside tags and words."""
    for _ in range(rng.randrange(1, 6)):
        at, to = sorted((rng.randrange(len(page) + 1), rng.randrange(len(page) + 1)))
        to = min(to, at + rng.choice((1, 5, 50)))
        change = rng.randrange(4)
        if change == 0:
            page = page[:at] + page[to:]
        elif change == 1:
            page = page[:to] + page[at:]
        elif change == 2:
            page = page[:at] + _piece(rng) + page[at:]
        else:
            page = page[:at] + chr(rng.choice((*b"<>/'\"=&!-?# aZ0;\0\n", 0x80, 0x20AC))) + page[to:]
    return page


def _piece(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.35:
        attributes = " ".join(rng.choice(ATTRIBUTES) for _ in range(rng.choice((0, 0, 1, 1, 2, 3))))
        return f"<{rng.choice(NAMES)} {attributes}>" if attributes else f"<{rng.choice(NAMES)}>"
    if kind < 0.55:
        return f"</{rng.choice(NAMES)}>"
    return rng.choice(TEXTS if kind < 0.85 else MARKUP)
