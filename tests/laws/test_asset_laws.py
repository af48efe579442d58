"""Laws of assets: all that are found in a page or a style sheet are rewritten in its archived view."""

from __future__ import annotations

from html import escape

from hypothesis import example, given
from hypothesis import strategies as st

from orienteer.extract.assets import asset_urls, css_urls
from orienteer.extract.static_page import UrlRewriter, Use, static_page
from orienteer.url import canonical_url

PAGE = "http://h.org/d/page"
HTML, XHTML = "text/html", "application/xhtml+xml"

_REFERENCES = st.sampled_from(
    ["a.png", "/b,c.png?d=1&e=2", "//o.org/é", "x y", "g.png,", " h\n", "#i", "", "data:,j", "http://[", "\x01k", "?"]
)
_CSS_PIECES = st.sampled_from(
    ["url(", "url('", "url(c\\29 .png)", "u\\rl(d)", "\\75rl(e)", ")", "(", "'", '"', "\\", "\n", " ", "a", "\\41\n",
     "/*", "*/", "@import", "@import 'f'", "@\\69mport 'g'", "@media", "image-set(", "-webkit-image-set('h' 1x", ";",
     "{", "}", "#", "1", "-", "<!--", "-->", "<![CDATA[", "é", "\x00", "</b", "type("]
)  # fmt: skip
_STYLES = st.lists(_CSS_PIECES, max_size=12).map("".join)
_SRCSETS = st.lists(
    st.sampled_from(["a", "b,c", ",", " ", "1x", "(", ")", "2w", "\n", "data:,d", "//o.org/e"]), max_size=12
).map("".join)
_TAGS = st.sampled_from(
    ["img", "image", "feImage", "use", "source", "video", "audio", "track", "embed", "object", "iframe", "frame",
     "body", "table", "td", "input type=image", "input", "link rel='x icon'", "link rel=stylesheet", "svg", "p", "a",
     "style"]
)  # fmt: skip
_STYLE_ATTRIBUTES = st.sampled_from(["style", "mask", "fill", "cursor", "marker-end"])
_URL_ATTRIBUTES = st.sampled_from(["src", "href", "xlink:href", "data-src", "poster", "data", "background", "cite"])
_SRCSET_ATTRIBUTES = st.sampled_from(["srcset", "data-srcset", "imagesrcset"])


def _tag(tag: str, attributes: list[tuple[str, str]], end: str) -> str:
    written = "".join(f' {name}="{escape(value)}"' for name, value in attributes)
    return f"<{tag}{written}{end}"


def _pages(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    attributes = st.lists(
        st.one_of(
            st.tuples(_URL_ATTRIBUTES, _REFERENCES),
            st.tuples(_SRCSET_ATTRIBUTES, _SRCSETS),
            st.tuples(_STYLE_ATTRIBUTES, _STYLES),
            st.tuples(st.just("srcdoc"), inner),
        ),
        max_size=3,
    )
    pieces = st.one_of(
        st.builds(_tag, _TAGS, attributes, st.sampled_from([">", "/>", " "])),
        _STYLES.map(lambda css: f"<style>{css}</style>"),
        _REFERENCES.map(lambda reference: f"<base href='{escape(reference)}'>"),
        inner.map(lambda page: f"<noscript>{page}</noscript>"),
        st.sampled_from(["</a>", "<!--", "-->", "<textarea>", "</textarea>", "'", '"', ">", "<", "text", "</style>"]),
    )
    return st.lists(pieces, max_size=5).map("".join)


PAGES = st.recursive(st.just("<img src=z>"), _pages, max_leaves=4)


def rewritten(html: str, is_xml: bool) -> tuple[str, set[str | None]]:
    """Return the static page and the canonical URLs that were rewritten in it."""
    urls: set[str | None] = set()

    def target_of(url: str, use: Use) -> str:
        urls.add(canonical_url(url))
        return f"http://archive.test/{use.value}/{len(urls)}"

    return static_page(html, PAGE, target_of, is_xml=is_xml), urls


@example("<noscript><noscript><img src=a>", False)
@example("<iframe srcdoc='<base href=/q/>'><img src=a>", False)
@example("<img data-src=a data-srcset='b, c 2x'><i mask='url(d)'>", False)
@example("<style>a{b:url('c", False)
@given(PAGES, st.booleans())
def test_an_asset_that_is_found_is_rewritten(html: str, is_xml: bool) -> None:
    found = asset_urls(html.encode(), PAGE, XHTML if is_xml else HTML, "utf-8")
    page, urls = rewritten(html, is_xml)
    assert set(found) <= urls
    left = asset_urls(page.encode(), "http://archive.test/", HTML, "utf-8")
    assert all(url.startswith(("http://archive.test/asset/", "http://archive.test/frame/")) for url in left)


def test_only_assets_of_dropped_elements_are_not_rewritten() -> None:
    dropped = (
        "<script src=a></script><link rel=preload href=b imagesrcset=c><link rel=modulepreload href=d>"
        "<link rel=manifest href=e><link rel=mask-icon href=f><noscript style='g:url(h)'></noscript>"
        "<portal style='g:url(i)'></portal><applet style='g:url(j)'></applet><meta style='g:url(k)'>"
    )
    assert len(asset_urls(dropped.encode(), PAGE, HTML)) == 10
    assert rewritten(dropped, is_xml=False)[1] == set()


@given(st.lists(_CSS_PIECES, max_size=25).map("".join))
def test_a_rewritten_style_sheet_has_the_same_urls_rewritten(css: str) -> None:
    page = UrlRewriter(PAGE, lambda url, _: f"http://archive.test/{url}").rewrite_css(css)
    found, left = list(css_urls(css)), list(css_urls(page))
    assert len(left) == len(found)
    assert all(url.reference.startswith(("http://archive.test/", "#", "data:")) or not url.reference for url in left)


@given(_STYLES)
def test_the_urls_of_a_style_sheet_are_the_same_in_an_element(css: str) -> None:
    found = asset_urls(f"<style>{css.replace('</', '< /')}</style>".encode(), PAGE, HTML, "utf-8")
    assert set(found) <= rewritten(f"<style>{css.replace('</', '< /')}</style>", is_xml=False)[1]
