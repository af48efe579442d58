"""What it costs to read a page, in CPU time, on real pages of documentation (40 kB on average, 760 elements, 98 links).

Peers get the links of `a` elements and join them to the page's URL, which gives no canonical URLs; "with text" is the
text of the whole tree. Neither knows `nofollow`, robots, frames or redirects.

Pages are read from turbohtml's tree. The rows of bare trees show what it costs by itself, in that library and in
another one; reading adds a check against pages whose tree takes thousands of times their memory.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from typing import Any
from urllib.parse import urljoin

from benchmarks.measure import NotInstalledError, is_installed, machine, measured, table
from benchmarks.sizes import DATA, sized
from orienteer.files.compressed import zstd

ARCHIVE = DATA / "dev-docs-web.tar.zst"
ONE_OF = sized(5, 1)  # pages of the archive


def pages() -> list[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(zstd.decompress(ARCHIVE.read_bytes()))) as files:
        members = [file for file in files if file.isfile()][::ONE_OF]
        return [(f"http://{file.name}", files.extractfile(file).read()) for file in members]  # type: ignore[union-attr]


def over_pages(work: Callable[[bytes, str], Any]) -> Callable[[], int]:
    found = pages()
    work(found[0][1], found[0][0])  # compiles what is to be compiled

    def run() -> int:
        for url, html in found:
            work(html, url)
        return len(found)

    return run


def charset() -> Callable[[], int]:
    from orienteer.extract.parser import charset_of, utf8_and_text

    return over_pages(lambda html, url: utf8_and_text(html, charset_of(html)))


def head() -> Callable[[], int]:
    from orienteer.extract.page import extract_page

    return over_pages(lambda html, url: extract_page(html, url, with_text=False))


def text() -> Callable[[], int]:
    from orienteer.extract.page import extract_page

    return over_pages(extract_page)


def blocks() -> Callable[[], int]:
    from orienteer.extract.page import extract_page

    return over_pages(lambda html, url: extract_page(html, url, with_blocks=True))


def after_text(work: Callable[[str], Any]) -> Callable[[], int]:
    from orienteer.extract.page import extract_page

    texts = [extract_page(html, url).text for url, html in pages()]
    work(texts[0])

    def run() -> int:
        for found in texts:
            work(found)
        return len(texts)

    return run


def signature() -> Callable[[], int]:
    from orienteer.extract.near_duplicates import bands, signature

    return after_text(lambda found: bands(signature(found) or b"\0" * 512))


def language() -> Callable[[], int]:
    from orienteer.extract.language import detected

    return after_text(detected)


def lxml_links(with_text: bool) -> Callable[[], int]:
    from lxml.html import document_fromstring

    def work(html: bytes, url: str) -> Any:
        tree = document_fromstring(html or b"<p>")
        joined = [urljoin(url, href) for href in dict.fromkeys(tree.xpath("//a/@href"))]
        return joined, tree.findtext(".//title"), tree.text_content() if with_text else None

    return over_pages(work)


def parsel_links(with_text: bool) -> Callable[[], int]:
    from parsel import Selector

    def work(html: bytes, url: str) -> Any:
        page = Selector(body=html, encoding="utf-8")
        joined = [urljoin(url, href) for href in dict.fromkeys(page.css("a::attr(href)").getall())]
        return joined, page.css("title::text").get(), page.xpath("string()").get() if with_text else None

    return over_pages(work)


def turbohtml_tree(with_links: bool, with_text: bool) -> Callable[[], int]:
    """The standard tree in C, of the library that we use; its links with texts, and the text of the page."""
    from turbohtml import PlainText, parse

    layout = PlainText(layout="strict", bullet="", table_cell_separator="\n")

    def work(html: bytes, url: str) -> Any:
        tree = parse(html, encoding="utf-8", positions=False)
        links = [(a.attr("href"), a.attr("rel"), a.text) for a in tree.iter_elements("a")] if with_links else []
        return links, tree.to_text(layout) if with_text else None

    return over_pages(work)


def lexbor_tree() -> Callable[[], int]:
    from selectolax.lexbor import LexborHTMLParser

    return over_pages(lambda html, url: LexborHTMLParser(html))


def guard() -> Callable[[], int]:
    from orienteer.extract.guard import refusal
    from orienteer.extract.parser import charset_of, utf8_and_text

    return over_pages(lambda html, url: refusal(utf8_and_text(html, charset_of(html))[0]))


CONTENDERS: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("charset and decoding, part of all below", charset, ()),
    ("that and the check before the tree, part of all below", guard, ()),
    ("links, title, head", head, ()),
    ("links, title, head, text, headings, anchors", text, ()),
    ("the same with blocks", blocks, ()),
    ("signature of the text and its bands", signature, ()),
    ("language of the text", language, ()),
    ("lxml: links, title", lxml_links, (False,)),
    ("lxml: links, title, text", lxml_links, (True,)),
    ("parsel: links, title", parsel_links, (False,)),
    ("parsel: links, title, text", parsel_links, (True,)),
    ("turbohtml: bare tree", turbohtml_tree, (False, False)),
    ("turbohtml: tree, links with texts", turbohtml_tree, (True, False)),
    ("turbohtml: tree, links with texts, text", turbohtml_tree, (True, True)),
    ("selectolax (lexbor): bare tree", lexbor_tree, ()),
]


def run() -> str:
    if not ARCHIVE.is_file():
        return f"The real pages are not here ({ARCHIVE.name}); nothing was measured.\n"
    rows, n_pages = [], 0
    for name, prepare, arguments in CONTENDERS:
        try:
            found = measured(prepare, *arguments, rounds=5)
        except NotInstalledError:
            rows.append([name, "not installed"])
            continue
        n_pages = found.result
        rows.append([name, f"{1e3 * found.cpu_s / n_pages:.3f}"])
    packages = ["turbohtml", "numba", "rensa", *filter(is_installed, ("lxml", "parsel", "selectolax"))]
    return f"{n_pages:,} pages. {machine(*packages)}\n\n" + table(["", "CPU ms per page"], rows)
