"""Static pages: all URLs are rewritten, and nothing that runs or sends remains."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st
from turbohtml import parse

from orienteer.extract.static_page import UrlRewriter, Use, static_page
from tests.extract.pieces import mutated, random_page
from tests.tables import over_rows

PAGE = "http://h.org/d/page?x=1"
N_CASES = 200


def target_of(url: str, use: Use) -> str:
    return f"/v/{use.value}/{url}"


def static(html: str, **options: bool) -> str:
    return static_page(html, PAGE, target_of, **options)


@over_rows(
    ("html", "wanted"),
    [
        ("<a href=x>t</a>", '<a href="/v/page/http://h.org/d/x">t</a>'),
        ("<A HREF='/x?a=1&amp;b=2#top'>", '<a href="/v/page/http://h.org/x?a=1&amp;b=2#top">'),
        ("<a href=#top>", '<a href="#top">'),
        ("<a href=//o.org/é>", '<a href="/v/page/http://o.org/%C3%A9">'),
        ("<img src=a.png alt='a \"b\"'>", '<img src="/v/asset/http://h.org/d/a.png" alt="a &quot;b&quot;">'),
        ("<img src=data:image/gif;base64,R0lG>", '<img src="data:image/gif;base64,R0lG">'),
        ("<iframe src=f>no <b>frames</b></iframe>", '<iframe src="/v/frame/http://h.org/d/f"></iframe>'),
        ("<iframe src=data:text/html,x srcdoc='<img src=q onerror=x>'>",
         '<iframe srcdoc="&lt;img src=&quot;/v/asset/http://h.org/d/q&quot;&gt;">'),
        ("<video poster=p src=v><source src=w><track src=t>",
         '<video poster="/v/asset/http://h.org/d/p" src="/v/asset/http://h.org/d/v">'
         '<source src="/v/asset/http://h.org/d/w"><track src="/v/asset/http://h.org/d/t">'),
        ("<object data=o></object><td background=b data=value>",
         '<object data="/v/asset/http://h.org/d/o"></object><td background="/v/asset/http://h.org/d/b" data="value">'),
        ("<svg viewBox='0 0 1 1'><use xlink:href=#i /><image href=i.png></svg>",
         '<svg viewbox="0 0 1 1"><use xlink:href="#i" /><image href="/v/asset/http://h.org/d/i.png"></svg>'),
        ("<rect fill='url(#g)' mask='url(http://o.org/m.svg#m)'>",
         '<rect fill="url(&quot;#g&quot;)" mask="url(&quot;/v/asset/http://o.org/m.svg#m&quot;)">'),
        ("<p style='background:url(b.png)'>",
         '<p style="background:url(&quot;/v/asset/http://h.org/d/b.png&quot;)">'),
    ],
)  # fmt: skip
def test_urls_are_rewritten(html: str, wanted: str) -> None:
    assert static(html) == wanted


@over_rows(
    "html",
    [
        "<script>alert('</p>')</script>", "<script src=x></script>", '<script type=importmap>{"imports":{}}</script>',
        "<script type=speculationrules>{}</script>", "<!-- comment -->", "<!--[if IE]><p>old<![endif]-->", "<?php x ?>",
        "<link rel=preconnect href=//o.org>", "<link rel='dns-prefetch' href=//o.org>",
        "<link rel=preload href=x as=font>",
        "<link rel=prefetch href=x>", "<link rel=manifest href=x>", "<link rel=modulepreload href=x>", "<link href=x>",
        "<meta http-equiv=Content-Security-Policy content='upgrade-insecure-requests'>",
        "<meta http-equiv=x-dns-prefetch-control content=on>", "<meta charset=utf-16>",
        "<meta name=referrer content=x>",
        "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>", "<base href=http://o.org/ target=_top>",
        "<portal src=x>", "<a\x00b href=x>",
    ],
)  # fmt: skip
def test_active_content_is_removed(html: str) -> None:
    assert static(html) == ""


@over_rows(
    ("html", "wanted"),
    [
        ("<a href=javascript:alert(1) onclick=x target=_blank ping=//o.org download>t", "<a>t"),
        ("<a href=' java\nscript:alert(1)'>t", "<a>t"),
        ("<a href=data:text/html,x>t", "<a>t"),
        ("<a href='http://['>t", "<a>t"),
        ("<img src=file:///etc/passwd crossorigin=use-credentials attributionsrc=//o.org>", "<img>"),
        ("<form action=//o.org method=post><button formaction=//o.org>go", "<form><button>go"),
        ("<body onload=x bgcolor=red>", '<body bgcolor="red">'),
        ("<set attributeName=href to=http://o.org>", '<set attributename="href">'),
        ("<svg><style><link rel=preconnect href=//o.org></style>",
         "<svg><style>\\3c link rel=preconnect href=//o.org></style>"),
        ("<xmp><b>x</b></xmp>", "<pre>&lt;b&gt;x&lt;/b&gt;</pre>"),
        ("<plaintext><b>x</b>", "<pre>&lt;b&gt;x&lt;/b&gt;"),
        ("a < b &lt;script&gt; \x00", "a &lt; b &lt;script&gt; \ufffd"),
        ("<textarea>&lt;/textarea&gt;<b></textarea>", "<textarea>&lt;/textarea&gt;&lt;b&gt;</textarea>"),
    ],
)  # fmt: skip
def test_other_elements_are_cleaned(html: str, wanted: str) -> None:
    assert static(html) == wanted


def test_the_first_base_counts_from_its_position() -> None:
    html = "<base href='/sub/'><base href=http://o.org/><a href=x>"
    assert static(html) == '<a href="/v/page/http://h.org/sub/x">'


def test_a_page_in_an_attribute_has_a_base_of_its_own() -> None:
    html = "<iframe srcdoc='<base href=/sub/><img src=x>'></iframe><img src=x>"
    assert target_of("http://h.org/sub/x", Use.ASSET) in static(html)
    assert static(html).endswith('<img src="/v/asset/http://h.org/d/x">')


def test_late_images_are_rewritten() -> None:
    html = "<img data-src=x data-srcset='y 2x' data-name=z>"
    x, y = (target_of(f"http://h.org/d/{name}", Use.ASSET) for name in "xy")
    assert static(html) == f'<img data-src="{x}" data-srcset="{y} 2x" data-name="z">'


def test_refreshes_are_rewritten() -> None:
    assert static("<meta http-equiv=Refresh content=\"3; URL='next'\">") == (
        '<meta http-equiv="refresh" content="3;url=/v/page/http://h.org/d/next">'
    )


def test_doctypes_are_retained() -> None:
    old = '<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">'
    assert static(old) == old
    assert static("<!doctype HTML>") == "<!DOCTYPE html>"
    assert static("<!doctype x>") == ""


def test_noscript_stays_unless_scripts_have_run() -> None:
    html = "<noscript><img src=n onerror=x></noscript><p>t"
    assert static(html) == '<img src="/v/asset/http://h.org/d/n"><p>t'
    assert static(html, scripts_have_run=True) == "<p>t"


def test_in_xml_any_element_may_be_empty() -> None:
    html = "<script src='x'/><p>seen<br/><title/></p>"
    assert static(html, is_xml=True) == "<p>seen<br /><title></title></p>"


@over_rows(
    ("srcset", "wanted"),
    [
        ("a.png", "/v/asset/http://h.org/d/a.png"),
        ("a.png 1x, //o.org/b.png 2x", "/v/asset/http://h.org/d/a.png 1x, /v/asset/http://o.org/b.png 2x"),
        (" a,b.png 10w , c.png\n20w", "/v/asset/http://h.org/d/a,b.png 10w, /v/asset/http://h.org/d/c.png 20w"),
        ("data:image/gif;base64,R0 2x, a", "data:image/gif;base64,R0 2x, /v/asset/http://h.org/d/a"),
        ("a.png, javascript:x 2x,", "/v/asset/http://h.org/d/a.png"),
        ("a f(x, y), b", "/v/asset/http://h.org/d/a f(x, y), /v/asset/http://h.org/d/b"),
        (",, ,", ""),
    ],
)  # fmt: skip
def test_srcsets(srcset: str, wanted: str) -> None:
    assert UrlRewriter(PAGE, target_of).rewrite_srcset(srcset) == wanted


@over_rows(
    ("css", "wanted"),
    [
        ("a{b:url(x.png)}", 'a{b:url("/v/asset/http://h.org/d/x.png")}'),
        ("a{b:URL( 'x y.png' )}", 'a{b:URL( "/v/asset/http://h.org/d/x%20y.png" )}'),
        ('@import "y.css" screen;', '@import "/v/asset/http://h.org/d/y.css" screen;'),
        ("@import url(y.css);", '@import url("/v/asset/http://h.org/d/y.css");'),
        (r"a{b:url(x\29 y\.png)}", 'a{b:url("/v/asset/http://h.org/d/x)y.png")}'),
        ("a{b:url(data:image/gif;base64,R0)}", 'a{b:url("data:image/gif;base64,R0")}'),
        ("a{b:url(javascript:x)}", 'a{b:url("")}'),
        ("@namespace url(http://www.w3.org/1999/xhtml);", "@namespace url(http://www.w3.org/1999/xhtml);"),
        ("a{b:image-set('x.png' 1x type('image/png'),url(y.png) 2x)}",
         'a{b:image-set("/v/asset/http://h.org/d/x.png" 1x type(\'image/png\'),'
         'url("/v/asset/http://h.org/d/y.png") 2x)}'),
        ("@font-face{src:url(f.woff2)format('woff2')}",
         "@font-face{src:url(\"/v/asset/http://h.org/d/f.woff2\")format('woff2')}"),
        ("a{b:url('x", 'a{b:url("/v/asset/http://h.org/d/x"'),
        ("a{b:url('x' y())}", 'a{b:url("/v/asset/http://h.org/d/x" y())}'),
        ("a{b:url('x\n)}", "a{b:url('x\n)}"),
    ],
)  # fmt: skip
def test_style_sheets(css: str, wanted: str) -> None:
    assert UrlRewriter(PAGE, target_of).rewrite_css(css) == wanted


def test_a_style_has_no_tags_even_in_svg() -> None:
    html = "<svg><style><!-- a{b:url(x)} c{content:'<img src=//o.org>'} --></style>"
    assert (
        static(html)
        == "<svg><style> a{b:url(\"/v/asset/http://h.org/d/x\")} c{content:'\\3c img src=//o.org>'} </style>"
    )


def test_hostile_style_sheets_take_no_time() -> None:
    for piece in ("image-set(", "url('", 'url("\\', "@namespace ", "@import '", "url(", "image-set((", "type("):
        UrlRewriter(PAGE, target_of).rewrite_css(piece * 20_000)
        UrlRewriter(PAGE, target_of).rewrite_srcset(piece * 20_000)


def test_hostile_xml_takes_no_time() -> None:
    for piece in ("<", "a", "a/", "<a ", "<a/", " /"):
        static("<a" + piece * 100_000, is_xml=True)


_HOLD_URLS = ("href", "xlink:href", "src", "poster", "background", "data", "longdesc", "cite")


def assert_self_contained(html: str) -> None:
    """Check the elements that a standard parser finds, as a browser does."""
    for element in parse(html).find_all():
        assert element.tag not in ("script", "base", "portal", "applet"), html
        if element.tag == "link":
            assert {"stylesheet", "icon", "apple-touch-icon"} & set(str(element.attrs.get("rel")).lower().split()), html
        for name, value in element.attrs.items():
            text = str(value or "")
            assert not name.startswith("on"), html
            if name in _HOLD_URLS and (name != "data" or element.tag == "object"):
                assert text.startswith(("/v/", "#", "data:", "about:blank")) or not text, (name, text)
            if name == "srcdoc":
                assert_self_contained(text)
            if name == "style":
                assert all(url.startswith(("/v/", "data:", "#")) for url in re.findall(r'url\("([^"]+)', text)), text


def test_random_pages() -> None:
    rng = random.Random(22)
    for _ in range(N_CASES):
        html = mutated(rng, random_page(rng))
        rewrite = static(html, scripts_have_run=rng.random() < 0.3, is_xml=rng.random() < 0.3)
        assert_self_contained(rewrite)
        rewrite.encode(errors="replace")


_TAGS = st.sampled_from(
    ["a", "img", "svg", "style", "math", "mtext", "link", "meta", "iframe", "noscript", "p", "title"]
)
_VALUES = st.sampled_from(
    ["http://o.org/", "//o.org", "javascript:x", "x,y 2x", "url(//o.org)", "preconnect", "<img src=//o.org>",
     "&#106;avascript:x"]
) | st.text(max_size=10)  # fmt: skip
_NAMES = st.sampled_from(
    ["href", "src", "srcset", "style", "rel", "onload", "srcdoc", "xlink:href", "content", "http-equiv"]
)
_PIECES = st.one_of(
    st.builds(lambda tag, name, quote, value: f"<{tag} {name}={quote}{value}{quote}>",
              _TAGS, _NAMES, st.sampled_from(["", "'", '"']), _VALUES),
    _TAGS.map(lambda tag: f"</{tag}>"),
    st.sampled_from(["<![CDATA[", "]]>", "<!--", "-->", "<", ">", "\x00", "<svg><style>", "</style>", "<p/"]),
    st.text(max_size=5),
)  # fmt: skip


@given(st.lists(_PIECES, max_size=12).map("".join))
def test_hostile_pages(html: str) -> None:
    assert_self_contained(static(html))


@given(st.text(), st.text())
def test_any_reference_is_rewritten_or_removed(reference: str, css: str) -> None:
    rewriter = UrlRewriter(PAGE, target_of)
    for use in Use:
        rewrite = rewriter.rewrite(reference, use)
        assert rewrite is None or rewrite.startswith(("/v/", "#", "data:", "about:blank")) or not rewrite
    rewriter.rewrite_srcset(reference)
    rewriter.rewrite_css(css)
