"""Assets of pages and style sheets: cases, comparison with slow parsers, and random input."""

from __future__ import annotations

import random
from html.parser import HTMLParser

from hypothesis import example, given
from hypothesis import strategies as st

from orienteer.extract.assets import MAX_ASSETS, asset_urls, css_urls, decoded_style, srcset_candidates
from orienteer.url import canonical_url
from tests.tables import over_rows

URL = "http://x.test/dir/page"


def found(html: str, url: str = URL) -> list[str]:
    urls = asset_urls(html.encode(), url, "text/html", "utf-8")
    return [found.removeprefix("http://x.test/dir/") for found in urls]


@over_rows(
    ("html", "expected"),
    [
        ("<img src=a.png><IMG SRC='b.png'>", ["a.png", "b.png"]),
        ("<img src=a.png src=b.png>", ["a.png"]),
        ("<img src=' a.png\n'>", ["a.png"]),
        ("<img src=''><img src><img src=#x><img src=page>", []),
        ("<base href=/q/><base href=/r/><img src=a>", ["http://x.test/q/a"]),
        ("<img src=a><base href=/q/><img src=b>", ["a", "http://x.test/q/b"]),
        ("<img srcset='a 1x, b 2x' data-srcset='c' data-src=d>", ["d", "a", "b", "c"]),
        ("<link rel='ICON shortcut' href=a><link rel=canonical href=b><link rel=next href=c>", ["a"]),
        ("<link rel=preload as=image href=a imagesrcset='b 2x'>", ["a", "b"]),
        ("<link rel=alternate href=a><link rel='alternate stylesheet' href=b>", ["b"]),
        ("<input type=text src=a><input type=IMAGE src=b>", ["b"]),
        ("<script>'<img src=a>'</script><!-- <img src=b> --><textarea><img src=c></textarea>", []),
        ("<noscript><img src=a><style>b{c:url(d)}</style></noscript>", ["a", "d"]),
        ("<noscript><noscript><img src=a>", []),
        ("<style>a{b:url(c)}", ["c"]),
        ("<p style='background: url(&quot;a b&quot;)'>", ["a%20b"]),
        ("<svg><style>a{b:url(c)}</style><image xlink:href=d></image><use href='#e'/></svg>", ["c", "d"]),
        ("<iframe src=a srcdoc='<img src=b>'></iframe><frame src=c>", ["a", "c", "b"]),
        ("<a href=a><img src=b></a><video src=c poster=d></video>", ["b", "c", "d"]),
        ("<img src=data:image/png;base64,AA><img src=javascript:a><img src=ftp://b/><img src=//y.test/c>",
         ["http://y.test/c"]),
    ],
)  # fmt: skip
def test_pages(html: str, expected: list[str]) -> None:
    assert sorted(found(html)) == sorted(expected)


@over_rows(
    ("style", "expected"),
    [
        ("a { b: url(c) url( 'd' ) url(\"e\") }", ["c", "d", "e"]),
        ("@import 'a'; @import url(b) screen; @IMPORT \"c\" layer(x);", ["a", "b", "c"]),
        ("@import 'a' supports(b: url(c)); d { e: url(f) }", ["a", "f"]),
        ("@namespace url(a); @namespace b 'c'; @document url(d) { e { f: url(g) } }", ["g"]),
        ("@font-face { src: local('a'), url(b) format('c') }", ["b"]),
        ("a { b: image-set('c' 1x, url(d) 2x, 'e' type('image/avif')) 'f' }", ["c", "d", "e"]),
        ("a { b: -webkit-image-set(url(c) 1x); d: linear-gradient(red, url(e)) }", ["c", "e"]),
        ("/* url(a) */ b { c: url(d/**/e) } /* 'f", ["d/**/e"]),
        ("a { content: 'url(b)'; c: \"\\\"url(d)\"; e: url(f) }", ["f"]),
        ("a { b: url(c\\29 d) url('e\\\nf') url(\\67) url(\\) ) }", ["c)d", "ef", "g", ")"]),
        ("a { b: url(c d) url(e) url(f'g) url(h) }", ["e", "h"]),
        ("a { b: myurl(c) my-url(d) URL(e) url (f) }", ["e"]),
        ("a { b: 'c\nd: url(e) }", ["e"]),
        ("a { b: url(c", ["c"]),
        ("a { b: url('c", ["c"]),
        ("\\", []),
        ("a { b: url('c\n); d: url(e) } f { g: url('h' x() ')'); i: url(j) }", ["e", "h", "j"]),
        ("a { b: u\\rl(c) \\75 rl(d) #url(e) <!--url(f) 1url(g) éurl(h) 'i\\41\nurl(j)' }", ["c", "d", "f"]),
        ("@\\69mport 'a'; @im\\port url(b)", ["a", "b"]),
        ("a { b: url(\\0) url(\\110000 x) }", ["\ufffd", "\ufffdx"]),
    ],
)  # fmt: skip
def test_styles(style: str, expected: list[str]) -> None:
    assert [url.reference for url in css_urls(style)] == expected


