"""Sitemaps in all formats, broken ones and hostile ones."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.responses.sitemaps import MAX_ENTRIES, MAX_SITEMAP_BYTES, SitemapUrls, sitemap_urls
from orienteer.url import canonical_url
from tests.tables import over_rows

URL = "https://example.org/maps/sitemap.xml"
NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def urls(content: str | bytes) -> SitemapUrls:
    return sitemap_urls(content.encode() if isinstance(content, str) else content, URL)


def pages(content: str | bytes) -> list[str]:
    parsed = urls(content)
    assert parsed.sitemaps == []
    return [page.removeprefix("https://example.org/") for page in parsed.pages]


def urlset(*locations: str, root: str = "urlset") -> str:
    return f"<{root}>" + "".join(f"<url><loc>{location}</loc></url>" for location in locations) + "</urlset>"


def test_a_sitemap_lists_pages():
    assert urls(
        f"""<?xml version="1.0" encoding="UTF-8"?>
        <!-- made by hand -->
        <urlset xmlns="{NAMESPACE}">
           <url>
              <loc>https://example.org/</loc>
              <lastmod>2005-01-01</lastmod>
              <changefreq>monthly</changefreq>
              <priority>0.8</priority>
           </url>
           <url><loc>
              https://example.org/catalog?item=12&amp;desc=vacation_hawaii
           </loc></url>
           <url><loc><![CDATA[HTTPS://EXAMPLE.org:443/a&b]]></loc></url>
           <url><loc>https://example.org/%C3%A4#part</loc></url>
           <url><loc>https://example.org/ä</loc></url>
           <url><loc>/x?utm_source=map</loc></url>
        </urlset>"""
    ) == SitemapUrls(
        [
            "https://example.org/",
            "https://example.org/catalog?item=12&desc=vacation_hawaii",
            "https://example.org/a&b",
            "https://example.org/%C3%A4",
            "https://example.org/x",
        ],
        [],
    )


def test_an_index_lists_sitemaps():
    assert urls(
        f"""<?xml version='1.0'?><sitemapindex xmlns='{NAMESPACE}'>
        <sitemap><loc>https://example.org/1.xml.gz</loc><lastmod>2004-10-01T18:23:17+00:00</lastmod></sitemap>
        <sitemap><loc>2.xml</loc></sitemap></sitemapindex>"""
    ) == SitemapUrls([], ["https://example.org/1.xml.gz", "https://example.org/maps/2.xml"])


@over_rows(
    "document",
    [
        "<urlset><url><loc>/a</loc></url></urlset>",
        f"<urlset xmlns='{NAMESPACE}'><url><loc>/a</loc></url></urlset>",
        "<urlset xmlns='http://www.google.com/schemas/sitemap/0.84'><url><loc>/a</loc></url></urlset>",
        f"<s:urlset xmlns:s='{NAMESPACE}'><s:url><s:loc>/a</s:loc></s:url></s:urlset>",
        "<s:urlset><s:url><s:loc>/a</s:loc></s:url></s:urlset>",
        "\n \ufeff <?xml version='1.0'?>\n<urlset><url><loc>/a</loc></url></urlset>",
        "<?xml version='1.0' encoding='windows-1252'?><urlset><url><loc>/a</loc></url></urlset>",
        "<?xml version='1.0' encoding='gb2312'?><urlset><url><loc>/a</loc></url></urlset>",
        "<?xml version='1.0' encoding='made-up'?><urlset><url><loc>/a</loc></url></urlset>",
        "<?xml-stylesheet href='x.xsl'?><!DOCTYPE urlset SYSTEM 'x.dtd'><urlset><url><loc>/a</loc></url></urlset>",
        "<URLSET><url><loc>/a</loc></url></URLSET>",
    ],
)
def test_namespaces_prefixes_and_encodings_do_not_matter(document):
    assert pages(document) == ["a"]


@over_rows("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "gb18030", "shift_jis"])
def test_encodings(encoding):
    declared = "" if encoding.startswith("utf") else f"<?xml version='1.0' encoding='{encoding}'?>"
    title = {"latin-1": "Übung", "gb18030": "导航", "shift_jis": "ソ能表"}.get(encoding, "Übung ソ")
    assert pages(f"{declared}<urlset><url><title>{title}</title><loc>/a</loc></url></urlset>".encode(encoding)) == ["a"]


def test_images_videos_and_translations_are_no_pages():
    assert pages(
        f"""<urlset xmlns="{NAMESPACE}" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"
            xmlns:xhtml="http://www.w3.org/1999/xhtml">
        <url><loc>/a</loc><image:image><image:loc>/a.png</image:loc></image:image>
        <video:video><video:content_loc>/a.mp4</video:content_loc></video:video>
        <xhtml:link rel="alternate" hreflang="de" href="/de/a"/></url><url><loc>/b</loc></url></urlset>"""
    ) == ["a", "b"]


def test_the_links_of_an_rss_feed():
    assert pages(
        """<?xml version="1.0"?><!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://example.org/rss-0.91.dtd">
        <rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>News &nbsp;</title>
        <link>https://example.org/news</link><atom:link href="https://example.org/feed" rel="self"/>
        <item><title>A</title><link>/a</link><guid>1</guid></item><item><link><![CDATA[/b]]></link></item>
        </channel></rss>"""
    ) == ["news", "a", "b"]
    assert pages("<rdf:RDF xmlns='http://purl.org/rss/1.0/'><item><link>/a</link></item></rdf:RDF>") == ["a"]


def test_the_links_of_an_atom_feed():
    assert pages(
        """<feed xmlns="http://www.w3.org/2005/Atom"><link href="/" /><link rel="self" href="/feed"/>
        <entry><link rel="alternate" type="text/html" href="/a"/><link rel="enclosure" href="/a.mp3"/></entry>
        <entry><link href="/b">/c</link><link/></entry></feed>"""
    ) == ["", "a", "b"]


def test_a_text_file_names_one_page_a_line():
    text = "https://example.org/a\r\nhttp://other.org/b\n\n  \nhttps://example.org/ä b\nsee https://example.org/c\n/d\n#e\n"
    assert pages(text) == ["a", "http://other.org/b", "%C3%A4"]
    assert pages("\ufeff\n" + text) == pages(text) == pages(text.replace("\r\n", "\r"))


@over_rows(
    "packed",
    [
        gzip.compress,
        lambda content: gzip.compress(content[:20]) + gzip.compress(content[20:]),
        lambda content: gzip.compress(b"") + gzip.compress(content) + b"and more",
        lambda content: gzip.compress(content)[:-8],
    ],
)
@over_rows("content", [urlset("/a", "/b").encode(), b"https://example.org/a\nhttps://example.org/b\n"])
def test_gzipped_content_is_unpacked(packed: Callable[[bytes], bytes], content):
    assert pages(packed(content)) == ["a", "b"]


def test_an_unknown_encoding_that_is_declared_late_is_no_error():
    content = b"<?xml version='1.0' encoding='gb2312'?>" + urlset("/a").encode()
    for n in range(1, len(content)):
        assert pages(gzip.compress(content[:n]) + gzip.compress(content[n:])) in ([], ["a"])


def test_a_long_gzipped_sitemap_is_read_to_its_end():
    paths = [f"/{k}" for k in random.Random(1).sample(range(10**9), 30_000)]
    assert pages(gzip.compress(urlset(*paths).encode(), 1)) == [path[1:] for path in paths]


@over_rows(
    "broken",
    [
        urlset("/a", "/b")[:-12],
        urlset("/a", "/b") + "<urlset>" + urlset("/c"),
        urlset("/a", "/b", "/c&d", "/e"),
        urlset("/a", "/b", "/c<d", "/e"),
        urlset("/a", "/b", "&undefined;", "/e"),
        urlset("/a", "/b", "/\0", "/e"),
        urlset("/a", "/b").replace("</urlset>", "</url><url><loc>/e</loc></url>"),
        urlset("/a", "/b").encode() + b"<\xff\xfe",
        urlset("/a", "/b", "http://[", "mailto:x", "", "   ", "/" + "x" * 5000),
        urlset("/a", "/b", "/" + "x" * 100_000, "/c"),
    ],
)
def test_urls_before_a_syntax_error_count(broken):
    assert pages(broken) == ["a", "b"]


def test_urls_before_broken_gzip_count():
    packed = gzip.compress(urlset(*(f"/{k}" for k in random.Random(1).sample(range(10**9), 30_000))).encode())
    for broken in (packed[: len(packed) // 2], packed[: len(packed) // 2] + b"\xff" * 1000):
        n_pages = len(pages(broken))
        assert 10_000 < n_pages < 20_000


@over_rows(
    "content",
    [
        "",
        "<",
        "<html><body><a href='/a'>not found</a><loc>/a</loc></body></html>",
        "<!DOCTYPE html>\n<html><link href='/a'></html>",
        "<loc>/a</loc>",
        "{'urls': ['https://example.org/a']}",
        "no such page",
        b"\x1f\x8b",
        b"\x1f\x8b\x08" + b"\xff" * 100,
        b"\xff\xfe",
        b"\x89PNG\r\n\x1a\n",
        "\n" * 200_000 + "<urlset>",
    ],
)
def test_other_files_have_no_urls(content):
    assert urls(content) == SitemapUrls([], [])


def test_no_more_entries_than_the_protocol_allows():
    paths = [f"/{k}" for k in range(MAX_ENTRIES + 10)]
    assert len(pages(urlset(*paths))) == MAX_ENTRIES
    assert pages(urlset(*paths))[-1] == str(MAX_ENTRIES - 1)
    assert len(pages("\n".join("https://example.org" + path for path in paths))) == MAX_ENTRIES
    assert len(urls(urlset(*paths).replace("urlset", "sitemapindex")).sitemaps) == MAX_ENTRIES


# Hostile ones. Each would take minutes, or gigabytes, where something is not bounded.

ENTITIES = "".join(f"<!ENTITY e{k} '{f'&e{k - 1};' * 10}'>" for k in range(1, 12))


@pytest.mark.parametrize(
    "hostile",
    [
        f"<!DOCTYPE urlset [<!ENTITY e0 'ha'>{ENTITIES}]>" + urlset("/&e11;"),
        "<!DOCTYPE urlset [<!ENTITY e SYSTEM 'file:///etc/hostname'>]>" + urlset("/&e;"),
        "<!DOCTYPE urlset [<!ENTITY % e SYSTEM 'http://127.0.0.1:9/x.dtd'>%e;]>" + urlset("/a"),
        f"<!DOCTYPE urlset [<!ATTLIST url a CDATA '{'x' * 100_000}'>]>" + urlset(*["/a"] * 10_000),
    ],
)
def test_declarations_end_parsing(hostile):
    assert pages(hostile) == []


@over_rows(
    "hostile",
    [
        "<a>" * 1_000_000,
        "<url>" * 100 + "<loc>/c</loc>",
        "<a/>" * 2_000_000 + "<loc>/c</loc>",
        "<!--" + "x" * 1_000_000 + "--><loc>/c</loc>",
        "<a " + " ".join(f"a{k}=''" for k in range(200_000)) + "/><loc>/c</loc>",
        ("<a " + " ".join(f"a{k}=''" for k in range(10_000)) + "/>") * 200 + "<loc>/c</loc>",
        "<loc>" + "&#120;" * 1_000_000 + "</loc><loc>/c</loc>",
        "<loc/>" * MAX_ENTRIES + "<loc>/c</loc>",
    ],
    ids=lambda hostile: hostile[:20],
)
def test_deep_long_and_many_elements_end_parsing(hostile):
    assert pages(f"<urlset><loc>/a</loc><loc>/b</loc>{hostile}") == ["a", "b"]


@over_rows(
    "content",
    [
        lambda: b"\0" * (MAX_SITEMAP_BYTES + 1000),
        lambda: b"http:// " * (MAX_SITEMAP_BYTES // 8),
        lambda: b"<urlset>" + b"x" * MAX_SITEMAP_BYTES,
        lambda: b"<urlset><loc>" + b"\n" * MAX_SITEMAP_BYTES,
        lambda: random.Random(1).randbytes(MAX_SITEMAP_BYTES),
        lambda: gzip.compress(bytes(2 * MAX_SITEMAP_BYTES), 1),
        lambda: gzip.compress(b"") * 100_000,
    ],
)
def test_fifty_megabytes_of_garbage_have_no_urls(content: Callable[[], bytes]):
    assert urls(content()) == SitemapUrls([], [])


def test_no_more_bytes_are_unpacked_than_the_protocol_allows():
    filler = b" " * MAX_SITEMAP_BYTES
    assert pages(gzip.compress(b"<urlset><loc>/a</loc>" + filler + b"<loc>/b</loc>", 1)) == ["a"]
    assert pages(b"<urlset><loc>/a</loc>" + filler + b"<loc>/b</loc>") == ["a"]


pieces = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "<urlset>",
                "<url>",
                "<loc>",
                "</loc>",
                "</url>",
                "</urlset>",
                "<sitemapindex>",
                "<rss>",
                "<link>",
                "</link>",
            ]
        ),
        st.sampled_from(
            ["<feed>", "<link href='x'/>", "<!DOCTYPE a", "[", "]>", "<![CDATA[", "]]>", "&amp;", "&x;", "<!--"]
        ),
        st.sampled_from(
            ["http://a.org/b", "/c", "\n", "\ufeff", "<?xml version='1.0' encoding='", "utf-16'?>", "latin1'?>"]
        ),
        st.text(max_size=5),
    )
).map("".join)
contents = st.one_of(st.binary(), pieces.map(lambda text: text.encode("utf-8", "surrogatepass")))


@given(
    contents,
    st.sampled_from([bytes, gzip.compress, zlib.compress, lambda content: gzip.compress(content)[:-9]]),
    st.booleans(),
)
def test_arbitrary_content_gives_only_canonical_urls(content, packed, has_url):
    parsed = sitemap_urls(packed(content), URL if has_url else "no url")
    assert all(canonical_url(url) == url for url in (*parsed.pages, *parsed.sitemaps))
    assert len(set(parsed.pages)) == len(parsed.pages)
    assert not parsed.pages or not parsed.sitemaps


@given(
    st.lists(
        st.text("abc/?=&ä ", min_size=1, max_size=12).map(lambda path: canonical_url("https://example.org/" + path)),
        unique=True,
    )
)
def test_round_trip(written):
    escaped = [url.replace("&", "&amp;") for url in written]
    assert urls(urlset(*escaped)).pages == urls("\n".join(written)).pages == written
