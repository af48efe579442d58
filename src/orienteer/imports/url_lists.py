"""URLs without a response: from sitemaps, feeds, plain text with a URL a line, and queues of Scrapy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from orienteer.errors import GraphFileError, InputError
from orienteer.files.compressed import byte_blocks
from orienteer.imports.jobdir import pending_requests
from orienteer.imports.sources import ImportSource, SourceKind
from orienteer.responses.sitemaps import MAX_ENTRIES, MAX_SITEMAP_BYTES, sitemap_urls
from orienteer.url import canonical_url, host_of
from orienteer.wording import counted

# The URL of a sitemap file is unknown, so relative URLs get this reserved host and are left out.
_NO_HOST = "unknown.invalid"
_BLANK = b"\xef\xbb\xbf \t\r\n"


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
