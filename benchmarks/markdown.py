"""Markdown of pages: what survives, and what it costs.

Round trips: Markdown documents made at random, rendered to HTML by markdown-it, extracted, written as Markdown and
rendered again. An element survives if it is there with all it says: a heading with its level, code with its language
and each line, a table with each cell, an item with its list, number and depth, a link with its target. In a page, the
document is surrounded by menus, a sidebar and a footer.

Code of real pages: each `pre` of every twentieth page of the 36 documentation hosts, as lxml sees it, must be a block
of code of the Markdown, line by line. Time is CPU time a page, on every fifth of them.
"""

from __future__ import annotations

import io
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from benchmarks.extraction import ARCHIVE, over_pages
from benchmarks.markdown_documents import documents, seen
from benchmarks.measure import machine, measured, table
from benchmarks.sizes import sized
from orienteer.files.compressed import zstd

N_DOCUMENTS = sized(200, 2)
CODE_ONE_OF = sized(20, 1)  # pages whose code is compared; 1 compares all, which takes minutes
URL = "http://example.org/dir/"
TEMPLATE = """<!doctype html><html lang=en><head><title>A page</title><style>p {{ margin: 0 }}</style></head><body>
<header><a href=/><img src=/logo.png alt=Logo></a><nav class=menu><ul><li><a href=/a>Menu one</a><li><a href=/b>Menu two
</a><ul><li><a href=/c>Menu three</a></ul></ul></nav></header><div class=wrapper><aside><h3>Related</h3><table><tr><td>
<a href=/d>Aside</a></table></aside><main id=content><article>{body}</article></main></div><footer><p>Footer<br>© 2026
</footer><script>document.write("<p>no</p>")</script></body></html>"""


def survived(document: str, template: str = "{body}") -> tuple[Counter[str], Counter[str]]:
    """How many elements a document has of each kind, and how many of them survive."""
    from markdown_it import MarkdownIt

    from orienteer.exports.markdown_blocks import markdown_of
    from orienteer.extract.page import extract_page

    renderer = MarkdownIt("commonmark", {"html": False}).enable("table")
    html = renderer.render(document)
    page = extract_page(template.format(body=html).encode(), URL, with_blocks=True)
    expected, found = seen(html), seen(renderer.render(markdown_of(page.blocks, page.base)))
    n_all: Counter[str] = Counter()
    n_found: Counter[str] = Counter()
    for element, n in expected.items():
        n_all[element[0]] += n
        n_found[element[0]] += min(n, found[element])
    return n_all, n_found


def code_of(html: bytes) -> Iterator[str]:
    """The text of each `pre` of a page in UTF-8, by another parser than ours."""
    from lxml.html import HTMLParser, document_fromstring

    for pre in document_fromstring(html, parser=HTMLParser(encoding="utf-8")).iter("pre"):
        if next(pre.iterancestors("pre"), None) is None:
            for line_break in pre.iter("br"):
                line_break.tail = "\n" + (line_break.tail or "")
            text = pre.text_content().replace("\r\n", "\n").replace("\xa0", " ").removeprefix("\n").rstrip()
            if text.strip():
                yield text


def missing_code(url: str, html: bytes) -> tuple[list[str], list[str]]:
    """All blocks of code of a page, and those that its Markdown does not have."""
    from markdown_it import MarkdownIt

    from orienteer.exports.markdown_blocks import markdown_of
    from orienteer.extract.page import extract_page
    from orienteer.extract.parser import charset_of, utf8_and_text

    content, _ = utf8_and_text(html, charset_of(html))
    blocks = list(code_of(content)) if b"<pre" in content.lower() else []
    if not blocks:
        return [], []
    page = extract_page(content, url, "utf-8", with_blocks=True)
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown_of(page.blocks, page.base))
    found = Counter(token.content.rstrip("\n") for token in tokens if token.type == "fence")
    missing = []
    for block in blocks:
        found[block] -= 1
        if found[block] < 0:
            missing.append(block)
    return blocks, missing


def all_pages() -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(zstd.decompress(ARCHIVE.read_bytes()))) as files:
        for file in files:
            if file.isfile():
                yield f"http://{file.name}", files.extractfile(file).read()  # type: ignore[union-attr]


def _reading(with_blocks: bool) -> Callable[[], int]:
    from orienteer.extract.page import extract_page

    return over_pages(lambda html, url: extract_page(html, url, with_blocks=with_blocks))


def _writing() -> Callable[[], int]:
    from orienteer.exports.markdown_blocks import markdown_of
    from orienteer.extract.page import extract_page

    def work(html: bytes, url: str) -> Any:
        page = extract_page(html, url, with_blocks=True)
        return markdown_of(page.blocks, page.base)

    return over_pages(work)


def _chunking() -> Callable[[], int]:
    from orienteer.exports.chunks import chunks_of
    from orienteer.extract.page import extract_page

    def work(html: bytes, url: str) -> Any:
        page = extract_page(html, url, with_blocks=True)
        return chunks_of(page.blocks, page.base, 300)

    return over_pages(work)


def round_trips() -> str:
    rows: dict[str, list[str]] = {}
    for template in ("{body}", TEMPLATE):
        n_all: Counter[str] = Counter()
        n_found: Counter[str] = Counter()
        for document in documents(N_DOCUMENTS):
            for total, counted in zip((n_all, n_found), survived(document, template), strict=True):
                total.update(counted)
        for kind, n in n_all.items():
            rows.setdefault(kind, [kind, f"{n:,}"]).append(f"{n_found[kind] / n:.2%}")
    return table(["elements", "", "alone", "in a page"], [rows[kind] for kind in sorted(rows)])


def real_code() -> str:
    n_pages = n_blocks = n_missing = n_lines = n_missing_lines = 0
    for url, html in islice(all_pages(), 0, None, CODE_ONE_OF):
        blocks, missing = missing_code(url, html)
        n_pages += bool(blocks)
        n_blocks, n_missing = n_blocks + len(blocks), n_missing + len(missing)
        n_lines += sum(block.count("\n") + 1 for block in blocks)
        n_missing_lines += sum(block.count("\n") + 1 for block in missing)
    rows = [[f"{n_pages:,}", f"{n_blocks:,}", f"{1 - n_missing / n_blocks:.2%}", f"{n_lines:,}",
             f"{1 - n_missing_lines / n_lines:.2%}"]]  # fmt: skip
    return table(["pages with code", "blocks", "survive", "lines", "survive in them"], rows)


def costs() -> str:
    rows = []
    for name, prepare, arguments in (
        ("text alone", _reading, (False,)),
        ("blocks", _reading, (True,)),
        ("blocks and Markdown", _writing, ()),
        ("blocks and chunks", _chunking, ()),
    ):
        found = measured(prepare, *arguments, rounds=1)
        rows.append([name, f"{1e3 * found.cpu_s / found.result:.2f}"])
    return table(["read for", "CPU ms per page"], rows)


def run() -> str:
    text = f"{N_DOCUMENTS} documents. {machine('turbohtml', 'markdown-it-py', 'lxml')}\n\n{round_trips()}"
    if not ARCHIVE.is_file():
        return text + f"\nThe real pages are not here ({ARCHIVE.name}).\n"
    return f"{text}\n{real_code()}\n{costs()}"
