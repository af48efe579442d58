"""JSON lines: one page per line, with its text and properties, for retrieval and language models.

    {"url": "http://a.org/", "title": "Home", "text": "Welcome", "language": "en", "fetched_at": "2026-01-31T18:05:09Z",
     "local_rank": 0.12, ...}

The fields are those of a TextPage; unknown values are left out. `text` is the main text of the page.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from orienteer.exports.exported_crawl import ExportedCrawl
from orienteer.exports.exporter import Exporter, Written, exporter, packed
from orienteer.exports.page_texts import TextPage, iso_time, text_pages
from orienteer.exports.staging import Staging
from orienteer.files.compressed import byte_writer
from orienteer.progress import Progress

_FIELDS = tuple(field.name for field in fields(TextPage))


@exporter
class JsonLines(Exporter):
    name = "jsonl"
    about = "pages with their texts, one JSON object per line"
    suffixes = packed(".jsonl")

    def __init__(self, full_text: bool = False) -> None:
        """`full_text`: add the text of the whole page, with boilerplate."""
        self._full_text = full_text

    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        selected = crawl.distinct(archived=True)
        with byte_writer(staging.main, staging.name) as out:
            for page in text_pages(crawl, selected, self._full_text):
                out.write(as_line(as_object(page)))
        return Written(int(selected.sum()))


def as_object(page: TextPage) -> dict[str, Any]:
    """Return a page as a JSON object, without unknown, false and empty values."""
    values = {name: getattr(page, name) for name in _FIELDS}
    values["fetched_at"] = iso_time(page.fetched_at)
    return {name: value for name, value in values.items() if value is not False and value not in (None, [], {})}


def as_line(values: dict[str, Any]) -> bytes:
    """Encode a line of JSON."""
    # Some readers, such as str.splitlines, break lines at these characters.
    line = json.dumps(values, ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return line.replace("\x85", "\\u0085").encode() + b"\n"
