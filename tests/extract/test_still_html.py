"""Pages to be looked at: URLs are led elsewhere wherever they stand, and nothing is left that runs or sends."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turbohtml import parse

from orienteer.extract.led_urls import Leading, Use
from orienteer.extract.still_html import still_html
from tests.extract.pieces import mutated, random_page

PAGE = "http://h.org/d/page?x=1"
N_CASES = 200


def lead(url: str, use: Use) -> str:
    return f"/v/{use.value}/{url}"


def still(html: str, **options: bool) -> str:
    return still_html(html, PAGE, lead, **options)


@pytest.mark.parametrize(
    ("html", "wanted"),
    [
        ("<a href=x>t</a>", '<a href="/v/page/http://h.org/d/x">t</a>'),
        ("<A HREF='/x?a=1&amp;b=2#top'>", '<a href="/v/page/http://h.org/x?a=1&amp;b=2#top">'),
        ("<a href=#top>", '<a href="#top">'),
        ("<a href=//o.org/é>", '<a href="/v/page/http://o.org/%C3%A9">'),
        ("<img src=a.png alt='a \"b\"'>", '<img src="/v/part/http://h.org/d/a.png" alt="a &quot;b&quot;">'),
        ("<img src=data:image/gif;base64,R0lG>", '<img src="data:image/gif;base64,R0lG">'),
        ("<iframe src=f>no <b>frames</b></iframe>", '<iframe src="/v/frame/http://h.org/d/f"></iframe>'),
        ("<iframe src=data:text/html,x srcdoc='<img src=q onerror=x>'>",
         '<iframe srcdoc="&lt;img src=&quot;/v/part/http://h.org/d/q&quot;&gt;">'),
        ("<video poster=p src=v><source src=w><track src=t>",
         '<video poster="/v/part/http://h.org/d/p" src="/v/part/http://h.org/d/v">'
         '<source src="/v/part/http://h.org/d/w"><track src="/v/part/http://h.org/d/t">'),
        ("<object data=o></object><td background=b data=kept>",
         '<object data="/v/part/http://h.org/d/o"></object><td background="/v/part/http://h.org/d/b" data="kept">'),
        ("<svg viewBox='0 0 1 1'><use xlink:href=#i /><image href=i.png></svg>",
         '<svg viewbox="0 0 1 1"><use xlink:href="#i" /><image href="/v/part/http://h.org/d/i.png"></svg>'),
        ("<rect fill='url(#g)' mask='url(http://o.org/m.svg#m)'>",
         '<rect fill="url(&quot;#g&quot;)" mask="url(&quot;/v/part/http://o.org/m.svg#m&quot;)">'),
        ("<p style='background:url(b.png)'>",
         '<p style="background:url(&quot;/v/part/http://h.org/d/b.png&quot;)">'),
    ],
)  # fmt: skip
def test_urls_are_led(html: str, wanted: str) -> None:
    assert still(html) == wanted


@pytest.mark.parametrize(
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
def test_what_runs_or_connects_is_left_out(html: str) -> None:
    assert still(html) == ""


@pytest.mark.parametrize(
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
def test_what_is_left_of_the_rest(html: str, wanted: str) -> None:
    assert still(html) == wanted


def test_the_first_base_counts_from_where_it_stands() -> None:
    html = "<base href='/sub/'><base href=http://o.org/><a href=x>"
    assert still(html) == '<a href="/v/page/http://h.org/sub/x">'


def test_pages_that_lead_on_by_themselves_lead_into_the_archive() -> None:
    assert still("<meta http-equiv=Refresh content=\"3; URL='next'\">") == (
        '<meta http-equiv="refresh" content="3;url=/v/page/http://h.org/d/next">'
    )


def test_doctypes_stay_since_browsers_go_by_them() -> None:
    old = '<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">'
    assert still(old) == old
    assert still("<!doctype HTML>") == "<!DOCTYPE html>"
    assert still("<!doctype x>") == ""


def test_what_is_for_browsers_without_scripts_is_shown_unless_they_have_run() -> None:
    html = "<noscript><img src=n onerror=x></noscript><p>t"
    assert still(html) == '<img src="/v/part/http://h.org/d/n"><p>t'
    assert still(html, was_run=True) == "<p>t"


def test_in_xml_any_element_may_be_empty() -> None:
    html = "<script src='x'/><p>seen<br/><title/></p>"
    assert still(html, is_xml=True) == "<p>seen<br /><title></title></p>"


@pytest.mark.parametrize(
    ("srcset", "wanted"),
    [
        ("a.png", "/v/part/http://h.org/d/a.png"),
        ("a.png 1x, //o.org/b.png 2x", "/v/part/http://h.org/d/a.png 1x, /v/part/http://o.org/b.png 2x"),
        (" a,b.png 10w , c.png\n20w", "/v/part/http://h.org/d/a,b.png 10w, /v/part/http://h.org/d/c.png 20w"),
        ("data:image/gif;base64,R0 2x, a", "data:image/gif;base64,R0 2x, /v/part/http://h.org/d/a"),
        ("a.png, javascript:x 2x,", "/v/part/http://h.org/d/a.png"),
        ("a f(x, y), b", "/v/part/http://h.org/d/a f(x, y), /v/part/http://h.org/d/b"),
        (",, ,", ""),
    ],
)  # fmt: skip
def test_lists_of_pictures(srcset: str, wanted: str) -> None:
    assert Leading(PAGE, lead).led_srcset(srcset) == wanted


@pytest.mark.parametrize(
    ("css", "wanted"),
    [
        ("a{b:url(x.png)}", 'a{b:url("/v/part/http://h.org/d/x.png")}'),
        ("a{b:URL( 'x y.png' )}", 'a{b:url("/v/part/http://h.org/d/x%20y.png")}'),
        ('@import "y.css" screen;', '@import "/v/part/http://h.org/d/y.css" screen;'),
        ("@import url(y.css);", '@import url("/v/part/http://h.org/d/y.css");'),
        (r"a{b:url(x\29 y\.png)}", 'a{b:url("/v/part/http://h.org/d/x)y.png")}'),
        ("a{b:url(data:image/gif;base64,R0)}", 'a{b:url("data:image/gif;base64,R0")}'),
        ("a{b:url(javascript:x)}", 'a{b:url("")}'),
        ("@namespace url(http://www.w3.org/1999/xhtml);", "@namespace url(http://www.w3.org/1999/xhtml);"),
        ("a{b:image-set('x.png' 1x type('image/png'),url(y.png) 2x)}",
         'a{b:image-set(url("/v/part/http://h.org/d/x.png") 1x type(\'image/png\'),'
         'url("/v/part/http://h.org/d/y.png") 2x)}'),
        ("@font-face{src:url(f.woff2)format('woff2')}",
         "@font-face{src:url(\"/v/part/http://h.org/d/f.woff2\")format('woff2')}"),
        ("a{b:url('x", "a{b:url('x"),
    ],
)  # fmt: skip
def test_style_sheets(css: str, wanted: str) -> None:
    assert Leading(PAGE, lead).led_css(css) == wanted


def test_a_style_holds_no_tags_even_where_a_browser_would_look_for_some() -> None:
    html = "<svg><style><!-- a{b:url(x)} c{content:'<img src=//o.org>'} --></style>"
    assert (
        still(html) == "<svg><style> a{b:url(\"/v/part/http://h.org/d/x\")} c{content:'\\3c img src=//o.org>'} </style>"
    )


def test_hostile_style_sheets_take_no_time() -> None:
    for piece in ("image-set(", "url('", 'url("\\', "@namespace ", "@import '", "url(", "image-set((", "type("):
        Leading(PAGE, lead).led_css(piece * 20_000)
        Leading(PAGE, lead).led_srcset(piece * 20_000)


_HOLD_URLS = ("href", "xlink:href", "src", "poster", "background", "data", "longdesc", "cite")


def assert_kept_to_itself(html: str) -> None:
    """As a browser sees it: elements that another parser finds, with all rules for where they stand."""
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
                assert_kept_to_itself(text)
            if name == "style":
                assert all(url.startswith(("/v/", "data:", "#")) for url in re.findall(r'url\("([^"]+)', text)), text


def test_random_pages() -> None:
    rng = random.Random(22)
    for _ in range(N_CASES):
        html = mutated(rng, random_page(rng))
        led = still(html, was_run=rng.random() < 0.3, is_xml=rng.random() < 0.3)
        assert_kept_to_itself(led)
        led.encode(errors="replace")


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
def test_pages_made_to_get_through(html: str) -> None:
    assert_kept_to_itself(still(html))


@given(st.text(), st.text())
def test_any_reference_is_led_or_leads_nowhere(reference: str, css: str) -> None:
    leading = Leading(PAGE, lead)
    for use in Use:
        led = leading.led(reference, use)
        assert led is None or led.startswith(("/v/", "#", "data:", "about:blank")) or not led
    leading.led_srcset(reference)
    leading.led_css(css)
