"""Ugly or malicious HTML. The outcome of the fetch is still "ok", and the parser must handle it. If the markup permits,
it contains a link to /found."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.hostile_case import HostileCase

MEGABYTE = 1_000_000
FOUND = "<a href=/found>found</a>"


def _page(name: str, html: Callable[[], str | bytes], note: str, content_type: str = "text/html") -> HostileCase:
    return HostileCase(name, lambda: FakeResponse(html(), content_type=content_type), ("ok",), note)


def _links(*hrefs: str) -> str:
    return "<!DOCTYPE html><title>Links</title>" + "".join(f'<a href="{href}">x</a>\n' for href in hrefs) + FOUND


def _noise(n_bytes: int) -> bytes:
    return random.Random(1).randbytes(n_bytes)


STRUCTURE = [
    _page(
        "nested-divs",
        lambda: "<div>" * 100_000 + FOUND + "</div>" * 100_000,
        "no stack overflow and no quadratic time in the depth",
    ),
    _page(
        "nested-tables",
        lambda: "<table><tr><td>" * 30_000 + FOUND,
        "no stack overflow in nested tables",
    ),
    _page(
        "nested-foreign-elements",
        lambda: "<svg><foreignObject><math><annotation-xml encoding='text/html'>" * 20_000 + FOUND,
        "no confusion and no recursion between HTML, SVG and MathML",
    ),
    _page(
        "unclosed-formatting",
        lambda: "".join(f"<b class=c{k}><p>" for k in range(20_000)) + FOUND,
        "formatting elements to be opened again in every paragraph must not make quadratic trees",
    ),
    _page(
        "misnested-formatting",
        lambda: "<a><b><i><div>" * 10_000 + "</a></b></i>" * 10_000 + FOUND,
        "the adoption agency must not run for minutes",
    ),
    _page(
        "repeated-html-tags",
        lambda: "".join(f"<html a{k}=1>" for k in range(100_000)) + FOUND,
        "merging attributes into one element must not be quadratic",
    ),
    _page(
        "million-attributes",
        lambda: "<p " + " ".join(map("a%x".__mod__, range(MEGABYTE))) + ">" + FOUND,
        "checking for repeated attributes must not be quadratic",
    ),
    _page(
        "giant-attribute",
        lambda: "<p title='" + "x" * 5 * MEGABYTE + "'>" + FOUND,
        "one attribute of 5 MB must not be copied again and again",
    ),
    _page(
        "giant-tag-name",
        lambda: "<" + "x" * 5 * MEGABYTE + ">" + FOUND,
        "a tag name of 5 MB must not be stored for ever",
    ),
    _page(
        "giant-title",
        lambda: "<title>" + "very long " * 500_000 + "</title>" + FOUND,
        "a title of 5 MB must not end up in the database or on a screen",
    ),
    _page(
        "comment-never-closed",
        lambda: FOUND + "<!--" + "- " * 2_500_000,
        "looking for the end of the comment must not start again and again",
    ),
    _page(
        "comment-starts",
        lambda: FOUND + "<!--<!-" * 500_000,
        "comments that seem to start again must not take quadratic time",
    ),
    _page(
        "script-never-closed",
        lambda: FOUND + "<script>" + "if (a < b) '</scrip';\n" * 200_000,
        "an open script must not take quadratic time",
    ),
    _page(
        "script-double-escaped",
        lambda: FOUND + "<script><!--<script>" + "</script><script>" * 100_000,
        "scripts in comments in scripts must not take quadratic time",
    ),
    _page(
        "textarea-never-closed",
        lambda: FOUND + "<textarea><title><plaintext>" + "<a href=/hidden>" * 100_000,
        "links inside text are no links",
    ),
    _page(
        "open-angle-brackets",
        lambda: FOUND + "<" * 3 * MEGABYTE,
        "each < could be a tag; none is",
    ),
    _page(
        "open-quotes",
        lambda: FOUND + '<a href="' * 300_000,
        "each quote swallows the rest; no quadratic time",
    ),
    _page(
        "entities",
        lambda: FOUND + "&amp;&#x110000;&#0;&NotEqualTilde;&nosuch;&" * 100_000,
        "entities beyond Unicode must not raise",
    ),
    _page(
        "select-options",
        lambda: "<select>" + "<option><optgroup><select>" * 50_000 + FOUND,
        "selects in selects must not take quadratic time",
    ),
    _page(
        "unclosed-links",
        lambda: "".join(f"<a href=/l{k}>" for k in range(50_000)),
        "links never closed must not nest 50,000 deep",
    ),
    _page("templates", lambda: "<template>" * 50_000 + FOUND, "templates in templates must not overflow the stack"),
    _page("framesets", lambda: "<frameset>" * 50_000 + "<frame src=/found>", "framesets must not overflow the stack"),
    _page("empty", lambda: "", "an empty page is a page without links"),
    _page("one-line-of-text", lambda: "word " * 1_500_000, "text without markup must not be taken for a name"),
]

CHARSETS = [
    _page(
        "nul-bytes", lambda: b"\0" * MEGABYTE + FOUND.encode() + b"<a\0 href=/nul\0>\0", "NULs must not end a string"
    ),
    _page("invalid-utf-8", lambda: b"\xff\xc0\xaf\xed\xa0\x80\xf5" * 9999 + FOUND.encode(), "bad bytes must not raise"),
    _page("utf-16-without-bom", lambda: FOUND.encode("utf-16-le"), "must not raise, whatever is found"),
    _page("utf-16-label", lambda: "<meta charset=utf-16>" + FOUND, "a page that can be read as ASCII is not UTF-16"),
    _page(
        "lying-charset",
        lambda: "<title>日本</title>".encode("shift_jis") + FOUND.encode(),
        "a wrong label must not raise",
        "text/html; charset=utf-8",
    ),
    _page(
        "two-charsets",
        lambda: b"\xef\xbb\xbf<meta charset=koi8-r><title>\xc3\xa4</title>" + FOUND.encode(),
        "three statements contradict each other; one must win and none raise",
        "text/html; charset=iso-8859-1; charset=big5",
    ),
    _page(
        "utf-7-label",
        lambda: "<title>+ADw-script+AD4-alert(1)+ADw-/script+AD4-</title>" + FOUND,
        "UTF-7 must not be decoded: it smuggles markup",
        "text/html; charset=utf-7",
    ),
    _page(
        "codec-that-is-no-charset",
        lambda: b"789c" * 1000 + FOUND.encode(),
        "a label must not reach a codec that is no charset (zlib would inflate a bomb)",
        "text/html; charset=zlib_codec",
    ),
    _page("unknown-charset", lambda: FOUND, "an unknown label must not raise", "text/html; charset=klingon-1"),
    _page("charset-rubbish", lambda: FOUND, "a label is not a path", 'text/html; charset="../../etc/passwd"\';;=;'),
    _page("binary-noise", lambda: _noise(MEGABYTE), "a picture called HTML must not raise or give links to nowhere"),
    _page("pdf-as-html", lambda: b"%PDF-1.7\n" + _noise(100_000), "a PDF called HTML is read as a poor page"),
    _page("surrogates", lambda: "<a href='/&#xD800;&#xDFFF;x'>x</a>" + FOUND, "half a surrogate pair must not raise"),
    _page("bidi-and-zero-width", lambda: "<title>a\u202ecod.exe\u200b\ufeff</title>" + FOUND, "must not fool a screen"),
    _page(
        "combining-marks", lambda: "<title>" + "Z" + "\u0301" * 200_000 + "</title>" + FOUND, "must not stall a screen"
    ),
]

LINKS = [
    _page(
        "refresh-to-itself",
        lambda: "<meta http-equiv=refresh content='0; url=/refresh-to-itself'>" + FOUND,
        "a refresh must not be followed for ever",
    ),
    _page("base-javascript", lambda: "<base href='javascript:alert(1)//'>" + FOUND, "no link may become javascript:"),
    _page("base-data", lambda: "<base href='data:text/html,'>" + FOUND, "no link may become data:"),
    _page("base-other-host", lambda: "<base href='http://other.test/'>" + FOUND, "links leave the host: scope decides"),
    _page(
        "base-private",
        lambda: "<base href='http://127.0.0.1/'>" + FOUND,
        "must not lead the crawler to its own machine",
    ),
    _page(
        "giant-href", lambda: _links("/" + "x" * MEGABYTE, "/?" + "y=1&" * 250_000), "no URL of 1 MB in the frontier"
    ),
    _page(
        "many-links",
        lambda: "".join([f"<a href=/many/{k}>{k}</a>\n" for k in range(200_000)]),
        "the number of links per page is bounded",
    ),
    _page("same-link-often", lambda: FOUND * 200_000, "a link 200,000 times is one link"),
    _page(
        "other-schemes",
        lambda: _links(
            "file:///etc/passwd",
            "javascript:alert(1)",
            "data:text/html,<a href=/x>",
            "gopher://x.test/",
            "ftp://x.test/",
            "mailto:a@x.test",
            "blob:http://x.test/1",
            "view-source:http://x.test/",
            "jar:http://x.test/a!/b",
            " JaVaScRiPt:alert(1)",
            "java\nscript:alert(1)",
        ),
        "nothing but http and https is followed; no file is read",
    ),
    _page(
        "private-addresses",
        lambda: _links(
            "http://127.0.0.1:22/",
            "http://localhost/",
            "http://10.0.0.1/",
            "http://192.168.1.1/",
            "http://169.254.169.254/latest/meta-data/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[fe80::1]/",
            "http://0/",
            "http://0x7f.1/",
            "http://2130706433/",
            "http://0177.0.0.1/",
            "http://127。0。0。1/",
        ),
        "no connection to a private address, however it is written",
    ),
    _page(
        "credentials",
        lambda: _links("http://user:secret@hostile.test/found", "http://hostile.test@other.test/", "http://a:b@c@d/"),
        "no password is sent or stored; the host is the text after the last @",
    ),
    _page(
        "international-names",
        lambda: _links(
            "http://münchen.test/",
            "http://xn--mnchen-3ya.test/",
            "http://xn--.test/",
            "http://xn--a-ecp.test/",
            "http://раураl.test/",
            "http://" + "ü" * 300 + ".test/",
            "http://a\u00adb.test/",
            "http://☃.test/",
            "http://a\u3002b.test/",
        ),
        "names are mapped to ASCII once; broken Punycode must not raise",
    ),
    _page(
        "control-characters",
        lambda: _links(
            "/fo\tu\nnd", "/a\r\nHost: evil.test\r\n\r\n", "\x00\x1f/found\x7f", "/\x0b\x0c", "h\nttp://x.test/"
        ),
        "no line break from a link may reach a request",
    ),
    _page(
        "backslashes",
        lambda: _links("\\\\other.test\\x", "http:\\\\other.test\\x", "/\\other.test", "..\\..\\found"),
        "a backslash is a slash, so these are other hosts",
    ),
    _page(
        "percent-encoded-paths",
        lambda: _links("/%2e%2e/%2E%2e/found", "/a%2fb", "/a%00b", "/%", "/%zz", "/%25%32%35", "/%c0%ae%c0%ae/"),
        "dots resolve, encoded slashes do not; nothing is decoded twice",
    ),
    _page(
        "odd-ports",
        lambda: _links(
            "http://x.test:0/", "http://x.test:65536/", "http://x.test:-1/", "http://x.test:/", "http://x.test:22/"
        ),
        "a port that is none must not raise",
    ),
    _page(
        "not-urls",
        lambda: _links(
            "http://", "http:///", "//", "///x", "http://[", "http://[::g]/", "http:?", "http://a b/", "://", "?#"
        ),
        "what is no URL is no link, and must not raise",
    ),
    _page(
        "srcdoc", lambda: "<iframe srcdoc='&lt;a href=/inner>'></iframe>" * 9999 + FOUND, "no parser inside the parser"
    ),
    _page(
        "deep-path", lambda: _links("a/" * 500, "../" * 5000 + "found", "/." * 900), "dots are resolved in linear time"
    ),
    _page(
        "script-in-texts",
        lambda: "<title><script>alert(1)</script></title><a href=/found>&lt;img src=x onerror=alert(1)></a>",
        "no content of a page may run when it is displayed",
    ),
    _page(
        "terminal-escapes",
        lambda: "<title>\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b31m</title>" + FOUND,
        "no escape sequence may reach a terminal",
    ),
    _page(
        "formulas",
        lambda: "<title>=cmd|'/c calc'!A0</title><meta name=description content='@SUM(1)'>" + FOUND,
        "exports must not hand formulas to a spreadsheet unescaped",
    ),
]

PAGES = [*STRUCTURE, *CHARSETS, *LINKS]
