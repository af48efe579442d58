"""The pages with their texts and properties, the fields of a TextPage, as JSON lines and as Parquet tables.

    {"url": "http://a.org/", "title": "Home", "text": "Welcome", "language": "en", "fetched_at": "2026-01-31T18:05:09Z",
     "local_rank": 0.12, ...}

In JSON lines unknown values are left out. `text` is the main text of the page; `full_text` exists only if requested.

    NAME.parquet          page, url, host, title, text, language, ...     a row per page, `page` counts from 0
    NAME.links.parquet    source, target                                  a row per link, by these numbers

Dates stated in the page are text, since they may be months; `fields` is a JSON object, NULL if page hooks added none. A
link to a redirect, or to a duplicate that is left out, is a link to the exported page. `LinkGraph.load` reads the
second file, with the URLs of the first."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from orienteer.errors import MissingExtraError
from orienteer.exports.exported_crawl import ExportedCrawl, Mask
from orienteer.exports.exporter import Exporter, Staging, Written, exporter, packed
from orienteer.exports.page_texts import TextPage, iso_time, text_pages
from orienteer.files.compressed import byte_writer
from orienteer.graph.formats import parquet as graph_parquet
from orienteer.graph.link_graph import LinkGraph
from orienteer.progress import Progress
from orienteer.url import host_of

_FIELDS = tuple(field.name for field in fields(TextPage))


_SUFFIX = ".parquet"
_PAGES_PER_ROW_GROUP = 5_000
_CHARS_PER_ROW_GROUP = 32 << 20


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


@exporter
class Parquet(Exporter):
    name = "parquet"
    about = "pages with their texts, and the links between them, as two tables"
    suffixes = (_SUFFIX,)

    def __init__(self, full_text: bool = False) -> None:
        """`full_text`: add the text of the whole page, with boilerplate."""
        self._full_text = full_text

    def side_files(self, name: str) -> tuple[str, ...]:
        return (name.removesuffix(_SUFFIX) + ".links.parquet",)

    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        arrow = _pyarrow()
        selected = crawl.distinct(archived=True)
        (links,) = self.side_files(staging.name)
        graph = _links_between(crawl, selected)
        graph_parquet.write(graph, staging.sibling(links), progress)
        _write_pages(arrow, crawl, selected, staging.main, self._full_text)
        return Written(graph.n_pages, graph.n_links)


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("an export to Parquet", "pyarrow", "parquet") from None
    return pyarrow


def _links_between(crawl: ExportedCrawl, selected: Mask) -> LinkGraph:
    """Return the links between these pages, numbered in the order they were fetched."""
    ids = crawl.order[selected[crawl.order]]
    numbers = np.full(len(selected) + 1, -1)  # the last element is for aliases of no page (-1)
    numbers[ids] = np.arange(len(ids))
    representative = np.full(int(crawl.groups.max(initial=-1)) + 1, -1)
    representative[crawl.groups[ids]] = numbers[ids]
    numbers[:-1] = np.where(selected, numbers[:-1], representative[crawl.groups])
    pages, graph = crawl.ranks.pages, crawl.ranks.graph
    sources = np.where(selected[pages], numbers[pages], -1)[
        graph.sources()
    ]  # links of left out duplicates do not count
    targets = numbers[pages][graph.targets]
    is_included = (sources >= 0) & (targets >= 0)
    return LinkGraph.from_links(len(ids), sources[is_included], targets[is_included])


def _schema(arrow: Any, full_text: bool) -> Any:
    text, number = arrow.string(), arrow.float64()
    kinds = {
        "page": arrow.uint32(), "url": text, "host": text, "title": text, "text": arrow.large_string(),
        "language": text, "headings": arrow.list_(text), "fetched_at": arrow.timestamp("ms", tz="UTC"),
        "status": arrow.int32(), "content_type": text, "size_bytes": arrow.int64(), "digest": text,
        "n_links": arrow.int32(), "local_rank": number, "global_rank": number, "relevance": number,
        "repeats": text, "noindex": arrow.bool_(), "other_names": arrow.list_(text),
        "tags": arrow.list_(text), "fields": text, "description": text, "author": text, "published": text,
        "changed": text, "site_name": text, "image": text, "types": arrow.list_(text),
    }  # fmt: skip
    if full_text:
        kinds["full_text"] = arrow.large_string()
    return arrow.schema(list(kinds.items()))


def _write_pages(arrow: Any, crawl: ExportedCrawl, selected: Mask, path: Path, full_text: bool) -> None:
    schema = _schema(arrow, full_text)
    rows: list[dict[str, Any]] = []
    n_chars = 0
    with arrow.parquet.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:
        for number, page in enumerate(text_pages(crawl, selected, full_text)):
            rows.append(_row(schema.names, number, page))
            n_chars += len(page.text) + len(page.full_text or "")
            if len(rows) == _PAGES_PER_ROW_GROUP or n_chars > _CHARS_PER_ROW_GROUP:
                writer.write_table(arrow.Table.from_pylist(rows, schema))
                rows, n_chars = [], 0
        if rows:
            writer.write_table(arrow.Table.from_pylist(rows, schema))


def _row(names: list[str], number: int, page: TextPage) -> dict[str, Any]:
    own = {
        "page": number,
        "host": host_of(page.url),
        "fetched_at": datetime.fromtimestamp(page.fetched_at, UTC),
        "fields": json.dumps(page.fields, ensure_ascii=False) if page.fields else None,
    }
    return {name: own[name] if name in own else getattr(page, name) for name in names}
