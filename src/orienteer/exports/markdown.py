"""Markdown: a folder with a folder a host, and in it a file a page, with what is known of it in front; for retrieval
and for language models.

    ---
    url: "http://a.org/visit"
    title: "Visit us"
    ---

    # Visit us

    Open every day.

What a page says is text here, and nothing else: whatever Markdown, HTML or YAML would obey is escaped. File names are
made of the path and a hash of the URL, of letters that every system takes, and lead nowhere else.
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
from orienteer.exports.page_texts import TextPage, text_pages
from orienteer.exports.staging import MARK, Staging
from orienteer.progress import Progress
from orienteer.url import host_of

_MAX_NAME_CHARS = 80
_BODY_FIELDS = ("text", "headings")

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
# What JSON leaves as it is and YAML does not take between quotes, or takes for the end of a line.
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_NOT_IN_TEXT = re.compile("[\x00-\x08\x0b\x0d-\x1f\x7f]")  # the mark of a page is white space
_OBEYED = re.compile(r"[\\`*\[<~]|&(?=#?\w{1,32};)|(?<![^\W_])_|_(?![^\W_])|#$")
_OBEYED_FIRST = re.compile(r"[#+>-]|\d{1,9}(?=[.)])")


@exporter
class Markdown(Exporter):
    name = "markdown"
    about = "pages with their texts, a folder of Markdown files with front matter"
    suffixes = ("-markdown",)
    is_folder = True

    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        wanted = crawl.distinct(archived=True)
        hosts: set[Path] = set()
        for page in text_pages(crawl, wanted):
            path = staging.main / file_name(page.url)
            if path.parent not in hosts:
                path.parent.mkdir(exist_ok=True)
                hosts.add(path.parent)
            path.write_text(document(page), encoding="utf-8", newline="\n")
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


def document(page: TextPage) -> str:
    """The page as Markdown."""
    head = {name: value for name, value in as_object(page).items() if name not in _BODY_FIELDS}
    lines = ["---", *(f"{name}: {yaml_value(value)}" for name, value in head.items()), "---", ""]
    blocks = _blocks(page)
    return "\n".join(lines) + "\n" + "".join(f"{block}\n\n" for block in blocks)


def yaml_value(value: Any) -> str:
    """A value as YAML reads it: JSON, with what YAML would stumble over escaped."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{yaml_value(name)}: {yaml_value(each)}" for name, each in value.items()) + "}"
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and "." not in text:
        return text.replace("e", ".0e")  # or it is text to readers of YAML 1.1
    return _NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _blocks(page: TextPage) -> list[str]:
    """The lines of the text, each a paragraph or a heading. The title is the first heading, once."""
    headings = iter(page.headings)
    next_heading = next(headings, None)
    blocks = []
    has_title = False
    for line in page.text.split("\n"):
        if not (shown := escaped(line)):
            continue
        if line != next_heading:
            blocks.append(shown)
        else:
            next_heading = next(headings, None)
            is_title = not has_title and line == page.title
            has_title |= is_title
            blocks.append(f"# {shown}" if is_title else f"## {shown}")
    title = escaped(page.title)
    return blocks if has_title or not title else [f"# {title}", *blocks]


def escaped(line: str) -> str:
    """Text on one line that Markdown shows as it is."""
    line = " ".join(_NOT_IN_TEXT.sub("\ufffd", line).split())
    line = _OBEYED.sub(lambda found: f"\\{found[0]}", line)
    first = _OBEYED_FIRST.match(line)
    if first is None:
        return line
    # Before a figure a backslash would stand as itself; behind it, it takes the list away.
    return f"{first[0]}\\{line[first.end() :]}" if first[0].isdigit() else f"\\{line}"
