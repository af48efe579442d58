"""The kinds of sources for an import: archives, graphs, lists of URLs, Scrapy JOBDIRs."""

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
from orienteer.warc.files import ListedPage, archives_in, is_archive, listed_pages

_SITEMAP_ENDINGS = (".xml", ".xml.gz", ".rss", ".atom")
_TEXT_ENDINGS = (".txt", ".txt.gz", ".txt.zst")
_SAMPLE_BYTES = 1 << 16
_ID_PAIR = re.compile(r"\d+\s*[,;]\s*\d+")


class SourceKind(StrEnum):
    """The kind of a source; the values of `--from`."""

    ARCHIVE = "archive"  # WARC, WACZ, WAT, or a folder of these
    GRAPH = "graph"
    URLS = "urls"  # a sitemap, a feed, or a URL a line
    JOBDIR = "jobdir"


class ImportSource(NamedTuple):
    kind: SourceKind
    path: Path


def sources_of(paths: Iterable[Path], kind: str | None = None) -> list[ImportSource]:
    """Return the sources at these paths; `kind` is that of all of them, None: by their names."""
    if kind is not None and kind not in list(SourceKind):
        raise unknown_name("kind of source", kind, SourceKind)
    sources = []
    for path in paths:
        if not path.exists() and not path.with_name(path.name + ".properties").exists():
            raise InputError(f"{path}: no such file or folder")
        sources.append(ImportSource(SourceKind(kind) if kind is not None else _kind_of(path), path))
    if not sources:
        raise InputError("nothing to import: name a file or a folder")
    if any(source.kind is SourceKind.GRAPH for source in sources) and len(sources) > 1:
        raise InputError("a graph must be imported alone: it has no pages to combine with other sources")
    return sources


def stated_seeds(source: ImportSource) -> list[str]:
    """Return the seeds stated by a source: those of a crawl folder, or those marked in a list of pages."""
    path = source.path
    settings = settings_of_folder(path) if path.is_dir() else None
    if settings is not None:
        return list(CrawlPlan.parse(settings, str(path / "crawl.toml")).crawl.seeds)
    return list(dict.fromkeys(page.url for page in pages_listed_in(source) if page.is_seed))


def pages_listed_in(source: ImportSource) -> Iterator[ListedPage]:
    """Yield the pages in the page lists of a source: next to its archives, or inside them."""
    path = source.path
    for archive in dict.fromkeys([path, *(archives_in(path) if path.is_dir() else [])]):
        yield from listed_pages(archive)


def _kind_of(path: Path) -> SourceKind:
    if is_jobdir(path):
        return SourceKind.JOBDIR
    if path.is_dir():
        return SourceKind.GRAPH if (path / "graph.json").is_file() else SourceKind.ARCHIVE
    name = path.name.lower()
    if is_archive(path):
        return SourceKind.ARCHIVE
    if name.endswith(_SITEMAP_ENDINGS):
        return SourceKind.URLS
    if name.endswith(_TEXT_ENDINGS):
        return SourceKind.GRAPH if _has_pairs(path) else SourceKind.URLS
    try:
        format_of(path)
    except InputError:
        known = f"{known_suffixes()}, .wat, .xml, a folder"
        raise InputError(f"{path}: unknown kind of source (known: {known}); name it with --from") from None
    return SourceKind.GRAPH


def _has_pairs(path: Path) -> bool:
    """Return whether the first line of a text that is no comment is a pair, a link; a URL list has one URL a line."""
    text = next(byte_blocks(path), b"")[:_SAMPLE_BYTES].decode("utf-8-sig", "replace")
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith(("#", "%"))), "")
    return len(first.split()) > 1 or _ID_PAIR.match(first) is not None