def test_styles_have_encodings() -> None:
    assert decoded_style(b'@charset "iso-8859-1"; \xe9') == '@charset "iso-8859-1"; \xe9'
    assert decoded_style(b'@charset "iso-8859-1"; \xc3\xa9', "utf-8").endswith("; \xe9")
    assert decoded_style("\ufeffé".encode("utf-16-le"), "latin1") == "é"
    assert decoded_style(b'@charset "utf-16"; \xc3\xa9').endswith("é")
    assert decoded_style("é".encode()) == "é"
    assert asset_urls("a{b:url(é)}".encode("latin-1"), URL, "text/css", "latin1") == ["http://x.test/dir/%C3%A9"]


def test_other_types_have_no_assets() -> None:
    assert asset_urls(b"<img src=a>", URL, "text/plain") == []
    assert asset_urls(b"<svg><image href='a'/></svg>", URL, "image/svg+xml") == ["http://x.test/dir/a"]


def test_the_number_of_assets_is_bounded() -> None:
    html = "".join(f"<img src={k}>" for k in range(MAX_ASSETS + 10))
    assert len(found(html)) == MAX_ASSETS
    assert len(found(f"<img srcset='{', '.join(map(str, range(MAX_ASSETS + 10)))}'>")) == MAX_ASSETS


# A slow reference parser, character by character, by the tokens of CSS Syntax Level 3.

SPACES, LINE_ENDS = set(" \t\n\r\f"), set("\n\r\f")


def slow_style_urls(style: str) -> list[str]:
    """Return URLs by the rules of what is fetched."""
    urls: list[str] = []
    rule, brackets, i = "", [], 0
    while i < len(style):
        found = None
        is_fetched = not rule or (rule == "@import" and not brackets)
        if style.startswith("/*", i):
            end = style.find("*/", i + 2)
            i = len(style) if end < 0 else end + 2
        elif style.startswith("<!--", i):
            i += 4
        elif style[i] in "\"'":
            text, i, is_whole = slow_string(style, i)
            if is_whole and (rule == "@import" or brackets[-1:] == ["image-set"]):
                found = text
        elif style[i] in "#@":
            name, end = slow_name(style, i + 1)
            if style[i] == "@":
                rule, brackets = "@" + name.lower(), []
            i = end
        elif is_in_name(style, i):
            name, i = slow_name(style, i)
            if style[i : i + 1] == "(":
                name, i = name.lower(), i + 1
                name = "image-set" if name == "-webkit-image-set" else name
                if name == "url" and style[i:].lstrip(" \t\n\r\f")[:1] not in ("'", '"'):
                    found, i = slow_url(style, i)
                elif name == "url":
                    text, i, is_whole = slow_string(style, len(style) - len(style[i:].lstrip(" \t\n\r\f")))
                    found = text if is_whole else None
                    brackets.append(name)
                else:
                    brackets.append(name)
        else:
            if style[i] in "([":
                brackets.append(style[i])
            elif style[i] in ")]":
                brackets = brackets[:-1]
            elif style[i] in "{};":
                rule, brackets = "", []
            i += 1
        if found is not None and is_fetched:
            urls.append(found)
            rule = "rest" if rule else ""
    return urls


def is_in_name(style: str, i: int) -> bool:
    if style[i] == "\\":
        return style[i + 1 : i + 2] not in LINE_ENDS
    return style[i].isascii() is False or style[i].isalnum() or style[i] in "-_"


def slow_name(style: str, i: int) -> tuple[str, int]:
    name = ""
    while i < len(style) and is_in_name(style, i):
        more, i = slow_escape(style, i) if style[i] == "\\" else (style[i], i + 1)
        name += more
    return name, min(i, len(style))


