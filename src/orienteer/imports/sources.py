"""What a source named by a person is: an archive, a graph, a list of URLs, a Scrapy JOBDIR."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from orienteer.errors import InputError, unknown_name
from orienteer.files.compressed import byte_blocks
from orienteer.graph.formats import format_of, known_suffixes
from orienteer.imports.jobdir import is_jobdir
from orienteer.ledger.plan import CrawlPlan
from orienteer.store.folder_files import settings_of_folder
from orienteer.warc.files import archives_in, is_archive
from orienteer.warc.page_lists import ListedPage, listed_pages

_SITEMAP_ENDINGS = (".xml", ".xml.gz", ".rss", ".atom")
_TEXT_ENDINGS = (".txt", ".txt.gz", ".txt.zst")
_LOOKED_AT_BYTES = 1 << 16
_ID_PAIR = re.compile(r"\d+\s*[,;]\s*\d+")


class Kind(StrEnum):
    """What a source is; the words are those of `--from`."""

    ARCHIVE = "archive"  # WARC, WACZ, WAT, or a folder of these
    GRAPH = "graph"
    URLS = "urls"  # a sitemap, a feed, or a URL a line
    JOBDIR = "jobdir"


class Source(NamedTuple):
    kind: Kind
    path: Path


def sources_of(paths: Iterable[Path], kind: str | None = None) -> list[Source]:
    """The sources at these paths; `kind` says what all of them are, where their names do not tell it."""
    if kind is not None and kind not in list(Kind):
        raise unknown_name("kind of source", kind, Kind)
    found = []
    for path in paths:
        if not path.exists() and not path.with_name(path.name + ".properties").exists():
            raise InputError(f"{path}: no such file or folder")
        found.append(Source(Kind(kind) if kind is not None else _kind_of(path), path))
    if not found:
        raise InputError("nothing to import: name a file or a folder")
    if any(source.kind is Kind.GRAPH for source in found) and len(found) > 1:
        raise InputError("a graph is imported alone: it has no pages that could be put together with others")
    return found


def stated_seeds(source: Source) -> list[str]:
    """The seeds that a source knows itself: a crawl folder, or a list of pages that marks them."""
    path = source.path
    settings = settings_of_folder(path) if path.is_dir() else None
    if settings is not None:
        return list(CrawlPlan.parse(settings, str(path / "crawl.toml")).crawl.seeds)
    return list(dict.fromkeys(page.url for page in pages_listed_in(source) if page.is_seed))


def pages_listed_in(source: Source) -> Iterator[ListedPage]:
    """The pages that lists beside its archives name, or in them."""
    path = source.path
    for place in dict.fromkeys([path, *(archives_in(path) if path.is_dir() else [])]):
        yield from listed_pages(place)


def _kind_of(path: Path) -> Kind:
    if is_jobdir(path):
        return Kind.JOBDIR
    if path.is_dir():
        return Kind.GRAPH if (path / "graph.json").is_file() else Kind.ARCHIVE
    name = path.name.lower()
    if is_archive(path):
        return Kind.ARCHIVE
    if name.endswith(_SITEMAP_ENDINGS):
        return Kind.URLS
    if name.endswith(_TEXT_ENDINGS):
        return Kind.GRAPH if _has_pairs(path) else Kind.URLS
    try:
        format_of(path)
    except InputError:
        known = f"{known_suffixes()}, .wat, .xml, a folder"
        raise InputError(f"{path}: cannot tell what this is (known: {known}); say it with --from") from None
    return Kind.GRAPH


def _has_pairs(path: Path) -> bool:
    """Whether the first line of a text that says something says two things: a link. A list has one URL a line."""
    text = next(byte_blocks(path), b"")[:_LOOKED_AT_BYTES].decode("utf-8-sig", "replace")
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith(("#", "%"))), "")
    return len(first.split()) > 1 or _ID_PAIR.match(first) is not None
