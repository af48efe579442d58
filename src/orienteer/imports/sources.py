"""The sources of an import: archives, graphs, Scrapy JOBDIRs, and lists of URLs without a response.

URLs are listed by sitemaps, feeds, plain text with a URL a line, and the queues of Scrapy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from orienteer.errors import GraphFileError, InputError, unknown_name
from orienteer.files.compressed import byte_blocks
from orienteer.graph.formats import format_of, known_suffixes
from orienteer.imports.jobdir import is_jobdir, pending_requests
from orienteer.ledger.plan import CrawlPlan
from orienteer.responses.sitemaps import MAX_ENTRIES, MAX_SITEMAP_BYTES, sitemap_urls
from orienteer.store.folder_view import settings_of_folder
from orienteer.url import canonical_url, host_of
from orienteer.warc.files import ListedPage, archives_in, is_archive, listed_pages
from orienteer.wording import counted

_SITEMAP_ENDINGS = (".xml", ".xml.gz", ".rss", ".atom")
_TEXT_ENDINGS = (".txt", ".txt.gz", ".txt.zst")
_SAMPLE_BYTES = 1 << 16
_ID_PAIR = re.compile(r"\d+\s*[,;]\s*\d+")
# The URL of a sitemap file is unknown, so relative URLs get this reserved host and are left out.
_NO_HOST = "unknown.invalid"
_BLANK = b"\xef\xbb\xbf \t\r\n"


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


class ListedUrls:
    """The URLs listed in these sources, in order, and notes for the report."""

    def __init__(self, sources: Sequence[ImportSource]) -> None:
        self.urls: dict[str, None] = {}
        self.notes: list[str] = []
        for source in sources:
            if source.kind is SourceKind.URLS:
                self._add_list(source.path)
            elif source.kind is SourceKind.JOBDIR:
                self._add_jobdir(source.path)

    def _add_list(self, path: Path) -> None:
        found = read_url_list(path)
        self.urls |= dict.fromkeys(found.urls)
        if found.sitemaps:
            further = counted(len(found.sitemaps), "further sitemap")
            self.notes.append(f"{path} names {further}, such as {found.sitemaps[0]}; save and import them, too")
        if found.is_cut:
            self.notes.append(f"{path} has more entries than a sitemap may have; {len(found.urls):,} were read")

    def _add_jobdir(self, path: Path) -> None:
        pending = pending_requests(path)
        self.urls |= dict.fromkeys(pending.urls)
        if pending.n_left_out:
            requests = counted(pending.n_left_out, "pending request")
            self.notes.append(f"{path}: {requests} left out: not plain GET requests, or unsafe to read")
        if pending.n_seen:
            seen = counted(pending.n_seen, "request was", "requests were")
            self.notes.append(f"{path}: {seen} made before, but only their fingerprints are stored, not their URLs")


class UrlList(NamedTuple):
    """Canonical URLs in order; `sitemaps` are those listed in a sitemap index."""

    urls: list[str]
    sitemaps: list[str]
    is_cut: bool = False  # there are more entries than MAX_ENTRIES


def read_url_list(path: Path) -> UrlList:
    """Return the URLs of a sitemap, a feed, or a text with one URL a line; lines that start with # are comments."""
    blocks = _blocks(path)
    first = next(blocks, b"")
    if first.lstrip(_BLANK).startswith(b"<") or first.startswith((b"\xff\xfe", b"\xfe\xff")):
        found = _of_sitemap(first, blocks)
    else:
        found = UrlList(list(_of_text(first, blocks)), [])
    if not found.urls and not found.sitemaps:
        raise InputError(f"{path}: no URLs in it: neither a sitemap nor one URL a line")
    return found


def _of_sitemap(first: bytes, blocks: Iterator[bytes]) -> UrlList:
    content = bytearray(first)
    for block in blocks:
        if len(content) > MAX_SITEMAP_BYTES:
            break
        content += block
    found = sitemap_urls(bytes(content), f"https://{_NO_HOST}/sitemap.xml")
    urls, sitemaps = ([url for url in listed if host_of(url) != _NO_HOST] for listed in found)
    return UrlList(urls, sitemaps, len(found.pages) >= MAX_ENTRIES)


def _of_text(first: bytes, blocks: Iterator[bytes]) -> Iterator[str]:
    seen: set[str] = set()
    partial = b""
    for block in chain((first,), blocks):
        lines = (partial + block).split(b"\n")
        partial = lines.pop()
        yield from _new(lines, seen)
    yield from _new([partial], seen)


def _new(lines: list[bytes], seen: set[str]) -> Iterator[str]:
    for line in lines:
        text = line.strip(_BLANK).decode("utf-8", "replace")
        url = None if not text or text.startswith("#") else canonical_url(text)
        if url is not None and url not in seen:
            seen.add(url)
            yield url


def _blocks(path: Path) -> Iterator[bytes]:
    try:
        yield from byte_blocks(path)
    except GraphFileError as error:
        raise InputError(f"{path}: {error}") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
