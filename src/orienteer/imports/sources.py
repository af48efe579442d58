"""The sources of an import: archives, graphs, Scrapy JOBDIRs, and lists of URLs without a response.

URLs are listed by sitemaps, feeds, plain text with a URL a line, and the JOBDIR of Scrapy:

    requests.queue/       the pending requests, pickled, in queues of queuelib: a LIFO queue is one file, a FIFO queue
                          a folder with info.json and chunks q00000, q00001, ...
    requests.seen         fingerprints of all requests: hashes without URLs

Loading a pickle can run any code, so an unpickler without classes is used: it makes only plain values (dictionaries,
lists, texts, bytes, numbers). It is Python's unpickler in Python, which does not allocate the sizes that a pickle
claims. Requests with other values, such as an object in `meta`, are counted and left out; so are methods except GET.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from orienteer.errors import GraphFileError, InputError, unknown_name
from orienteer.files.compressed import byte_blocks
from orienteer.graph.formats import format_of, known_suffixes
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


_QUEUE, _SEEN = "requests.queue", "requests.seen"
_CHUNK = re.compile(r"q\d{5,}")
_HEX_LINE = re.compile(rb"[0-9a-f]{16,80}\r?\n")
_ABOUT_QUEUES = ("active.json", "info.json")
_SIZE_BYTES = 4
_MAX_REQUEST_BYTES = 16 << 20


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


class Pending(NamedTuple):
    """The canonical URLs of pending GET requests, unordered, and the number of unusable ones."""

    urls: list[str]
    n_left_out: int
    n_seen: int  # fingerprints of requests, pending or done


def is_jobdir(path: Path) -> bool:
    return path.is_dir() and ((path / _QUEUE).is_dir() or (path / _SEEN).is_file())


def pending_requests(path: Path) -> Pending:
    urls: dict[str, None] = {}
    n_left_out = 0
    for packed in _packed_requests(path / _QUEUE):
        url = _url_of(packed)
        if url is None:
            n_left_out += 1
        else:
            urls[url] = None
    return Pending(list(urls), n_left_out, _n_seen(path / _SEEN))


class _PlainUnpickler(pickle._Unpickler):
    """An unpickler that only makes plain values."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} is no plain value")


def _url_of(packed: bytes) -> str | None:
    """Return the URL of a pickled request; None if it cannot be read safely, or is no GET request."""
    try:
        request = _PlainUnpickler(io.BytesIO(packed)).load()
    except Exception:  # a crafted pickle can raise anything
        return None
    if not isinstance(request, dict) or request.get("method", "GET") not in ("GET", b"GET"):
        return None
    url = request.get("url")
    return canonical_url(url) if isinstance(url, str) else None


def _packed_requests(folder: Path) -> Iterator[bytes]:
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(root, name)
            if name in _ABOUT_QUEUES or path.is_symlink():
                continue
            try:
                with path.open("rb") as file:
                    if _CHUNK.fullmatch(name):
                        yield from _of_chunk(file, _start_of(path))
                    else:
                        yield from _of_stack(file)
            except OSError as error:
                raise InputError(f"{path}: {error.strerror or error}") from None


def _of_stack(file: BinaryIO) -> Iterator[bytes]:
    """Read a LIFO queue backwards: each request is followed by its length. The count at the beginning may be stale."""
    end = file.seek(0, os.SEEK_END)
    while end >= 2 * _SIZE_BYTES:
        file.seek(end - _SIZE_BYTES)
        size = int.from_bytes(file.read(_SIZE_BYTES))
        start = end - _SIZE_BYTES - size
        if not 0 < size <= _MAX_REQUEST_BYTES or start < _SIZE_BYTES:
            yield b""  # truncated: earlier requests cannot be located
            return
        file.seek(start)
        yield file.read(size)
        end = start


def _of_chunk(file: BinaryIO, start: int) -> Iterator[bytes]:
    """Read a chunk of a FIFO queue: each request is preceded by its length."""
    file.seek(start)
    while head := file.read(_SIZE_BYTES):
        size = int.from_bytes(head)
        packed = file.read(size) if 0 < size <= _MAX_REQUEST_BYTES else b""
        yield packed
        if len(packed) < size or not size:
            return


def _start_of(chunk: Path) -> int:
    """Return the offset of the first pending request of a chunk: the earlier ones were consumed."""
    try:
        number, _, offset = json.loads((chunk.parent / "info.json").read_text())["tail"]
        return int(offset) if int(number) == int(chunk.name[1:]) and 0 <= int(offset) < 1 << 62 else 0
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return 0


def _n_seen(path: Path) -> int:
    """Count fingerprints: hexadecimal lines, or (in newer versions) bytes, each preceded by its length."""
    try:
        with path.open("rb") as file:
            if _HEX_LINE.match(file.read(100)):
                file.seek(0)
                return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
            file.seek(0)
            n_seen = 0
            while len(head := file.read(2)) == 2 and len(file.read(int.from_bytes(head))) == int.from_bytes(head):
                n_seen += 1
            return n_seen
    except OSError:
        return 0
