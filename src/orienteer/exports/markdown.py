"""Markdown: a folder with a folder a host, and in it a file a page, with what is known of it in front; for retrieval
and for language models.

    ---
    url: "http://a.org/visit"
    title: "Visit us"
    ---

    # Visit us

    Open every day, but for [holidays](http://a.org/holidays).

Headings, lists, tables, code, links, images and quotes are those of the page. What it says is text, and nothing else:
whatever Markdown, HTML or YAML would obey is escaped. File names are made of the path and a hash of the URL, of letters
that every system takes, and lead nowhere else.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from orienteer.exports.exported_crawl import ExportedCrawl
from orienteer.exports.exporter import Exporter, Written, exporter
from orienteer.exports.jsonl import as_object
from orienteer.exports.markdown_blocks import markdown_of
from orienteer.exports.markdown_text import escaped
from orienteer.exports.page_texts import TextPage, pages_with_bodies
from orienteer.exports.staging import MARK, Staging
from orienteer.extract.blocks import HEADING
from orienteer.extract.page import Page
from orienteer.progress import Progress
from orienteer.search.page_reading import encodable
from orienteer.url import host_of

_MAX_NAME_CHARS = 80
_BODY_FIELDS = ("text", "headings")

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
# What JSON leaves as it is and YAML does not take between quotes, or takes for the end of a line.
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


@exporter
class Markdown(Exporter):
    name = "markdown"
    about = "pages with their texts, a folder of Markdown files with front matter"
    suffixes = ("-markdown",)
    is_folder = True

    def __init__(self, full_text: bool = False) -> None:
        """With the full text, a page is all that stands on it, not its main text alone."""
        self._full_text = full_text

    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        wanted = crawl.distinct(archived=True)
        hosts: set[Path] = set()
        for page, body in pages_with_bodies(crawl, wanted, self._full_text, markdown_body):
            path = staging.main / file_name(page.url)
            if path.parent not in hosts:
                path.parent.mkdir(exist_ok=True)
                hosts.add(path.parent)
            path.write_text(document(page, body or ""), encoding="utf-8", newline="\n")
        n_pages = int(wanted.sum())
        (staging.main / MARK).write_text(json.dumps({"format": self.name, "n_pages": n_pages}) + "\n")
        return Written(n_pages)


def file_name(url: str) -> Path:
    """`a.org/visit-us-0f1e2d3c4b.md`: of the host and the path, and of a hash, since other URLs may look alike."""
    path = url.partition("://")[2].partition("/")[2]
    name = _safe(re.sub(r"\.(html?|php|aspx?)(?=$|\?)", "", path)) or "index"
    mark = hashlib.blake2b(url.encode(errors="replace"), digest_size=6).hexdigest()
    return Path(_safe(host_of(url)) or "host", f"{name}-{mark}.md")


def _safe(text: str) -> str:
    return _UNSAFE.sub("-", text)[:_MAX_NAME_CHARS].strip(".-_")


def markdown_body(page: Page) -> str:
    """What a page says as Markdown. A page without a heading of the first level has its title as one."""
    body = encodable(markdown_of(page.blocks, page.base))
    has_title = any(block.kind == HEADING and block.level == 1 for block in page.blocks)
    title = "" if has_title else escaped(encodable(page.title))
    return f"# {title}\n\n{body}" if title else body


def document(page: TextPage, body: str) -> str:
    """The page as a file: front matter, and what it says."""
    head = {name: value for name, value in as_object(page).items() if name not in _BODY_FIELDS}
    lines = ["---", *(f"{name}: {yaml_value(value)}" for name, value in head.items()), "---", ""]
    return "\n".join(lines) + "\n" + body


def yaml_value(value: Any) -> str:
    """A value as YAML reads it: JSON, with what YAML would stumble over escaped."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{yaml_value(name)}: {yaml_value(each)}" for name, each in value.items()) + "}"
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and "." not in text:
        return text.replace("e", ".0e")  # or it is text to readers of YAML 1.1
    return _NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
