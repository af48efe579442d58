"""Markdown: a folder per host with a file per page and front matter, for retrieval and language models.

    ---
    url: "http://a.org/visit"
    title: "Visit us"
    ---

    # Visit us

    Open every day, but for [holidays](http://a.org/holidays).

Headings, lists, tables, code, links, images and quotes are preserved. The text of the page is untrusted: Markdown, HTML
and YAML syntax in it is escaped. File names consist of the path and a hash of the URL, in portable characters and
without path separators.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from orienteer.exports.exported_crawl import ExportedCrawl
from orienteer.exports.exporter import MARKER, Exporter, Staging, Written, exporter
from orienteer.exports.markdown_blocks import escaped, markdown_of
from orienteer.exports.page_texts import TextPage, pages_with_bodies
from orienteer.exports.tables import as_object
from orienteer.extract.blocks import HEADING
from orienteer.extract.page import Page
from orienteer.progress import Progress
from orienteer.search.page_reading import encodable
from orienteer.url import host_of

_MAX_NAME_CHARS = 80
_BODY_FIELDS = ("text", "headings")

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
# Characters that JSON does not escape and YAML does not allow in quotes, or treats as line ends.
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


@exporter
class Markdown(Exporter):
    name = "markdown"
    about = "pages with their texts, a folder of Markdown files with front matter"
    suffixes = ("-markdown",)
    is_folder = True

    def __init__(self, full_text: bool = False) -> None:
        """`full_text`: write the whole page, with boilerplate."""
        self._full_text = full_text

    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        selected = crawl.distinct(archived=True)
        hosts: set[Path] = set()
        for page, body in pages_with_bodies(crawl, selected, self._full_text, markdown_body):
            path = staging.main / file_name(page.url)
            if path.parent not in hosts:
                path.parent.mkdir(exist_ok=True)
                hosts.add(path.parent)
            path.write_text(document(page, body or ""), encoding="utf-8", newline="\n")
        n_pages = int(selected.sum())
        (staging.main / MARKER).write_text(json.dumps({"format": self.name, "n_pages": n_pages}) + "\n")
        return Written(n_pages)


def file_name(url: str) -> Path:
    """Return `a.org/visit-us-0f1e2d3c4b.md`: host, path, and a hash, since similar URLs may have the same name."""
    path = url.partition("://")[2].partition("/")[2]
    name = _safe(re.sub(r"\.(html?|php|aspx?)(?=$|\?)", "", path)) or "index"
    mark = hashlib.blake2b(url.encode(errors="replace"), digest_size=6).hexdigest()
    return Path(_safe(host_of(url)) or "host", f"{name}-{mark}.md")


def _safe(text: str) -> str:
    return _UNSAFE.sub("-", text)[:_MAX_NAME_CHARS].strip(".-_")


def markdown_body(page: Page) -> str:
    """Return a page as Markdown. Its title is added as a heading if there is no first-level heading."""
    body = encodable(markdown_of(page.blocks, page.base))
    has_title = any(block.kind == HEADING and block.level == 1 for block in page.blocks)
    title = "" if has_title else escaped(encodable(page.title))
    return f"# {title}\n\n{body}" if title else body


def document(page: TextPage, body: str) -> str:
    """Return the file of a page: front matter and body."""
    head = {name: value for name, value in as_object(page).items() if name not in _BODY_FIELDS}
    lines = ["---", *(f"{name}: {yaml_value(value)}" for name, value in head.items()), "---", ""]
    return "\n".join(lines) + "\n" + body


def yaml_value(value: Any) -> str:
    """Return a value as YAML: JSON, with the characters escaped that YAML does not allow."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{yaml_value(name)}: {yaml_value(item)}" for name, item in value.items()) + "}"
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and "." not in text:
        return text.replace("e", ".0e")  # YAML 1.1 reads 1e5 as text
    return _NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