def slow_escape(style: str, i: int) -> tuple[str, int]:
    """Return the character of an escape at i, and its end."""
    digits = ""
    while len(digits) < 6 and style[i + 1 + len(digits) : i + 2 + len(digits)] in set("0123456789abcdefABCDEF"):
        digits += style[i + 1 + len(digits)]
    if digits:
        i += 1 + len(digits)
        i += 2 if style.startswith("\r\n", i) else style[i : i + 1] in SPACES
        code = int(digits, 16)
        return (chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"), i
    if style.startswith("\r\n", i + 1):
        return "", i + 3
    return ("" if style[i + 1 : i + 2] in LINE_ENDS else style[i + 1 : i + 2]), i + 2


def slow_string(style: str, i: int) -> tuple[str, int, bool]:
    """Return the text of the string at i, its end, and whether it does not end with a line."""
    quote, text = style[i], ""
    i += 1
    while i < len(style) and style[i] != quote and style[i] not in LINE_ENDS:
        more, i = slow_escape(style, i) if style[i] == "\\" else (style[i], i + 1)
        text += more
    is_whole = i >= len(style) or style[i] == quote
    return text, min(i + (style[i : i + 1] == quote), len(style)), is_whole


def slow_url(style: str, start: int) -> tuple[str | None, int]:
    i, text = len(style) - len(style[start:].lstrip(" \t\n\r\f")), ""
    while i < len(style) and style[i] != ")":
        if style[i] == "\\" and style[i + 1 : i + 2] not in LINE_ENDS:
            more, i = slow_escape(style, i)
            text += more
        elif style[i] in SPACES:
            rest = style[i:].lstrip(" \t\n\r\f")
            if rest and rest[0] != ")":
                return None, slow_bad_end(style, start)
            i = len(style) - len(rest)
        elif style[i] in "\"'(\\" or style[i] in "\x01\x7f":
            return None, slow_bad_end(style, start)
        else:
            text, i = text + style[i], i + 1
    return text, min(i + 1, len(style))


def slow_bad_end(style: str, i: int) -> int:
    while i < len(style) and style[i] != ")":
        i += 2 if style[i] == "\\" else 1
    return min(i + 1, len(style))


PIECES = ("url(", "url('", ")", "(", "'", '"', "\\", "\n", " ", "a", "b.png", "/*", "*/", "@import", "@media",
          "image-set(", "-webkit-image-set(", ";", "{", "}", "29 ", "my", "-", "[", "]", "\r\n",
          "type(", "U", "\x01", "#", "<!--", "rl(", "75", "é", "@")  # fmt: skip


@example("\\('a.png')")
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_styles_are_read_like_the_reference(style: str) -> None:
    assert [url.reference for url in css_urls(style)] == slow_style_urls(style)


class SlowReader(HTMLParser):
    """A reference with Python's own parser, and one rule for each element."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        for name in {"img": ["src"], "script": ["src"], "video": ["src", "poster"], "object": ["data"]}.get(tag, []):
            if name in values:
                self.add(values[name])
        if tag == "img" and "srcset" in values:
            for candidate in values["srcset"].split(", "):
                self.add(candidate.split(" ")[0])
        if tag == "link" and values.get("rel") == "stylesheet":
            self.add(values["href"])

    def add(self, reference: str) -> None:
        url = canonical_url(reference, URL)
        if url is not None:
            self.urls.add(url)


def test_pages_are_read_like_the_reference() -> None:
    rng = random.Random(5)
    templates = ("<img src='{}'>", "<p class=a>{}<b>", "<script src={}></script>", "<video poster={} src=v{}></video>",
             "<a href={}>x</a>", "<link rel=stylesheet href={}>", "<img srcset='{} 1x, s{} 2x'>", "<object data={}>",
             "<!-- <img src={}> -->", "<script>x = '<img src={}>'</script>", "</p></div>", "&amp; {}")  # fmt: skip
    for _ in range(100):
        html = "".join(rng.choice(templates).replace("{}", str(rng.randrange(50))) for _ in range(30))
        slow = SlowReader()
        slow.feed(html)
        assert set(asset_urls(html.encode(), URL, "text/html", "utf-8")) == slow.urls, html


@given(st.binary(max_size=200), st.sampled_from(["text/html", "text/css", "image/svg+xml"]))
def test_no_content_raises(content: bytes, kind: str) -> None:
    for url in asset_urls(content, URL, kind):
        assert canonical_url(url) == url


HTML = ("<img src=a>", "<img srcset='", "'", '"', ">", "<style>", "</style>", "<noscript>", "</noscript>",
        "<iframe srcdoc='", "&quot;", "url(", ")", "<svg>", "<base href=b>", "<!--", "-->",
        "<p style='a:url(c)'>", ",", "\\", "\x00", "é")  # fmt: skip


@given(st.lists(st.sampled_from(HTML), max_size=30).map("".join))
def test_no_markup_raises(html: str) -> None:
    asset_urls(html.encode(), URL, "text/html", "utf-8")


def test_candidates_terminate() -> None:
    assert [url for url, _ in srcset_candidates("")] == []
    assert [url for url, _ in srcset_candidates(",,, a ,,b 2x,(c 1x, d (e, f), g")] == ["a", "b", "(c", "d", "g"]
    assert [url for url, _ in srcset_candidates("data:image/png;base64,AA 1x, b")] == ["data:image/png;base64,AA", "b"]


def steps(pattern: str, n: int, kind: str) -> int:
    """Count the executed lines of Python, a measure that does not depend on the load of the machine."""
    import sys

    count = 0

    def trace(*_: object) -> object:
        nonlocal count
        count += 1
        return trace

    content = (pattern * n)[:n].encode()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        asset_urls(content, URL, kind, "utf-8")
    finally:
        sys.settrace(None)
    return count


@over_rows(
    ("kind", "pattern"),
    [("text/css", pattern) for pattern in ("url(", "/*", "'", "((", "@import ", "image-set('", "\\", "url('\\")]
    + [("text/html", pattern) for pattern in ("<noscript>", "<style>", "<iframe srcdoc='", "<img srcset='a,b ")],
)
def test_time_is_linear(kind: str, pattern: str) -> None:
    steps(pattern, 100, kind)
    assert steps(pattern, 8_000, kind) <= 5 * steps(pattern, 2_000, kind) + 1_000
